"""Authentication, access control, and what keeps secrets: private files, small environments, redacted texts."""
