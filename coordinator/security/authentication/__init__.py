"""Who a request comes from: authenticators in order, user mapping, groups. docs/authentication.md."""
