"""The rewrite of data files, in the order of a call: ``asked``, ``planning``, ``writing``, ``committing``."""
