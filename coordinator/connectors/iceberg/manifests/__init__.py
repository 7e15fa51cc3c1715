"""Manifests, manifest lists and metadata files of tables: read quickly, written for every format version."""
