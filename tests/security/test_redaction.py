"""Passwords are in no text that others read, and looking for them takes no time to speak of."""

from __future__ import annotations

import time

import pytest

from coordinator.security.redaction import (
    Redactor,
    is_secret_name,
    redacted,
    redacted_lines,
    secrets_in,
    secrets_of,
    shown_statement,
    shown_value,
)


@pytest.mark.parametrize(
    "text",
    [
        "CALL iceberg.system.set_table_property('db', 't', 's3.secret-access-key', 'hunter2')",
        "CALL x.system.set_table_property(key => 's3.secret-access-key', value => 'hunter2', table => 'a')",
        "CREATE TABLE t (a int) WITH (\"adls.account-key\" = 'hunter2', b = 'c')",
        "SET SESSION c.password='hunter2'",
        "CREATE TABLE t WITH (extra_properties = MAP(ARRAY['a', 'gcs.oauth2.token'], ARRAY['b', 'hunter2']))",
        "SELECT * FROM t WHERE Password  =  'hunter2'",
        "SELECT 'token' , 'hunter2''more hunter2'",
        "SELECT 'jdbc:postgresql://me:hunter2@host/db'",
        "SELECT 'jdbc:mysql://host/db?user=x&password=hunter2&a=b'",
        "SELECT token = 'hunter2",
        "SELECT * FROM (VALUES 'hunter2') AS t (password) WHERE password = 'hunter2'",
        "SELECT * FROM t WHERE password <> 'hunter2' AND token NOT LIKE 'hunter2%' AND api_key >= 'hunter2'",
        "SELECT * FROM t WHERE user_password IN ('a', 'hunter2', 'hunter2''s')",
        "SELECT secret = 'x' AND s = 'y' OR api_key:'hunter2'",
    ],
)
def test_values_beside_names_of_secrets(text: str) -> None:
    shown = redacted(text)
    assert "hunter2" not in shown
    assert "***" in shown


@pytest.mark.parametrize(
    "text",
    ["SELECT 1", "SELECT password FROM t", "WHERE size = 'x'", "SELECT count(token) FROM t", "https://host:80/a@b"],
)
def test_other_texts_stay(text: str) -> None:
    assert redacted(text) == text


def test_values_that_a_plan_may_have_elsewhere() -> None:
    texts = ["SELECT 1 WHERE password = 'it''s' AND x = 'public'", "WITH (m = MAP(ARRAY['token'], ARRAY['of a map']))"]
    texts += ["SELECT 'a://u:login@h'", "SELECT 'jdbc:x?password=of-a-url&a=b'", "token IN ('of a list', 'abc')"]
    assert secrets_in(texts) == {"it's", "of a map", "login", "of-a-url", "of a list"}


def test_names() -> None:
    secret = [
        "s3.secret-access-key",
        "s3.session-token",
        "adls.sas-token",
        "iceberg.catalog.password",
        "token",
        "a.Key",
    ]
    assert [is_secret_name(name) for name in secret] == [True] * 5 + [False]
    assert not any(map(is_secret_name, ["s3.access-key-id", "s3.endpoint", "write.format.default", "comment"]))
    assert (shown_value("x.token", "abc"), shown_value("x", "abc")) == ("***", "abc")


def test_values_of_the_configuration_are_hidden_wherever_they_stand() -> None:
    properties = {
        "s3.secret-access-key": "hunter2",
        "iceberg.catalog.uri": "postgresql+x://u:p%40ss!@h/db",
        "a": "word",
    }
    known = secrets_of(properties.items())
    assert known == {"hunter2", "p%40ss!", "p@ss!"}
    redact = Redactor(known)
    assert redact("it said hunter2 and p@ss!, a word") == "it said *** and ***, a word"
    assert redact.mapping({"q": "hunter2", "my_password": "x", "b": "c"}) == {
        "q": "***",
        "my_password": "***",
        "b": "c",
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "token",
        "token='",
        "token=''",
        "ARRAY[",
        "ARRAY['token',",
        "://a:",
        "?token",
        "token" + " " * 30,
        "a.token-",
        "'",
    ],
)
def test_a_text_of_a_megabyte_takes_no_time_to_speak_of(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    started = time.process_time()
    redacted(text)
    assert time.process_time() - started < 5


def test_every_name_of_a_secret_is_looked_for() -> None:
    """The quick look before the search must not miss what the search would find, letters that fold to others too."""
    names = [
        "PASSWORD",
        "passwd",
        "Passphrase",
        "ſecret",
        "toKen",
        "credentials",
        "signature",
        "sas-x",
        "SAS.y",
        "sas_z",
    ]
    joints = ("", "-", "_", ".")
    names += [
        f"{who}{joint}Key"
        for who in ["api", "access", "account", "private", "shared", "encryption"]
        for joint in joints
    ]
    for name in names:
        assert redacted(f"x {name} = 'hunter2'") == f"x {name} = '***'", name
    assert redacted("see x://me:hunter2@host") == "see x://me:***@host"


def test_of_long_statements_with_secrets_the_beginning_is_shown() -> None:
    long = ", ".join(f"'value {i}'" for i in range(60_000))
    plain = f"SELECT x IN ({long}) FROM t"
    assert shown_statement(plain) == plain
    started = time.process_time()
    shown = shown_statement(f"SELECT * FROM t WHERE password = 'hunter2' OR x IN ({long})")
    assert time.process_time() - started < 0.5, "all of it takes five times that"
    assert shown.startswith("SELECT * FROM t WHERE password = '***' OR x IN ('value 0'")
    assert shown.endswith("more characters are not shown)")
    assert len(shown) < 70_000
    plan = "".join(f"- Filter[x = 'a{i}' AND token = 'hunter2']\n" for i in range(1000))
    assert redacted_lines(plan).count("token = '***'") == 1000


@pytest.mark.parametrize(
    "text",
    [
        "CREATE CATALOG c USING x WITH (\"odd\" = 'hunter2')",
        "ALTER CATALOG c SET PROPERTIES \"odd\" = 'hunter2', b = NULL",
        "alter/* CATALOG */ catalog c set properties(odd = 'hunter2')",
        "create /* why */ catalog if not exists c -- so\n using x with (a = U&'hunter2', b = 'x')",
        "EXPLAIN (TYPE LOGICAL) CREATE CATALOG \"c(\" USING x WITH (odd = 'hunter2')",
        "EXECUTE IMMEDIATE 'CREATE CATALOG c USING x WITH (odd = ''hunter2'')'",
        "PREPARE p FROM CREATE CATALOG c USING x WITH (odd = 'hunter2')",
    ],
)
def test_of_a_catalog_nothing_is_shown(text: str) -> None:
    assert "hunter2" not in redacted(text)
    assert "hunter2" not in shown_statement(text)


def test_of_a_long_text_about_catalogs_all_is_shown() -> None:
    text = f"SELECT 'create catalog', {'1, ' * 10_000} 2"
    assert shown_statement(text) == text


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", ["CREATE CATALOG USING ", "create catalog ", "ALTER/**/CATALOG ", "using properties "]
)
def test_looking_for_catalogs_takes_no_time(words: str) -> None:
    hostile = words * 40_000 + "alter catalog using"
    begun = time.process_time()
    redacted(hostile)
    assert time.process_time() - begun < 5


def test_a_redactor_learns() -> None:
    redact = Redactor(["first-one"])
    redact.learn(["second"])
    assert redact("first-one second third") == "*** *** third"
