"""The provider, and what it knows this coordinator as. Names are Trino's."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from coordinator.security.settings import MAPPING_FILE, MAPPING_PATTERN
from coordinator.values.settings import Names, Seconds, Settings


class OAuth2Settings(Settings):
    """etc/config.properties"""

    issuer: str | None = Field(
        None,
        alias="http-server.authentication.oauth2.issuer",
        description="Address of the OAuth2 provider, which must also be the claim `iss` of tokens.",
    )
    client_id: str | None = Field(
        None,
        alias="http-server.authentication.oauth2.client-id",
        description="Client id of this service at the provider.",
    )
    client_secret: str | None = Field(
        None,
        alias="http-server.authentication.oauth2.client-secret",
        description="Client secret of this service at the provider.",
    )
    auth_url: str | None = Field(
        None,
        alias="http-server.authentication.oauth2.auth-url",
        description="Address at which browsers log in. This and the next two addresses come from the provider's"
        " discovery when they are not set.",
    )
    token_url: str | None = Field(
        None,
        alias="http-server.authentication.oauth2.token-url",
        description="Address at which codes are exchanged for tokens.",
    )
    jwks_url: str | None = Field(
        None, alias="http-server.authentication.oauth2.jwks-url", description="Address of the keys that sign tokens."
    )
    access_token_issuer: str | None = Field(
        None,
        alias="http-server.authentication.oauth2.access-token-issuer",
        description="Claim `iss` of access tokens, if it differs from the issuer.",
    )
    scopes: Names = Field(
        ("openid",), alias="http-server.authentication.oauth2.scopes", description="Scopes that are asked for."
    )
    principal_field: str = Field(
        "sub",
        alias="http-server.authentication.oauth2.principal-field",
        min_length=1,
        description="The claim of the access token that names the principal.",
    )
    additional_audiences: Names = Field(
        (),
        alias="http-server.authentication.oauth2.additional-audiences",
        description="Values that the claim `aud` may contain instead of the client id.",
    )
    challenge_timeout: Seconds = Field(
        900.0,
        alias="http-server.authentication.oauth2.challenge-timeout",
        gt=0,
        description="How long a user may take to log in.",
    )
    max_clock_skew: Seconds = Field(
        60.0,
        alias="http-server.authentication.oauth2.max-clock-skew",
        ge=0,
        description="Tolerance when `exp` and `nbf` are compared with the clock.",
    )
    state_key: str | None = Field(
        None,
        alias="http-server.authentication.oauth2.state-key",
        min_length=1,
        description="Key that signs what travels through the browser; without it one is made at each start.",
    )
    pattern: str | None = Field(
        None, alias="http-server.authentication.oauth2.user-mapping.pattern", description=MAPPING_PATTERN
    )
    mapping: Path | None = Field(
        None, alias="http-server.authentication.oauth2.user-mapping.file", description=MAPPING_FILE
    )
