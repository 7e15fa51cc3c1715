"""Session properties that the configuration gives to some sessions, as defaults or over what the client says.

Source: Presto's ``FileSessionPropertyManager``. All rules that match apply, and the later wins; a property that a rule
with ``overrideSessionProperties`` has set stays overridden.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
from pydantic import Field

from coordinator.security.access_control.patterns import Pattern
from coordinator.security.refreshed_file import read_text
from coordinator.values.settings import Settings
from coordinator.values.settings_files import find_file, read_settings
from coordinator.vocabulary.session_properties import PropertiesByName, check_value
from shared.errors import ProcessionError
from shared.properties import ConfigurationError
from shared.spi.session import Session

T = TypeVar("T")


class SessionPropertySettings(Settings):
    """etc/session-property-config.properties"""

    manager: Literal["file"] = Field(
        alias="session-property-config.configuration-manager",
        description="Kind of the session property manager; only `file` exists.",
    )
    config_file: Path = Field(
        alias="session-property-manager.config-file",
        description="JSON rules that give session properties to sessions (docs/access-control.md).",
    )


class MatchRule(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Patterns over whole values; ``clientTags`` are all needed. ``overrideSessionProperties``: the client's lose."""

    sessionProperties: dict[str, str]
    user: Pattern | None = None
    source: Pattern | None = None
    clientInfo: Pattern | None = None
    clientTags: tuple[str, ...] = ()
    overrideSessionProperties: bool = False

    def matches(self, session: Session) -> bool:
        texts = ((self.user, session.user), (self.source, session.source), (self.clientInfo, session.client_info))
        if not all(pattern is None or (text is not None and pattern.matches(text)) for pattern, text in texts):
            return False
        return set(self.clientTags) <= set(session.client_tags)


class SessionPropertyManager:
    """Rules that were read at the start."""

    def __init__(self, rules: tuple[MatchRule, ...] = ()) -> None:
        self._rules = rules

    def applied(self, session: Session) -> Session:
        """The session with what it is given."""
        defaults: dict[str, str] = {}
        overridden: set[str] = set()
        for rule in self._rules:
            if rule.matches(session):
                defaults |= rule.sessionProperties
                overridden |= rule.sessionProperties.keys() if rule.overrideSessionProperties else set()
        if not defaults:
            return session
        own = {name: value for name, value in session.properties.items() if name not in overridden}
        given = {name: value for name, value in defaults.items() if name not in own}
        return replace(session, properties={**own, **given}, given_properties=given)


def load_session_properties(etc: Path, known: PropertiesByName) -> SessionPropertyManager:
    """As ``session-property-config.properties`` says; nothing is given without it. Raises ConfigurationError."""
    file = etc / "session-property-config.properties"
    if not file.is_file():
        return SessionPropertyManager()
    settings = read_settings(SessionPropertySettings, file)
    return SessionPropertyManager(read_match_rules(find_file(etc, settings.config_file, file), known))


def read_match_rules(file: Path, known: PropertiesByName) -> tuple[MatchRule, ...]:
    """Raises ConfigurationError, also for a property that there is not, and for a value that it cannot have."""
    try:
        content = msgspec.json.decode(read_text(file))
        rules = msgspec.convert(content, tuple[MatchRule, ...], dec_hook=_decoded)
        for name, value in ((n, v) for rule in rules for n, v in rule.sessionProperties.items()):
            if name not in known:
                raise ConfigurationError(f"{file}: Unknown session property {name}")
            if name == "time_zone_id":  # it would count before the zone that every client sends
                raise ConfigurationError(f"{file}: time_zone_id is for clients to set")
            check_value(known[name], value)
    except ProcessionError as error:
        raise ConfigurationError(f"{file}: {error.message}") from error
    except msgspec.MsgspecError as error:
        raise ConfigurationError(f"{file}: {error}") from error
    return rules


def _decoded(kind: type[T], value: object) -> object:
    if kind is Pattern and isinstance(value, str):
        return Pattern(value)
    raise ValueError(f"expected a text, got {type(value).__name__}")
