"""Iceberg: catalogs, metadata, rewrite planning, commit and journal. The only package that imports pyiceberg."""
