"""What a rewrite does before a row is read: which files, in which groups and by which method, as which tasks."""
