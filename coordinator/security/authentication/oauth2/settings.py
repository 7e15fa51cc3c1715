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
    userinfo_url: str | None = Field(
        None,
        alias="http-server.authentication.oauth2.userinfo-url",
        description="Address that tells whose an opaque access token is. It comes from the provider's discovery, if"
        " that is used for the addresses above.",
    )
    use_userinfo: bool = Field(
        True,
        alias="http-server.authentication.oauth2.oidc.use-userinfo-endpoint",
        description="Whether the address of the discovery is used for opaque access tokens.",
    )
    introspection_url: str | None = Field(
        None,
        alias="http-server.authentication.oauth2.introspection-url",
        description="Address that tells whose an opaque access token is, for whom it was made and whether it is still"
        " good (RFC 7662); asked instead of the user info.",
    )
    userinfo_ttl: Seconds = Field(
        60.0,
        alias="http-server.authentication.oauth2.userinfo-cache-ttl",
        ge=0,
        le=3600,
        description="How long the provider's word on an opaque access token is believed; as long works a token that"
        " it has withdrawn.",
    )
    discovery: bool = Field(
        True,
        alias="http-server.authentication.oauth2.oidc.discovery",
        description="Whether addresses that are not set are asked of the provider.",
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
    refresh_tokens: bool = Field(
        False,
        alias="http-server.authentication.oauth2.refresh-tokens",
        description="Whether expired access tokens are replaced without a new login. The provider may want a scope for"
        " it (`offline_access`).",
    )
    issued_timeout: Seconds = Field(
        3600.0,
        alias="http-server.authentication.oauth2.refresh-tokens.issued-token.timeout",
        gt=0,
        description="How long a token that this service has encrypted is good; each refresh gives a new one.",
    )
    issued_issuer: str = Field(
        "Procession_coordinator",
        alias="http-server.authentication.oauth2.refresh-tokens.issued-token.issuer",
        min_length=1,
        description="Claim `iss` of these tokens.",
    )
    issued_audience: str = Field(
        "Procession_coordinator",
        alias="http-server.authentication.oauth2.refresh-tokens.issued-token.audience",
        min_length=1,
        description="Claim `aud` of these tokens.",
    )
    secret_key: str | None = Field(
        None,
        alias="http-server.authentication.oauth2.refresh-tokens.secret-key",
        description="32 bytes in base64 that encrypt these tokens; without it a key is made at each start. Several"
        " coordinators need the same.",
        repr=False,
    )
    pattern: str | None = Field(
        None, alias="http-server.authentication.oauth2.user-mapping.pattern", description=MAPPING_PATTERN
    )
    mapping: Path | None = Field(
        None, alias="http-server.authentication.oauth2.user-mapping.file", description=MAPPING_FILE
    )
