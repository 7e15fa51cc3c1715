"""Files of passwords, mappings, groups and keys: what they mean, and what is wrong in them."""

from __future__ import annotations

from base64 import b64encode
from hashlib import pbkdf2_hmac
from pathlib import Path

import bcrypt
import pytest

from coordinator.security.authentication.authenticator import AuthenticationError
from coordinator.security.authentication.groups import load_group_provider, read_groups
from coordinator.security.authentication.jwt_keys import keys_of, read_key
from coordinator.security.authentication.password_file import read_password_file
from coordinator.security.authentication.user_mapping import user_mapping
from coordinator.security.refreshed_file import RefreshedFile, read_text
from shared.properties import ConfigurationError

BCRYPT = "$2y$08$" + bcrypt.hashpw(b"secret", b"$2b$08$" + b"abcdefghijklmnopqrstuu").decode()[7:]
"""The same in every process: it stands in the names of tests."""
WHERE = "http-server.authentication.password.user-mapping"


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "file"
    file.write_text(text)
    return file


def pbkdf2(password: str, algorithm: str, iterations: int = 1000, length: int = 64) -> str:
    hashed = pbkdf2_hmac(algorithm, password.encode(), b"some salt", iterations, length)
    return f"{iterations}:{b'some salt'.hex()}:{hashed.hex()}"


@pytest.mark.parametrize("hashed", [BCRYPT, pbkdf2("secret", "sha1"), pbkdf2("secret", "sha256", 2000, 32)])
def test_passwords(tmp_path: Path, hashed: str) -> None:
    users = read_password_file(written(tmp_path, f"\n  alice:{hashed}  \n\nbob:{BCRYPT}\n"))
    assert set(users) == {"alice", "bob"}
    assert users["alice"].matches("secret")
    for wrong in ("Secret", "", "secret ", "s", "secret\0", "x" * 100):
        assert not users["alice"].matches(wrong)


def test_a_long_password_is_not_as_good_as_its_beginning(tmp_path: Path) -> None:
    begun = "x" * 72
    hashed = bcrypt.hashpw(begun.encode(), bcrypt.gensalt(8)).decode()
    users = read_password_file(written(tmp_path, f"alice:{hashed}\n"))
    assert users["alice"].matches(begun)
    assert not users["alice"].matches(begun + "y")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("alice", "Expected two parts for user and password"),
        (":hashed", "Expected two parts for user and password"),
        ("alice:plain", "Password hashing algorithm cannot be determined"),
        ("alice:$2y$04$" + BCRYPT[7:], "Minimum cost of BCrypt password must be 8"),
        ("alice:$2y$10$short", "Invalid BCrypt password"),
        ("alice:" + pbkdf2("secret", "sha1", 999), "Minimum iterations of PBKDF2 password must be 1000"),
        ("alice:1000:zz:zz", "Invalid PBKDF2 password"),
        ("alice:1000:aa:", "Invalid PBKDF2 password"),
        (f"bob:{BCRYPT}", "Duplicate user: bob"),
    ],
)
def test_a_wrong_password_file_names_the_line_and_no_hash(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"file:2: {problem}") as failure:
        read_password_file(written(tmp_path, f"bob:{BCRYPT}\n{line}\n"))
    hashed = line.partition(":")[2]
    assert not hashed or hashed not in str(failure.value)


def test_mapping_by_pattern() -> None:
    mapped = user_mapping("(?<name>.+)@example\\.com", None, WHERE)
    assert mapped("alice@example.com") == "alice"
    for principal in ("alice@example.com.evil", "alice", "@example.com"):
        with pytest.raises(AuthenticationError, match="No user mapping patterns match the principal"):
            mapped(principal)
    assert user_mapping(None, None, WHERE)("CN=x") == "CN=x"


def test_mapping_by_file(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        r"""{"rules": [
            {"pattern": "root", "allow": false},
            {"pattern": "(.*)@lower", "case": "lower"},
            {"pattern": "(?<first>\\w+)\\.(\\w+)", "user": "${first}_$2\\$", "case": "upper"},
            {"pattern": "empty()"},
            {"pattern": "fixed", "user": "service"}
        ]}""",
    )
    mapped = user_mapping(None, file, WHERE)
    assert (mapped("Alice@lower"), mapped("ann.smith"), mapped("fixed")) == ("alice", "ANN_SMITH$", "service")
    for principal, problem in (("root", "not allowed"), ("empty", "user is empty"), ("x", "No user mapping")):
        with pytest.raises(AuthenticationError, match=problem):
            mapped(principal)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "truncated"),
        ('{"rules": [{"pattern": "("}]}', "rule 1: invalid pattern"),
        ('{"rules": [{"pattern": "x", "deny": true}]}', "unknown field `deny`"),
        ('{"rules": [{"pattern": "x", "user": "$1"}]}', "names a group that 'x' does not have"),
        ('{"rules": [{"pattern": "x(.)", "case": "title"}]}', "Invalid enum value"),
    ],
)
def test_a_wrong_mapping_stops_the_start(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        user_mapping(None, written(tmp_path, text), WHERE)
    with pytest.raises(ConfigurationError, match="cannot be used together"):
        user_mapping("(.*)", tmp_path, WHERE)


def test_groups(tmp_path: Path) -> None:
    groups = read_groups(written(tmp_path, "admins: alice ,bob\n\nall:alice,bob,carol\nnone:\n"))
    assert groups == {"alice": ("admins", "all"), "bob": ("admins", "all"), "carol": ("all",)}
    with pytest.raises(ConfigurationError, match=":1: Expected group and users"):
        read_groups(written(tmp_path, "alice\n"))
    assert load_group_provider(tmp_path)("alice") == ()


def test_the_group_provider_follows_its_file(tmp_path: Path) -> None:
    (tmp_path / "groups").write_text("a:alice\n")
    properties = "group-provider.name=file\nfile.group-file=groups\nfile.refresh-period=0.001ms\n"
    (tmp_path / "group-provider.properties").write_text(properties)
    groups_of = load_group_provider(tmp_path)
    assert groups_of("alice") == ("a",)
    (tmp_path / "groups").write_text("other:alice\n")
    assert groups_of("alice") == ("other",)


def test_a_file_that_becomes_wrong_counts_as_it_was(tmp_path: Path) -> None:
    now = 0.0

    def read(path: Path) -> str:
        text = read_text(path)
        if text == "wrong":
            raise ConfigurationError("wrong")
        return text

    file = written(tmp_path, "one")
    followed = RefreshedFile(file, read, 5.0, lambda: now)
    file.write_text("three")
    assert followed.get() == "one"
    now = 6.0
    assert followed.get() == "three"
    for text in ("wrong", None, "seven"):
        now += 6.0
        if text is None:
            file.unlink()
        else:
            file.write_text(text)
        assert followed.get() == ("seven" if text == "seven" else "three")


def test_keys(tmp_path: Path) -> None:
    assert read_key(written(tmp_path, b64encode(b"k" * 32).decode())).algorithms == ("HS256", "HS384", "HS512")
    for text, problem in (
        ("no key!", "neither PEM nor a base64 key"),
        (b64encode(b"short").decode(), "needs 32 bytes"),
        ("-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----", "no PEM public key"),
        ("-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----", "no PEM public key"),
    ):
        with pytest.raises(ConfigurationError, match=problem) as failure:
            read_key(written(tmp_path, text))
        assert text not in str(failure.value)


def test_sets_of_keys_hold_public_keys_for_signatures() -> None:
    key = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "kid": "a"}
    shared = {"kty": "oct", "k": "c2VjcmV0", "kid": "b"}
    found = keys_of({"keys": [key, shared, key | {"kid": "c", "use": "enc"}, key | {"kid": "d", "x": "?"}, 7]})
    assert set(found) == {"a", None}
    assert found["a"].algorithms == ("EdDSA",)
    with pytest.raises(ValueError, match="not a set of keys"):
        keys_of([])
