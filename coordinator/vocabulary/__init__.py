"""Shared vocabulary of the rooms: planned statements, session properties, identifiers, source locations, versions."""
