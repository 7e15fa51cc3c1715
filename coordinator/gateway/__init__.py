"""Pre-checks for gateways and load balancers: would this statement run here? Nothing is queued or run for them."""
