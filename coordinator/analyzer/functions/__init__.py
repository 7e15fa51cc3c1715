"""Presto's function registry, every signature of a real server, as package data."""
