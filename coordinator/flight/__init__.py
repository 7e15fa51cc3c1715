"""Flight SQL: statements, metadata and prepared statements for clients that want columns (docs/flight-sql.md)."""
