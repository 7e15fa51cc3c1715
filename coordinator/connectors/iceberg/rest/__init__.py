"""REST catalogs: their tables, and the keys of object stores that they lend."""
