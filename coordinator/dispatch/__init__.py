"""Query life cycle and result pages: from a statement's text to the last page that a client reads."""
