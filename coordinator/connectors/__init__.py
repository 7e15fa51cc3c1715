"""Sources of tables: one package a connector. Connectors describe, engines read; no connector imports an engine."""
