"""A server that lets in everybody on the network has to be told to."""

from __future__ import annotations

import structlog

from coordinator.config import CoordinatorSettings
from coordinator.security.settings import AuthenticationSettings, HttpsSettings
from coordinator.server.browser_guard import is_loopback
from shared.properties import ConfigurationError

_log = structlog.get_logger(__name__)
_NO_TLS = HttpsSettings.model_validate({})
_NO_AUTHENTICATION = AuthenticationSettings.model_validate({})


def check_exposure(
    settings: CoordinatorSettings,
    https: HttpsSettings = _NO_TLS,
    authentication: AuthenticationSettings = _NO_AUTHENTICATION,
) -> None:
    """Raises ConfigurationError for an address beyond this machine at which user names are simply believed."""
    problem = why_exposed(settings, https, authentication)
    if problem is None:
        return
    if not settings.allow_unauthenticated:
        raise ConfigurationError(
            f"http-server.http.host={settings.http_host} lets everybody who reaches it run everything: {problem}. "
            "Set http-server.authentication.type (docs/authentication.md), listen on 127.0.0.1 behind a proxy that "
            "authenticates, or set http-server.authentication.allow-unauthenticated=true"
        )
    _log.warning("whoever reaches this address can do everything", host=settings.http_host, reason=problem)


def why_exposed(
    settings: CoordinatorSettings, https: HttpsSettings, authentication: AuthenticationSettings
) -> str | None:
    """None when only this machine reaches the server, or all that it lets in is authenticated."""
    if is_loopback(settings.http_host):
        return None
    if not authentication.types:
        return "this server does not authenticate"
    if authentication.allow_insecure_over_http and https.http_enabled:
        return "http-server.authentication.allow-insecure-over-http=true does not authenticate over plain HTTP"
    return None
