"""What people run over the code itself; no part of the service."""
