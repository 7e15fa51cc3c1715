"""The embedded engine over files: DuckDB in child processes with limits, one statement of one user at a time."""
