"""Statement trees to plans."""
