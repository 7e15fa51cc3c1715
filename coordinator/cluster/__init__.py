"""Several coordinators over one PostgreSQL: which of them are there, and whose a query is."""
