"""From principals to users: a pattern, or rules in a file. Source: Trino's UserMapping."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from coordinator.security.authentication.authenticator import AuthenticationError
from coordinator.security.java_pattern import java_pattern
from coordinator.security.refreshed_file import read_text
from shared.properties import ConfigurationError

UserMapping = Callable[[str], str]
"""The user of a principal; raises AuthenticationError."""

_GROUP = re.compile(r"\\(.)|\$(\d)|\$\{(\w+)\}")


class _Rule(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    pattern: str
    user: str = "$1"
    allow: bool = True
    case: Literal["keep", "lower", "upper"] = "keep"


class _Rules(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    rules: tuple[_Rule, ...]


@dataclass(frozen=True, slots=True)
class _CompiledRule:
    pattern: re.Pattern[str]
    rule: _Rule


def user_mapping(pattern: str | None, file: Path | None, where: str) -> UserMapping:
    """What the two settings of an authenticator say; the principal itself without either.

    ``where`` names the settings in errors. Raises ConfigurationError.
    """
    if pattern is not None and file is not None:
        raise ConfigurationError(f"{where}.pattern and {where}.file cannot be used together")
    if pattern is not None:
        return _mapping((_compiled(_Rule(pattern), f"{where}.pattern"),))
    return _mapping(_read(file)) if file is not None else _itself


def _itself(principal: str) -> str:
    return principal


def _mapping(rules: tuple[_CompiledRule, ...]) -> UserMapping:
    def mapped(principal: str) -> str:
        for compiled in rules:
            found = compiled.pattern.fullmatch(principal)
            if found is None:
                continue
            if not compiled.rule.allow:
                raise AuthenticationError("Principal is not allowed")
            user = expanded(compiled.rule.user, found).strip()
            if not user:
                raise AuthenticationError("Principal matched, but mapped user is empty")
            match compiled.rule.case:
                case "lower":
                    return user.lower()
                case "upper":
                    return user.upper()
                case "keep":
                    return user
        raise AuthenticationError("No user mapping patterns match the principal")

    return mapped


def expanded(template: str, found: re.Match[str]) -> str:
    """A replacement as Java writes it: ``$1``, ``${name}``, and ``\\`` before what stands for itself."""

    def part(reference: re.Match[str]) -> str:
        escaped, number, name = reference.groups()
        if escaped is not None:
            return str(escaped)
        return found.group(int(number) if number is not None else name) or ""

    return _GROUP.sub(part, template)


def _read(file: Path) -> tuple[_CompiledRule, ...]:
    try:
        rules = msgspec.json.decode(read_text(file), type=_Rules).rules
    except msgspec.MsgspecError as error:
        raise ConfigurationError(f"{file}: {error}") from error
    return tuple(_compiled(rule, f"{file}: rule {number}") for number, rule in enumerate(rules, 1))


def _compiled(rule: _Rule, where: str) -> _CompiledRule:
    try:
        pattern = java_pattern(rule.pattern)
    except re.error as error:
        raise ConfigurationError(f"{where}: invalid pattern '{rule.pattern}': {error}") from error
    for _, number, name in _GROUP.findall(rule.user):
        known = int(number) <= pattern.groups if number else name in pattern.groupindex or not name
        if rule.allow and not known:
            raise ConfigurationError(f"{where}: '{rule.user}' names a group that '{rule.pattern}' does not have")
    return _CompiledRule(pattern, rule)
