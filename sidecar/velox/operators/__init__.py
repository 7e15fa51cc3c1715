"""One function a Presto plan node: source relations in, Velox plan node out."""
