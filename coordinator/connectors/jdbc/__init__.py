"""Catalogs over relational databases (``connector.name=postgresql`` and so on)."""
