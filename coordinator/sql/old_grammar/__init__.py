"""Presto's grammar of queries as a recogniser: it builds nothing, and refuses with the tokens that could have come."""
