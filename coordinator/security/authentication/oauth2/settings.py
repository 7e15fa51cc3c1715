"""The provider, and what it knows this coordinator as. Names are Trino's."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from coordinator.security.settings import MAPPING_FILE, MAPPING_PATTERN
from coordinator.values.settings import Names, Seconds, Settings


class OAuth2Settings(Settings):
    """etc/config.properties"""

    issuer: str | None = Field(
        None, alias="http-server.authentication.oauth2.issuer", description="Address of the provider; `iss` of tokens."
    )
    client_id: str | None = Field(
        None, alias="http-server.authentication.oauth2.client-id", description="What the provider knows us as."
    )
    client_secret: str | None = Field(
        None, alias="http-server.authentication.oauth2.client-secret", description="And by what it believes it."
    )
    auth_url: str | None = Field(
        None,
        alias="http-server.authentication.oauth2.auth-url",
        description="Where browsers log in; as the other addresses, told by the provider's discovery if unset.",
    )
    token_url: str | None = Field(
        None, alias="http-server.authentication.oauth2.token-url", description="Where codes become tokens."
    )
    jwks_url: str | None = Field(
        None, alias="http-server.authentication.oauth2.jwks-url", description="Keys that tokens are signed with."
    )
    access_token_issuer: str | None = Field(
        None,
        alias="http-server.authentication.oauth2.access-token-issuer",
        description="`iss` of access tokens, where it is another.",
    )
    scopes: Names = Field(
        ("openid",), alias="http-server.authentication.oauth2.scopes", description="What is asked for."
    )
    principal_field: str = Field(
        "sub",
        alias="http-server.authentication.oauth2.principal-field",
        min_length=1,
        description="Claim of the access token that names the principal.",
    )
    additional_audiences: Names = Field(
        (),
        alias="http-server.authentication.oauth2.additional-audiences",
        description="What `aud` may hold beside the client id.",
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
        description="Tolerance of `exp` and `nbf`.",
    )
    state_key: str | None = Field(
        None,
        alias="http-server.authentication.oauth2.state-key",
        min_length=1,
        description="Signs what travels through the browser; made at each start if unset.",
    )
    pattern: str | None = Field(
        None, alias="http-server.authentication.oauth2.user-mapping.pattern", description=MAPPING_PATTERN
    )
    mapping: Path | None = Field(
        None, alias="http-server.authentication.oauth2.user-mapping.file", description=MAPPING_FILE
    )
