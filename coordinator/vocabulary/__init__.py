"""What the rooms say to each other: planned statements, session properties, identifiers, places, versions."""
