"""Procedures that belong to no table format."""
