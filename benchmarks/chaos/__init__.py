"""Harm done to a whole service while it changes tables: ``python -m benchmarks.chaos``."""
