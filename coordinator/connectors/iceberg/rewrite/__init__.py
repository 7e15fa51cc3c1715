"""The rewrite of data files: which files, in which tasks, one commit or several, or undone."""
