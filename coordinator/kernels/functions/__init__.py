"""Presto's functions in Python, one implementation for every engine: see ``program``. Shipped to executors."""
