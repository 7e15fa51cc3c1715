"""The audit log: who did what on what, allowed or denied, in a file of its own that no statement can silence."""
