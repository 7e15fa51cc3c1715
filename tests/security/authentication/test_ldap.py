"""Passwords in a directory, by ldap3's own stand-in for one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coordinator.security.authentication.authenticator import Authenticated, AuthenticationError
from coordinator.security.authentication.ldap_directory import LdapDirectory
from coordinator.security.authentication.ldap_settings import LdapSettings
from coordinator.security.authentication.load import _passwords
from coordinator.security.authentication.password_authenticator import PasswordAuthenticator
from shared.properties import ConfigurationError
from tests.security.authentication.test_authenticators import basic, itself

ldap3 = pytest.importorskip("ldap3")
PEOPLE = "ou=people,dc=lake"
PATTERN = {"ldap.user-bind-pattern": f"uid=${{USER}},{PEOPLE}"}
GROUP = {"ldap.user-base-dn": PEOPLE, "ldap.group-auth-pattern": "(&(uid=${USER})(departmentNumber=7))"}
SERVICE = {"ldap.bind-dn": "cn=service,dc=lake", "ldap.bind-password": "s"}


def settings(*parts: dict[str, Any]) -> LdapSettings:
    given: dict[str, Any] = {"password-authenticator.name": "ldap", "ldap.url": "ldaps://lake:636"}
    for part in parts:
        given |= part
    return LdapSettings.model_validate(given)


def directory(*parts: dict[str, Any], clock: Callable[[], float] = lambda: 0.0) -> tuple[LdapDirectory, list[str]]:
    """With bob in department 7 and carol in 8, and the names that logged in."""
    asked: list[str] = []

    def connect(name: str, password: str) -> Any:
        asked.append(name)
        made = ldap3.Connection(ldap3.Server("lake"), name, password, client_strategy=ldap3.MOCK_SYNC)
        for user, department in (("bob", "7"), ("carol", "8")):
            entry = {"userPassword": f"{user}'s", "uid": user, "departmentNumber": department, "sn": user}
            made.strategy.add_entry(f"uid={user},{PEOPLE}", entry)
        made.strategy.add_entry("cn=service,dc=lake", {"userPassword": "s", "sn": "service"})
        return made

    return LdapDirectory(settings(*parts), connect, clock), asked


def test_who_logs_in_there_is_let_in() -> None:
    found, _ = directory(PATTERN)
    assert found.is_right("bob", "bob's") and found.is_right("carol", "carol's")
    assert not found.is_right("bob", "carol's")
    assert not found.is_right("eve", "bob's")
    assert not found.is_right("bob", "")


def test_groups() -> None:
    found, _ = directory(PATTERN, GROUP)
    assert found.is_right("bob", "bob's")
    assert not found.is_right("carol", "carol's")


def test_a_service_finds_the_user() -> None:
    found, asked = directory(SERVICE, GROUP)
    assert found.is_right("bob", "bob's")
    assert asked == ["cn=service,dc=lake", f"uid=bob,{PEOPLE}"]
    assert not found.is_right("bob", "s") and not found.is_right("carol", "carol's") and not found.is_right("eve", "s")
    refused, _ = directory(SERVICE | {"ldap.bind-password": "wrong"}, GROUP)
    assert not refused.is_right("bob", "bob's")


@pytest.mark.parametrize(
    "user", ["*", "bob)(uid=*", "bob,ou=people", "b\\6fb", "bob\0", "uid=bob", "", "bob|x", "bob&x"]
)
def test_names_that_would_be_patterns(user: str) -> None:
    for parts in ((PATTERN,), (PATTERN, GROUP), (SERVICE, GROUP)):
        found, asked = directory(*parts)
        assert not found.is_right(user, "bob's")
        assert asked == [] or user == ""


def test_a_right_password_is_remembered_for_a_while() -> None:
    now = [0.0]
    found, asked = directory(PATTERN, {"ldap.cache-ttl": 60}, clock=lambda: now[0])
    assert not found.remembers("bob", "bob's")
    assert found.is_right("bob", "bob's") and found.remembers("bob", "bob's")
    assert not found.remembers("bob", "x") and not found.remembers("carol", "bob's")
    now[0] = 61.0
    assert not found.remembers("bob", "bob's")
    assert len(asked) == 1


def test_nobody_is_let_in_where_it_cannot_be_asked() -> None:
    def connect(name: str, password: str) -> Any:
        raise ldap3.core.exceptions.LDAPSocketOpenError(f"no way to {name} with {password}")

    assert not LdapDirectory(settings(PATTERN), connect).is_right("bob", "bob's")


@pytest.mark.anyio
async def test_the_authenticator() -> None:
    found, _ = directory(PATTERN)
    authenticator = PasswordAuthenticator([], itself, [found])
    for _again in range(2):
        assert await authenticator.authenticate(basic("bob", "bob's")) == Authenticated("bob", "bob")
    with pytest.raises(AuthenticationError, match="Invalid credentials"):
        await authenticator.authenticate(basic("bob", "x"))


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("ldap.url=ldap://x\nldap.user-bind-pattern=${USER}", "ldap.allow-insecure=true"),
        ("ldap.url=ldaps://x", "either ldap.user-bind-pattern or ldap.bind-dn"),
        ("ldap.url=ldaps://x\nldap.bind-dn=cn", "belong together"),
        ("ldap.url=ldaps://x\nldap.bind-dn=cn\nldap.bind-password=x", "ldap.bind-dn needs ldap.group-auth-pattern"),
        ("ldap.url=ldaps://x\nldap.user-bind-pattern=x\nldap.group-auth-pattern=x", "belong together"),
        ("ldap.url=http://x\nldap.user-bind-pattern=x", "ldap.url"),
        ("ldap.uri=ldaps://x", "unknown property 'ldap.uri'; did you mean ldap.url"),
    ],
)
def test_wrong_files(tmp_path: Path, lines: str, problem: str) -> None:
    (tmp_path / "p.properties").write_text(f"password-authenticator.name=ldap\n{lines}\n")
    with pytest.raises(ConfigurationError) as failure:
        _passwords(tmp_path, [Path("p.properties")], itself)
    assert problem in str(failure.value)
    assert "p.properties" in str(failure.value)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
