"""Passwords and groups in a real directory: OpenLDAP's server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coordinator.security.access_control.load import load_access_control
from coordinator.security.authentication.authentication import Authentication, RequestRefusedError
from coordinator.security.authentication.authenticator import Authenticated, Credentials
from coordinator.security.authentication.groups import load_group_provider
from coordinator.security.authentication.ldap_directory import LdapDirectory
from coordinator.security.authentication.ldap_groups import LdapGroups
from coordinator.security.authentication.ldap_settings import LdapGroupSettings, LdapSettings
from shared.errors import ProcessionError
from shared.properties import ConfigurationError
from tests.certificates import authority
from tests.ldap_server import BASE, GROUPS, PEOPLE, SERVICE, SERVICE_PASSWORD, Directory, ldap_server

# The library leaves sockets to the collector where nobody answers.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
]
PATTERN = {"ldap.user-bind-pattern": f"uid=${{USER}},{PEOPLE}"}
MEMBERS = {
    "ldap.user-base-dn": PEOPLE,
    "ldap.group-auth-pattern": f"(&(uid=${{USER}})(memberOf=cn=lake_admins,{GROUPS}))",
}
ANYBODY = {"ldap.user-base-dn": PEOPLE, "ldap.group-auth-pattern": "(uid=${USER})"}
SEARCH = {"ldap.bind-dn": SERVICE, "ldap.bind-password": SERVICE_PASSWORD}


@pytest.fixture(scope="module")
def real() -> Iterator[Directory]:
    with ldap_server() as running:
        yield running


def passwords(real: Directory, *parts: dict[str, Any], **others: Any) -> LdapDirectory:
    given: dict[str, Any] = {"password-authenticator.name": "ldap", "ldap.url": real.tls}
    given["ldap.ssl.truststore.path"] = real.ca
    for part in (*parts, others):
        given |= part
    settings = LdapSettings.model_validate(given)
    assert settings.problem() is None
    return LdapDirectory(settings)


def test_the_directory_itself_lets_in_who_gives_a_name_and_no_password(real: Directory) -> None:
    """Which is why nobody may be asked about an empty password. The request is written by hand: libraries refuse."""
    name = f"uid=bob,{PEOPLE}".encode()
    bind = b"\x02\x01\x03\x04" + bytes([len(name)]) + name + b"\x80\x00"
    message = b"\x02\x01\x01\x60" + bytes([len(bind)]) + bind
    host, _, port = real.plain.removeprefix("ldap://").partition(":")
    with socket.create_connection((host, int(port)), 10) as raw:
        raw.sendall(b"\x30" + bytes([len(message)]) + message)
        assert b"\x0a\x01\x00" in raw.recv(100), "success"
    assert not passwords(real, PATTERN).is_right("bob", "")


def test_right_wrong_and_empty_passwords(real: Directory) -> None:
    for found in (passwords(real, PATTERN), passwords(real, SEARCH, ANYBODY), passwords(real, PATTERN, ANYBODY)):
        assert found.is_right("bob", "bob's") and found.is_right("carol", "carol's")
        for user, password in (
            ("bob", "carol's"),
            ("eve", "bob's"),
            ("bob", ""),
            ("", ""),
            ("", "bob's"),
            ("bob", "\0"),
        ):
            assert not found.is_right(user, password), (user, password)


def test_members_of_a_group_alone(real: Directory) -> None:
    for found in (passwords(real, PATTERN, MEMBERS), passwords(real, SEARCH, MEMBERS)):
        assert found.is_right("bob", "bob's")
        assert not found.is_right("carol", "carol's")


def test_a_name_that_several_have_lets_nobody_in(real: Directory) -> None:
    twins = {"ldap.user-base-dn": PEOPLE, "ldap.group-auth-pattern": "(cn=${USER})"}
    assert passwords(real, SEARCH, twins).is_right("Bob", "bob's")
    for password in ("carol's", "dave's"):
        assert not passwords(real, SEARCH, twins).is_right("Twin", password)


@pytest.mark.parametrize("user", ["*", "b*", "bob)(uid=*", "bob)(|(uid=*", "bob,ou=people", "\\62ob", "bob\0", "bob#"])
def test_names_that_would_be_filters(real: Directory, user: str) -> None:
    for found in (passwords(real, PATTERN, ANYBODY), passwords(real, SEARCH, ANYBODY)):
        assert not found.is_right(user, "bob's")


def test_a_referral_is_not_followed(real: Directory) -> None:
    for found in (passwords(real, PATTERN), passwords(real, SEARCH, ANYBODY), passwords(real, PATTERN, ANYBODY)):
        assert not found.is_right("gone", "a password for elsewhere")
    with pytest.raises(BlockingIOError):
        real.referred.accept()


def test_start_tls_and_who_signs(real: Directory, tmp_path: Path) -> None:
    inside = {"ldap.url": real.plain, "ldap.start-tls": True}
    stranger = {"ldap.ssl.truststore.path": authority(tmp_path / "other.pem", "Other").file}
    assert passwords(real, PATTERN, inside).is_right("bob", "bob's")
    assert not passwords(real, PATTERN, inside, stranger).is_right("bob", "bob's")
    assert not passwords(real, PATTERN, stranger).is_right("bob", "bob's")
    by_name = {"ldap.url": real.tls.replace("127.0.0.1", "localhost")}
    assert passwords(real, PATTERN, by_name).is_right("bob", "bob's")
    elsewhere = {"ldap.url": real.tls.replace("127.0.0.1", "127.0.0.2")}
    assert not passwords(real, PATTERN, elsewhere).is_right("bob", "bob's")
    insecure = {"ldap.url": real.plain, "ldap.allow-insecure": True}
    assert passwords(real, PATTERN, insecure).is_right("bob", "bob's")


def test_a_certificate_for_another_host(real: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name that was asked for counts, and not whether somebody trusted has signed."""
    resolve = socket.getaddrinfo

    def misled(host: Any, *others: Any, **options: Any) -> Any:
        return resolve("127.0.0.1" if host == "directory.example" else host, *others, **options)

    monkeypatch.setattr(socket, "getaddrinfo", misled)
    port = real.tls.rpartition(":")[2]
    assert not passwords(real, PATTERN, {"ldap.url": f"ldaps://directory.example:{port}"}).is_right("bob", "bob's")
    plain = real.plain.rpartition(":")[2]
    inside = {"ldap.url": f"ldap://directory.example:{plain}", "ldap.start-tls": True}
    assert not passwords(real, PATTERN, inside).is_right("bob", "bob's")


def test_a_directory_that_is_down_or_silent(real: Directory) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        quick = {"ldap.timeout.connect": "300ms", "ldap.timeout.read": "300ms"}
        for url in (f"ldap://127.0.0.1:{port}", f"ldaps://127.0.0.1:{port}"):
            there = {"ldap.url": url, "ldap.allow-insecure": True}
            assert not passwords(real, PATTERN, quick, there).is_right("bob", "bob's")
    assert not passwords(real, PATTERN, {"ldap.url": f"ldaps://127.0.0.1:{port}"}).is_right("bob", "bob's")


GROUP = {
    "ldap.admin-user": SERVICE,
    "ldap.admin-password": SERVICE_PASSWORD,
    "ldap.user-base-dn": PEOPLE,
    "ldap.group-base-dn": GROUPS,
    "ldap.group-search-member-attribute": "member",
}
OF_USER = {"ldap.use-group-filter": False, "ldap.user-member-of-attribute": "memberOf"}


def groups(real: Directory, **others: Any) -> LdapGroups:
    given: dict[str, Any] = {"group-provider.name": "ldap", "ldap.url": real.tls, "ldap.ssl.truststore.path": real.ca}
    settings = LdapGroupSettings.model_validate(given | GROUP | others)
    assert settings.problem() is None
    return LdapGroups(settings)


def test_groups_by_members_and_by_the_user(real: Directory) -> None:
    for found in (groups(real), groups(real, **OF_USER)):
        assert found("bob") == ("Lake_Readers", "lake_admins", "other")
        assert found("carol") == ("Lake_Readers",)
        assert found("nobody") == ()
    some = groups(real, **{"ldap.group-search-filter": "(cn=lake_*)", "group-provider.group-case": "upper"})
    assert some("bob") == ("LAKE_ADMINS", "LAKE_READERS")


def test_names_are_text_in_a_search_for_groups(real: Directory) -> None:
    found = groups(real)
    assert found("o'neil (jr) *") == ("Lake_Readers",)
    for user in ("*", "b*", "bob)(uid=*", "*)(objectClass=*", "\\62ob", "bob\0", ""):
        assert found(user) == ()


def test_groups_are_remembered_for_a_while(real: Directory) -> None:
    now = [0.0]
    given = {"group-provider.name": "ldap", "ldap.url": real.tls, "ldap.ssl.truststore.path": real.ca} | GROUP
    found = LdapGroups(LdapGroupSettings.model_validate(given), monotonic=lambda: now[0])
    assert not found.remembers("bob")
    assert found("bob") and found.remembers("bob") and not found.remembers("carol")
    now[0] = 61.0
    assert not found.remembers("bob")


@pytest.mark.parametrize(
    "wrong",
    [
        {"ldap.admin-password": "wrong"},
        {"ldap.user-search-filter": "(|(uid=carol)(uid={0}))"},
        {"ldap.user-base-dn": f"ou=nowhere,{BASE}"},
        {"ldap.group-base-dn": f"ou=nowhere,{BASE}"},
        {"ldap.url": "ldaps://127.0.0.1:1"},
    ],
)
def test_whose_groups_are_not_known_is_refused(real: Directory, wrong: dict[str, Any]) -> None:
    with pytest.raises(ProcessionError, match="the groups of the user cannot be looked up"):
        groups(real, **wrong)("bob")


def test_groups_that_are_too_many_for_the_directory_are_not_a_part_of_them(real: Directory) -> None:
    with pytest.raises(ProcessionError, match="cannot be looked up"):
        limited = {"ldap.admin-user": f"uid=bob,{PEOPLE}", "ldap.admin-password": "bob's"}
        groups(real, **{"ldap.group-base-dn": f"ou=many,{BASE}"}, **limited)("dave")


def test_the_file_of_the_provider(real: Directory, tmp_path: Path) -> None:
    lines = [f"{name}={value}" for name, value in GROUP.items()]
    lines += ["group-provider.name=ldap", f"ldap.url={real.tls}", "ldap.ssl.truststore.path=ca.pem"]
    (tmp_path / "ca.pem").write_bytes(real.ca.read_bytes())
    file = tmp_path / "group-provider.properties"
    file.write_text("\n".join(lines) + "\n")
    assert load_group_provider(tmp_path)("carol") == ("Lake_Readers",)
    for line, problem in (
        ("ldap.use-group-filter=false", "needs ldap.user-member-of-attribute"),
        ("ldap.user-search-filter=uid", "ldap.user-search-filter"),
        ("ldap.start-tls=true", "ldap.start-tls is for ldap://"),
        ("ldap.unknown=1", "unknown property"),
    ):
        file.write_text("\n".join([*lines, line]) + "\n")
        with pytest.raises(ConfigurationError, match=problem):
            load_group_provider(tmp_path)


class Believing:
    """Lets in whom a header names."""

    async def authenticate(self, credentials: Credentials) -> Authenticated:
        return Authenticated(credentials.headers["who"], credentials.headers["who"])


@pytest.mark.anyio
async def test_access_rules_for_groups_of_the_directory(real: Directory, tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text('{"catalogs": [{"group": "lake_admins", "catalog": "lake", "allow": "all"}]}')
    (tmp_path / "access-control.properties").write_text("access-control.name=file\nsecurity.config-file=rules.json\n")
    control = load_access_control(tmp_path, authenticated=True)
    found = groups(real)
    asking = Authentication((Believing(),), control, found)
    bob = await asking.identify(Credentials({"who": "bob"}), None, secure=True)
    carol = await asking.identify(Credentials({"who": "carol"}), None, secure=True)
    assert bob is not None and carol is not None
    assert bob.groups == ("Lake_Readers", "lake_admins", "other")
    control.check_can_access_catalog(bob, "lake", changes=False)
    with pytest.raises(ProcessionError, match="Cannot access catalog lake"):
        control.check_can_access_catalog(carol, "lake", changes=False)
    down = Authentication((Believing(),), control, groups(real, **{"ldap.url": "ldaps://127.0.0.1:1"}))
    with pytest.raises(RequestRefusedError) as refused:
        await down.identify(Credentials({"who": "bob"}), None, secure=True)
    assert (refused.value.status, "cannot be looked up" in refused.value.text) == (503, True)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
