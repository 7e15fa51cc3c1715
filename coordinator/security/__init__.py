"""What keeps secrets: private files, children that are told little, texts without passwords."""
