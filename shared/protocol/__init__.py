"""The wire of the statement protocol and of the sidecar: names and shapes, no framework."""
