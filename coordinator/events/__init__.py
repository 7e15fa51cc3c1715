"""Events of statements, procedures and accesses, on their way to whoever listens."""
