"""Plans as text, JSON and Graphviz, in the look of a Presto server."""
