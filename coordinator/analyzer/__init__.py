"""Typed expressions: scopes, name resolution, function binding and coercions, as Presto does them."""
