"""What the remote database computes in place of the engine, one operator a file."""
