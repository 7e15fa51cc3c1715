"""Iceberg views: their metadata, and the catalogs that hold them."""
