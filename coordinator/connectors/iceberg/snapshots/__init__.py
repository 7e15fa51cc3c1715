"""New snapshots: what a commit adds, drops and may conflict with; references to them."""
