"""OAUTH2: clients without a login of their own send their user's browser to a provider, and fetch the token here."""
