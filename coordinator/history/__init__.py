"""What ran, who ran it, what it read and wrote, and how it ended: kept in a database, beyond a restart."""
