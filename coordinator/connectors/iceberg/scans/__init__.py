"""Scans of tables that are read beside the coordinator, without Spark: which files, how much, and their rows."""
