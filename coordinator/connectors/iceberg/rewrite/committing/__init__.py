"""How a rewrite lands: the journal, one commit or several, recovery, and removing what it wrote."""
