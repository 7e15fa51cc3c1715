"""Processes that run SQL for the coordinator: how they are made, shared between users, watched and ended."""
