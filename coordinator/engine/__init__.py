"""Engines that run planned statements: the embedded DuckDB and Spark."""
