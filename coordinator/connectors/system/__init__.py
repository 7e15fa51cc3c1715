"""The built-in catalog ``system``: procedures that belong to no table format, and what they print."""
