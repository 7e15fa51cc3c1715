"""Expiry, orphans, imports, and the plan of what a table needs."""
