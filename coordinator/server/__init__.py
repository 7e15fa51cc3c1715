"""HTTP: Presto's statement protocol, the information endpoints around it, and nothing of the engine."""
