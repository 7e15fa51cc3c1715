"""Lineage of statements as OpenLineage run events; the shapes follow Presto's listener of this name."""
