"""The command ``procession``: serving, the SQL prompt, the demo, and examining a machine."""
