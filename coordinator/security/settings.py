"""Who may connect: TLS, authentication and the secret between processes, as ``config.properties`` says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from coordinator.values.settings import Names, Seconds, Settings

AuthenticationType = Literal["PASSWORD", "JWT", "OAUTH2", "CERTIFICATE", "KERBEROS", "HEADER"]
_NOT_OFFERED = {
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

    http_enabled: bool = Field(
        True, alias="http-server.http.enabled", description="Listen for plain HTTP, without TLS."
    )
    enabled: bool = Field(
        False, alias="http-server.https.enabled", description="Listen for HTTPS, with TLS 1.2 and 1.3."
    )
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
        description="PEM file or PKCS#12 keystore with the private key and the certificate chain; a relative path"
        " starts above `etc`.",
    )
    keystore_key: str | None = Field(
        None,
        alias="http-server.https.keystore.key",
        description="Password of the keystore, or of the private key in a PEM file, if it has one.",
    )
    truststore_path: Path | None = Field(
        None,
        alias="http-server.https.truststore.path",
        description="PEM file or PKCS#12 keystore with the certificate authorities of client certificates;"
        " CERTIFICATE needs it.",
    )
    truststore_key: str | None = Field(
        None, alias="http-server.https.truststore.key", description="Password of that keystore."
    )
    refresh_time: Seconds = Field(
        60.0,
        alias="http-server.https.ssl-context.refresh-time",
        gt=0,
        description="How often these files are checked for changes. New connections use what is new; a wrong file"
        " is logged and the old one stays.",
    )


class AuthenticationSettings(Settings):
    """etc/config.properties"""

    types: Types = Field(
        (),
        alias="http-server.authentication.type",
        description="A list of PASSWORD, JWT, OAUTH2, CERTIFICATE, KERBEROS and HEADER, tried in this order"
        " (docs/authentication.md). When it is not set, nobody is authenticated and clients say who"
        " they are.",
    )
    allow_insecure_over_http: bool = Field(
        False,
        alias="http-server.authentication.allow-insecure-over-http",
        description="With authentication on, still believe user names over plain HTTP; passwords and tokens are"
        " refused there.",
    )
    password_files: Names = Field(
        ("etc/password-authenticator.properties",),
        alias="password-authenticator.config-files",
        description="Files that configure where passwords are, asked in this order.",
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
        description="A file with a PEM public key, a certificate or a base64 HMAC key, or the address of a JWKS;"
        " `${KID}` in a path stands for the token's key id.",
    )
    jwt_issuer: str | None = Field(
        None,
        alias="http-server.authentication.jwt.required-issuer",
        description="The claim `iss` must have this value.",
    )
    jwt_audience: str | None = Field(
        None,
        alias="http-server.authentication.jwt.required-audience",
        description="The claim `aud` must contain this value.",
    )
    jwt_principal_field: str = Field(
        "sub",
        alias="http-server.authentication.jwt.principal-field",
        min_length=1,
        description="The claim that names the principal.",
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
    kerberos_keytab: Path | None = Field(
        None,
        alias="http-server.authentication.krb5.keytab",
        description="Keytab of the service's principal, for KERBEROS, which needs the package gssapi.",
    )
    kerberos_service: str = Field(
        "presto",
        alias="http-server.authentication.krb5.service-name",
        min_length=1,
        description="First part of the service's principal, as clients are told it.",
    )
    kerberos_hostname: str | None = Field(
        None,
        alias="http-server.authentication.krb5.principal-hostname",
        description="Second part of that principal; without it the name of this machine.",
    )
    kerberos_config: Path | None = Field(
        None, alias="http.authentication.krb5.config", description="A krb5.conf other than the system's."
    )
    kerberos_pattern: str | None = Field(
        None, alias="http-server.authentication.krb5.user-mapping.pattern", description=MAPPING_PATTERN
    )
    kerberos_mapping: Path | None = Field(
        None, alias="http-server.authentication.krb5.user-mapping.file", description=MAPPING_FILE
    )
    trusted_proxies: Names = Field(
        ("127.0.0.0/8", "::1"),
        alias="http-server.authentication.header.trusted-proxies",
        description="Addresses and networks of the proxies from which HEADER accepts"
        " http-server.authentication.principal-header.",
    )


class InternalCommunicationSettings(Settings):
    """etc/config.properties"""

    shared_secret: str | None = Field(
        None,
        alias="internal-communication.shared-secret",
        min_length=1,
        description="Secret that signs the coordinator's requests to the sidecar, which refuses all others. Both"
        " must have the same one (`--shared-secret-file` of the sidecar); `procession up` makes one for"
        " its own sidecar.",
    )
    trust_store: Path | None = Field(
        None,
        alias="internal-communication.https.trust-store-path",
        description="PEM file with the authorities that sign the certificate of a sidecar at an `https` address;"
        " without it those of the system count.",
    )
