"""The maintenance service: looks after the tables of all catalogs by policies, within windows and budgets."""
