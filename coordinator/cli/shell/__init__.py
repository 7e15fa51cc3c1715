"""``procession sql``: a prompt, files and pipes of statements, in the ways of presto-cli and trino-cli."""
