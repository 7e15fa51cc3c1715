"""Materialized views: how they are stored, how fresh they are, and their refresh."""
