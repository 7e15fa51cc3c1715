"""Who may connect: TLS, authentication and the secret between processes, as ``config.properties`` says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from coordinator.values.settings import Names, Seconds, Settings

AuthenticationType = Literal["PASSWORD", "JWT", "OAUTH2", "CERTIFICATE", "HEADER"]
_NOT_OFFERED = {
    "KERBEROS": "KERBEROS is not offered: put a proxy that speaks it in front, with HEADER",
    "CUSTOM": "CUSTOM is not offered",
}


def _types(value: object) -> object:
    if not isinstance(value, str):
        return value
    names = tuple(part.strip().upper() for part in value.split(",") if part.strip())
    for name in names:
        if name in _NOT_OFFERED:
            raise ValueError(_NOT_OFFERED[name])
    if len(set(names)) != len(names):
        raise ValueError("a type stands twice")
    return names


Types = Annotated[tuple[AuthenticationType, ...], BeforeValidator(_types)]
MAPPING_PATTERN = "Whole-match pattern over the principal, whose first group is the user; no match is denied."
MAPPING_FILE = "JSON rules from principals to users (docs/authentication.md)."


class HttpsSettings(Settings):
    """etc/config.properties"""

    http_enabled: bool = Field(True, alias="http-server.http.enabled", description="Listen without TLS.")
    enabled: bool = Field(False, alias="http-server.https.enabled", description="Listen with TLS 1.2 and 1.3.")
    port: int = Field(
        8443,
        alias="http-server.https.port",
        ge=0,
        le=65535,
        description="Port for TLS, on the address of http-server.http.host; 0 takes a free one.",
    )
    keystore_path: Path | None = Field(
        None,
        alias="http-server.https.keystore.path",
        description="PEM file with the private key and the certificate chain; a relative path starts above `etc`.",
    )
    keystore_key: str | None = Field(
        None, alias="http-server.https.keystore.key", description="Password of the private key, where it has one."
    )
    truststore_path: Path | None = Field(
        None,
        alias="http-server.https.truststore.path",
        description="PEM file with the signers of client certificates; needed by CERTIFICATE.",
    )
    refresh_time: Seconds = Field(
        60.0,
        alias="http-server.https.ssl-context.refresh-time",
        gt=0,
        description="How often these files are looked at; new connections get what is new, a wrong file is logged.",
    )


class AuthenticationSettings(Settings):
    """etc/config.properties"""

    types: Types = Field(
        (),
        alias="http-server.authentication.type",
        description="PASSWORD, JWT, OAUTH2, CERTIFICATE and HEADER, tried in order (docs/authentication.md); unset lets"
        " everybody say who they are.",
    )
    allow_insecure_over_http: bool = Field(
        False,
        alias="http-server.authentication.allow-insecure-over-http",
        description="With authentication on, still believe user names over plain HTTP; passwords are refused there.",
    )
    password_files: Names = Field(
        ("etc/password-authenticator.properties",),
        alias="password-authenticator.config-files",
        description="Files that say where passwords are, asked in order.",
    )
    password_pattern: str | None = Field(
        None, alias="http-server.authentication.password.user-mapping.pattern", description=MAPPING_PATTERN
    )
    password_mapping: Path | None = Field(
        None, alias="http-server.authentication.password.user-mapping.file", description=MAPPING_FILE
    )
    jwt_key_file: str | None = Field(
        None,
        alias="http-server.authentication.jwt.key-file",
        description="PEM public key or certificate, base64 HMAC key, or address of a JWKS; `${KID}` in a path stands"
        " for the token's key id.",
    )
    jwt_issuer: str | None = Field(
        None, alias="http-server.authentication.jwt.required-issuer", description="What `iss` must be."
    )
    jwt_audience: str | None = Field(
        None, alias="http-server.authentication.jwt.required-audience", description="What `aud` must hold."
    )
    jwt_principal_field: str = Field(
        "sub",
        alias="http-server.authentication.jwt.principal-field",
        min_length=1,
        description="Claim that names the principal.",
    )
    jwt_pattern: str | None = Field(
        None, alias="http-server.authentication.jwt.user-mapping.pattern", description=MAPPING_PATTERN
    )
    jwt_mapping: Path | None = Field(
        None, alias="http-server.authentication.jwt.user-mapping.file", description=MAPPING_FILE
    )
    certificate_pattern: str | None = Field(
        None, alias="http-server.authentication.certificate.user-mapping.pattern", description=MAPPING_PATTERN
    )
    certificate_mapping: Path | None = Field(
        None, alias="http-server.authentication.certificate.user-mapping.file", description=MAPPING_FILE
    )
    header_pattern: str | None = Field(
        None, alias="http-server.authentication.header.user-mapping.pattern", description=MAPPING_PATTERN
    )
    header_mapping: Path | None = Field(
        None, alias="http-server.authentication.header.user-mapping.file", description=MAPPING_FILE
    )
    trusted_proxies: Names = Field(
        ("127.0.0.0/8", "::1"),
        alias="http-server.authentication.header.trusted-proxies",
        description="Addresses and networks of the proxies whose http-server.authentication.principal-header counts"
        " for HEADER.",
    )


class InternalCommunicationSettings(Settings):
    """etc/config.properties"""

    shared_secret: str | None = Field(
        None,
        alias="internal-communication.shared-secret",
        min_length=1,
        description="Signs what the coordinator asks the sidecar, which refuses everything else; the same for both"
        " (`--shared-secret-file` there). `procession up` makes one for its own.",
    )
