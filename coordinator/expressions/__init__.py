"""Presto's types and typed expressions: building, casting and folding them, and programs of the kernels."""
