"""The console script ``procession``: serving, asking, looking after."""
