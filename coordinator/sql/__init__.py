"""Text to statements of typed nodes: Presto's grammar, read once, each node with its place."""
