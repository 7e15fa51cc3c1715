"""For gateways and load balancers: would this statement run here? Asked without queueing or running anything."""
