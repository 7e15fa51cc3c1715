"""Authentication as the configuration says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from secrets import token_urlsafe
from typing import Literal, assert_never

from coordinator.security.authentication.authentication import Authentication
from coordinator.security.authentication.authenticator import Authenticator
from coordinator.security.authentication.browser_sessions import BrowserSessions
from coordinator.security.authentication.certificate_authenticator import CertificateAuthenticator
from coordinator.security.authentication.file_settings import PasswordFileSettings
from coordinator.security.authentication.groups import load_group_provider
from coordinator.security.authentication.header_authenticator import HeaderAuthenticator
from coordinator.security.authentication.jwt_authenticator import JwtAuthenticator
from coordinator.security.authentication.jwt_keys import verification_keys
from coordinator.security.authentication.kerberos_authenticator import KerberosAuthenticator
from coordinator.security.authentication.ldap_directory import LdapDirectory
from coordinator.security.authentication.ldap_settings import LdapSettings, read_directory
from coordinator.security.authentication.oauth2.authenticator import OAuth2Authenticator
from coordinator.security.authentication.oauth2.handed_tokens import HandedTokens
from coordinator.security.authentication.oauth2.login_store import LoginsInMemory, LoginStore
from coordinator.security.authentication.oauth2.logins import Logins
from coordinator.security.authentication.oauth2.opaque_tokens import OpaqueTokens
from coordinator.security.authentication.oauth2.provider import Provider
from coordinator.security.authentication.oauth2.refreshes import Refreshes
from coordinator.security.authentication.oauth2.sealed_tokens import SealedTokens, secret_key
from coordinator.security.authentication.oauth2.settings import OAuth2Settings
from coordinator.security.authentication.password_authenticator import PasswordAuthenticator, PasswordFile
from coordinator.security.authentication.password_file import read_password_file
from coordinator.security.authentication.user_mapping import UserMapping, user_mapping
from coordinator.security.refreshed_file import RefreshedFile
from coordinator.security.settings import AuthenticationSettings, AuthenticationType
from coordinator.values.settings_files import find_file, read_settings
from shared.properties import ConfigurationError, read_properties
from shared.spi.access_control import SystemAccessControl

_PREFIX = "http-server.authentication"
_FORMS: dict[str, Literal["password", "token"]] = {"PASSWORD": "password", "JWT": "token"}


def load_authentication(
    etc: Path,
    settings: AuthenticationSettings,
    oauth2: OAuth2Settings,
    principal_header: str | None,
    access_control: SystemAccessControl,
    shared_secret: str | None = None,
    logins: LoginStore | None = None,
) -> Authentication | None:
    """None when nobody has to say who they are. Raises ConfigurationError.

    ``shared_secret``: of coordinators that take each other's browser sessions. ``logins``: where they keep those that
    are under way, in memory by default.
    """
    if not settings.types:
        return None

    def made(mapping: UserMapping) -> OAuth2Authenticator:
        return _oauth2(oauth2, mapping, shared_secret, logins)

    return Authentication(
        tuple(_authenticator(kind, etc, settings, oauth2, made, principal_header) for kind in settings.types),
        access_control,
        load_group_provider(etc),
        settings.allow_insecure_over_http,
        frozenset(_FORMS[kind] for kind in settings.types if kind in _FORMS),
        "KERBEROS" in settings.types,
        BrowserSessions(shared_secret),
    )


def _authenticator(
    kind: AuthenticationType,
    etc: Path,
    settings: AuthenticationSettings,
    oauth2: OAuth2Settings,
    make_oauth2: Callable[[UserMapping], OAuth2Authenticator],
    principal_header: str | None,
) -> Authenticator:
    mapped = partial(_mapping, etc)
    match kind:
        case "PASSWORD":
            mapping = mapped("password", settings.password_pattern, settings.password_mapping)
            return _passwords(etc, [Path(name) for name in settings.password_files], mapping)
        case "JWT":
            return _jwt(etc, settings, mapped("jwt", settings.jwt_pattern, settings.jwt_mapping))
        case "OAUTH2":
            return make_oauth2(mapped("oauth2", oauth2.pattern, oauth2.mapping))
        case "CERTIFICATE":
            mapping = mapped("certificate", settings.certificate_pattern, settings.certificate_mapping)
            return CertificateAuthenticator(mapping)
        case "KERBEROS":
            return _kerberos(etc, settings, mapped("krb5", settings.kerberos_pattern, settings.kerberos_mapping))
        case "HEADER":
            if principal_header is None:
                raise ConfigurationError(f"{_PREFIX}.type=HEADER needs {_PREFIX}.principal-header")
            mapping = mapped("header", settings.header_pattern, settings.header_mapping)
            return HeaderAuthenticator(principal_header, settings.trusted_proxies, mapping)
        case _:
            assert_never(kind)


def _kerberos(etc: Path, settings: AuthenticationSettings, mapping: UserMapping) -> KerberosAuthenticator:
    if settings.kerberos_keytab is None:
        raise ConfigurationError(f"{_PREFIX}.type=KERBEROS needs {_PREFIX}.krb5.keytab")
    named_in = etc / "config.properties"
    keytab = find_file(etc, settings.kerberos_keytab, named_in)
    config = None if settings.kerberos_config is None else find_file(etc, settings.kerberos_config, named_in)
    try:
        return KerberosAuthenticator(keytab, settings.kerberos_service, settings.kerberos_hostname, mapping, config)
    except ImportError as error:
        raise ConfigurationError(
            f"{_PREFIX}.type=KERBEROS needs the package gssapi, or a proxy that speaks it in front, with HEADER"
        ) from error
    except ValueError as error:
        raise ConfigurationError(f"{_PREFIX}.krb5.keytab: {error}") from error


def _mapping(etc: Path, kind: str, pattern: str | None, file: Path | None) -> UserMapping:
    where = f"{_PREFIX}.{kind}.user-mapping"
    found = None if file is None else find_file(etc, file, etc / "config.properties")
    return user_mapping(pattern, found, where)


def _passwords(etc: Path, names: Sequence[Path], mapping: UserMapping) -> PasswordAuthenticator:
    config = etc / "config.properties"
    found = [find_file(etc, name if name.parts[:1] != ("etc",) else _below(etc, name), config) for name in names]
    in_ldap = [file for file in found if _kind(file) == "ldap"]
    return PasswordAuthenticator(
        [_password_file(etc, file) for file in found if file not in in_ldap],
        mapping,
        [_directory(etc, file) for file in in_ldap],
    )


def _kind(file: Path) -> str | None:
    entry = read_properties(file).get("password-authenticator.name")
    return None if entry is None else entry.value


def _directory(etc: Path, file: Path) -> LdapDirectory:
    settings = read_directory(LdapSettings, etc, file)
    try:
        return LdapDirectory(settings)
    except ImportError as error:
        raise ConfigurationError(f"{file}: password-authenticator.name=ldap needs the package ldap3") from error


def _password_file(etc: Path, file: Path) -> PasswordFile:
    settings = read_settings(PasswordFileSettings, file)
    users = RefreshedFile(find_file(etc, settings.password_file, file), read_password_file, settings.refresh_period)
    return PasswordFile(users, settings.cache_size)


def _below(etc: Path, name: Path) -> Path:
    """``etc/x`` of a configuration directory that is called otherwise."""
    return etc.absolute() / name.relative_to("etc")


def _jwt(etc: Path, settings: AuthenticationSettings, mapping: UserMapping) -> JwtAuthenticator:
    if settings.jwt_key_file is None:
        raise ConfigurationError(f"{_PREFIX}.type=JWT needs {_PREFIX}.jwt.key-file")
    keys = verification_keys(settings.jwt_key_file, lambda path: find_file(etc, path, etc / "config.properties"))
    return JwtAuthenticator(keys, mapping, settings.jwt_issuer, settings.jwt_audience, settings.jwt_principal_field)


def _oauth2(
    settings: OAuth2Settings, mapping: UserMapping, secret: str | None = None, store: LoginStore | None = None
) -> OAuth2Authenticator:
    """With a ``store`` in common, keys are made of the ``secret`` in common where the settings name none."""
    derived = None if store is None or secret is None else secret
    if settings.issuer is None or settings.client_id is None or settings.client_secret is None:
        raise ConfigurationError(f"{_PREFIX}.type=OAUTH2 needs {_PREFIX}.oauth2.issuer, client-id and client-secret")
    provider = Provider(settings)
    tokens = JwtAuthenticator(
        provider,
        mapping,
        settings.access_token_issuer or settings.issuer,
        (settings.client_id, *settings.additional_audiences),
        settings.principal_field,
        settings.max_clock_skew,
    )
    handed = HandedTokens(_sealed(settings, derived), settings.issued_timeout, refresh=settings.refresh_tokens)
    state_key = settings.state_key or (token_urlsafe(32) if derived is None else _key("state", derived).hex())
    kept = store or LoginsInMemory()
    logins = Logins(provider, handed, state_key, settings.challenge_timeout, kept)
    opaque = OpaqueTokens(provider.claims, settings.userinfo_ttl)
    return OAuth2Authenticator(tokens, opaque, handed, logins, Refreshes(provider, handed, logins, kept))


def _key(purpose: str, secret: str) -> bytes:
    return sha256(f"oauth2 {purpose}\0{secret}".encode()).digest()


def _sealed(settings: OAuth2Settings, derived: str | None) -> SealedTokens:
    key = None if derived is None else _key("tokens", derived)
    try:
        key = key if settings.secret_key is None else secret_key(settings.secret_key)
    except ValueError as error:
        raise ConfigurationError(f"{_PREFIX}.oauth2.refresh-tokens.secret-key: {error}") from error
    return SealedTokens(key, settings.issued_timeout, settings.issued_issuer, settings.issued_audience)
