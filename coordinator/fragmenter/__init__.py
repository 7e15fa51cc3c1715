"""Optimized logical plan to SubPlan: physical choices, exchanges, fragments with Presto's partitioning handles."""
