"""Metrics of the other rooms, in Prometheus' format."""
