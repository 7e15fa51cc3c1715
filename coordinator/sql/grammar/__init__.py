"""Presto's grammar: each rule reads its words and builds its node, or refuses with the tokens that could have come."""
