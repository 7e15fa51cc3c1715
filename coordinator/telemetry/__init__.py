"""What the rooms count, as Prometheus metrics."""
