"""Planning and checking before the queue, away from the event loop: a pool of planner processes, and kept plans."""
