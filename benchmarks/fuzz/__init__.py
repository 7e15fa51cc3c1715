"""Fuzzing of a whole service: ``python -m benchmarks.fuzz`` runs it, ``tests/fuzz`` a slice of it."""
