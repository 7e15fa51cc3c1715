"""The sidecar: Presto plan fragments in, real Velox plans or refusals out."""
