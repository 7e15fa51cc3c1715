"""Everything that knows Velox; runs only in converter processes."""
