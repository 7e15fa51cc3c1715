"""Sources of tables: one package per connector. Connectors describe, engines read; no connector imports an engine."""
