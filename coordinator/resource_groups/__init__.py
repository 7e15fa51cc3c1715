"""Admission: how many statements run at once, and how many may wait."""
