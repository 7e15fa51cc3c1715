"""One rule a file: a pure function on the nodes of one shape."""
