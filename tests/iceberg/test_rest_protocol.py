"""What REST catalogs do differently: tokens, tables that did not change, commits with an unknown outcome, names."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from coordinator.connectors.iceberg.connector import IcebergConnector
from coordinator.connectors.iceberg.failures import CommitOutcomeUnknownError
from coordinator.connectors.iceberg.rest import commits, rest_catalog
from coordinator.connectors.iceberg.rest.token_exchange import ExchangedToken
from shared.errors import ErrorCode, ProcessionError
from shared.properties import ConfigurationError, Property
from tests.iceberg.rest_catalog import serving
from tests.iceberg.rest_habits import Habits
from tests.iceberg.test_rewrite import numbers

LOST = 0
LOADED = "GET /v1/namespaces/db/tables/t "


@contextmanager
def over(lake: Any, habits: Habits, **given: str) -> Iterator[None]:
    """The lake's connector over a server with these habits; ADDRESS is where that is."""
    with serving(lake.other, habits) as address:
        values = {
            "iceberg.catalog.type": "rest",
            "iceberg.rest.uri": address,
            "iceberg.journal.file": f"{lake.home}/rest.journal.db",
        } | {name: value.replace("ADDRESS", address) for name, value in given.items()}
        properties = {k: Property(k, v, Path("lab.properties"), i) for i, (k, v) in enumerate(values.items(), start=2)}
        lake.connector = IcebergConnector("lab", properties)
        try:
            yield
        finally:
            lake.connector.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "_PAUSE", 0.001)


def test_a_table_that_did_not_change_is_not_sent_again(lake: Any) -> None:
    table = lake.create("t", [numbers(0)])
    habits = Habits(etags=True)
    with over(lake, habits):
        tables = lake.connector.tables_of
        first = tables.load("db", "t")
        for _ in range(3):
            assert tables.load("db", "t").metadata == first.metadata
        assert (habits.count(LOADED + "200"), habits.count(LOADED + "304")) == (1, 3)
        table.append(numbers(50))
        assert len(tables.load("db", "t").snapshots()) == 2
        assert habits.count(LOADED + "200") == 2
        mine = tables.open("db", "t")
        with mine.transaction() as change:
            change.set_properties(owner="b")
        assert tables.load("db", "t").properties["owner"] == "b"
        assert "owner" not in first.properties


def test_the_token_of_a_table_goes_with_its_own_requests_alone(lake: Any) -> None:
    lake.create("t", [numbers(0)])
    lake.create("u", [numbers(0)])
    habits = Habits(vend=lambda table: ({"token": f"of-{table.name()[-1]}"}, []))
    with over(lake, habits, **{"iceberg.rest.auth.oauth2.token": "of-catalog"}):
        tables = lake.connector.tables_of
        for name in ("t", "u", "t"):
            with tables.open("db", name).transaction() as change:
                change.set_properties(owner="b")
        tables.tables("db")
    sent = {(path, token) for path, token in habits.authorizations}
    assert {token for path, token in sent if not path.endswith(("/t", "/u"))} == {"Bearer of-catalog"}
    assert {token for path, token in sent if path.endswith("/t")} == {"Bearer of-catalog", "Bearer of-t"}
    assert {token for path, token in sent if path.endswith("/u")} == {"Bearer of-catalog", "Bearer of-u"}


def test_keys_are_never_asked_for_at_another_host(lake: Any) -> None:
    lake.create("t", [numbers(0)])
    elsewhere = Habits()
    key = {"s3.access-key-id": "k", "s3.secret-access-key": "s", "s3.session-token": "t"}
    ended = {"s3.session-token-expires-at-ms": "1000"}
    with serving(lake.other, elsewhere) as other:
        config = {"client.refresh-credentials-endpoint": f"{other}/v1/steal"} | key | ended
        habits = Habits(vend=lambda _table: (config, [{"prefix": "s3://", "config": key | ended}]))
        with over(lake, habits, **{"iceberg.rest.auth.oauth2.token": "of-catalog"}):
            table = lake.connector.tables_of.load("db", "t")
            assert table.io.keys.fresh()
    assert elsewhere.asked == []
    assert habits.count("/credentials") == 1


@pytest.mark.parametrize(("code", "tries"), [(429, 3), (503, 3)])
def test_a_busy_server_is_asked_again(lake: Any, code: int, tries: int) -> None:
    lake.create("t", [numbers(0)])
    habits = Habits(failures=[code] * tries)
    with over(lake, habits):
        lake.call("set_table_property", schema="db", table_name="t", key="owner", value="b")
    assert lake.table("t").properties["owner"] == "b"
    assert len(habits.keys) == tries + 1


@pytest.mark.parametrize("code", [500, 502, 504, LOST])
def test_a_commit_that_landed_behind_an_error_keeps_its_files(lake: Any, code: int) -> None:
    lake.create("t", [numbers(i * 50) for i in range(6)])
    before = lake.rows("t")
    habits = Habits(failures=[code], lands=True)
    with over(lake, habits):
        try:
            lake.rewrite("t")
        except CommitOutcomeUnknownError as error:
            assert "unknown outcome" in error.message
        lake.connector.recover()
    assert lake.rows("t") == before
    assert lake.orphans("t") == set()
    assert len(lake.table("t").inspect.data_files()) == 1


@pytest.mark.usefixtures("looked_for_soon")
@pytest.mark.parametrize("code", [500, 502, 504, LOST])
def test_a_commit_that_did_not_land_leaves_the_table_as_it_was(lake: Any, code: int) -> None:
    lake.create("t", [numbers(i * 50) for i in range(6)])
    before = lake.rows("t")
    with over(lake, Habits(failures=[code] * 9)), pytest.raises(ProcessionError):
        lake.rewrite("t")
    assert lake.rows("t") == before
    assert len(lake.table("t").inspect.data_files()) == 6
    with over(lake, Habits()):
        lake.connector.recover()
    assert lake.rows("t") == before
    assert lake.orphans("t") == set()


def test_a_refused_commit_is_a_conflict(lake: Any) -> None:
    lake.create("t", [numbers(0)])
    with over(lake, Habits(failures=[409] * 9)), pytest.raises(ProcessionError) as refused:
        lake.call("set_table_property", schema="db", table_name="t", key="owner", value="b")
    assert refused.value.code is ErrorCode.TRANSACTION_CONFLICT


def test_an_answer_that_got_lost_is_asked_for_by_its_key(lake: Any) -> None:
    table = lake.create("t", [numbers(0)])
    habits = Habits(failures=[504], lands=True, idempotency=True)
    with over(lake, habits):
        lake.call("set_table_property", schema="db", table_name="t", key="owner", value="b")
    assert table.refresh().properties["owner"] == "b"
    first, second = habits.keys
    assert first == second and first is not None and first[14] == "7"
    plain = Habits()
    with over(lake, plain):
        lake.call("set_table_property", schema="db", table_name="t", key="owner", value="c")
    assert plain.keys == [None]


def test_pages_prefix_separator_and_odd_names(lake: Any) -> None:
    lake.other.create_namespace(("db", "in"))
    names = [f"t{number}" for number in range(7)] + ["a b", "a/b", "ä%2F"]
    for name in names:
        lake.other.create_table(("db", name), schema=numbers(0).schema)
    lake.other.create_table(("db", "in", "deep"), schema=numbers(0).schema).append(numbers(0))
    with over(lake, Habits(page_size=3, prefix="some", separator="%2E")):
        connector = lake.connector
        assert connector.schemas() == ["db", "db.in"]
        assert connector.tables("db") == sorted(names)
        assert connector.tables("db.in") == ["deep"]
        for name in names:
            assert connector.table("db", name) is not None
        assert len(connector.tables_of.load("db.in", "deep").snapshots()) == 1


def test_a_login_that_ended_is_made_once_more(lake: Any) -> None:
    lake.create("t", [numbers(0)])
    issued: list[str] = []

    def token(form: dict[str, list[str]]) -> str:
        assert (form["client_id"], form["client_secret"], form["scope"]) == (["me"], ["se:cret"], ["all"])
        issued.append(f"token{len(issued)}")
        return issued[-1]

    habits = Habits(admits=lambda sent: bool(issued) and sent == f"Bearer {issued[-1]}", token=token)
    login = {"type": "OAUTH2", "oauth2.credential": "me:se:cret", "oauth2.scope": "all"}
    login["oauth2.uri"] = "ADDRESS/v1/oauth/tokens"
    with over(lake, habits, **{f"iceberg.rest.auth.{name}": value for name, value in login.items()}):
        tables = lake.connector.tables_of
        assert tables.tables("db") == ["t"]
        before = len(issued)
        table = tables.open("db", "t")
        issued.append("revoked")
        assert tables.load("db", "t") is not None
        issued.append("again")
        with table.transaction() as change:
            change.set_properties(owner="b")
        assert len(issued) == before + 4
    assert lake.table("t").properties["owner"] == "b"


def test_logins_by_password_and_by_signature(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.create("t", [numbers(0)])
    basic = Habits(admits=lambda sent: sent == "Basic bWU6c2VjcmV0")
    login = {"iceberg.rest.auth.type": "BASIC", "iceberg.rest.auth.basic.username": "me"}
    with over(lake, basic, **login, **{"iceberg.rest.auth.basic.password": "secret"}):
        assert lake.connector.tables("db") == ["t"]
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "signer")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "signed")
    begin, end = "AWS4-HMAC-SHA256 Credential=signer/", "/eu-west-1/s3tables/aws4_request,"
    signed = Habits(admits=lambda sent: sent is not None and sent.startswith(begin) and end in sent)
    login = {"iceberg.rest.auth.type": "SIGV4", "iceberg.rest.auth.sigv4.region": "eu-west-1"}
    with over(lake, signed, **login, **{"iceberg.rest.auth.sigv4.name": "s3tables"}):
        assert lake.connector.tables("db") == ["t"]
        lake.call("set_table_property", schema="db", table_name="t", key="owner", value="b")
    open_to_all = Habits()
    with over(lake, open_to_all):
        assert lake.connector.tables("db") == ["t"]
    assert {sent for _, sent in open_to_all.authorizations} == {None}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"type": "BASIC"}, "'iceberg.rest.auth.basic.username' is missing"),
        ({"type": "SIGV4"}, "'iceberg.rest.auth.sigv4.region' is missing"),
        ({"type": "KERBEROS"}, r"invalid value 'KERBEROS' .* \(one of NONE, OAUTH2, BASIC, SIGV4\)"),
        ({"type": "OAUTH2", "basic.username": "me"}, "'iceberg.rest.auth.basic.username' does not apply to"),
    ],
)
def test_what_a_login_lacks_is_told(lake: Any, given: dict[str, str], message: str) -> None:
    named = {f"iceberg.rest.auth.{name}": value for name, value in given.items()}
    with pytest.raises(ConfigurationError, match=message), over(lake, Habits(), **named):
        pass


def jwt(number: int, ends: float) -> str:
    def part(claims: dict[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part({'jti': number, 'exp': ends})}.x"


@pytest.mark.parametrize("client", [None, "me:se:cret"])
def test_a_token_that_ends_is_exchanged(lake: Any, client: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it ends; what the old one says of itself, and the answer of the new one, decide when."""
    lake.create("t", [numbers(0)])
    later = 0.0
    monkeypatch.setattr(rest_catalog, "ExchangedToken", partial(ExchangedToken, clock=lambda: time.time() + later))
    first = jwt(0, time.time() + 60)
    valid, forms = [first], []

    def token(form: dict[str, list[str]]) -> str:
        forms.append(form)
        valid.append(f"next{len(valid)}")
        return valid[-1]

    habits = Habits(admits=lambda sent: sent == f"Bearer {valid[-1]}", token=token)
    login = {"token": first, "scope": "all"} | ({} if client is None else {"credential": client})
    with over(lake, habits, **{f"iceberg.rest.auth.oauth2.{name}": value for name, value in login.items()}):
        assert lake.connector.tables("db") == ["t"]
        assert forms == []
        later = 57.0
        assert lake.connector.tables("db") == ["t"]
        assert lake.connector.tables("db") == ["t"]
    (form,) = forms
    assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:token-exchange"]
    assert (form["subject_token"], form["scope"]) == ([first], ["all"])
    assert form["subject_token_type"] == ["urn:ietf:params:oauth:token-type:access_token"]
    basic = base64.b64encode((client or "").encode()).decode()
    sent = [given for path, given in habits.authorizations if path.endswith("oauth/tokens")]
    assert set(sent) <= {f"Bearer {first}" if client is None else f"Basic {basic}"}


@pytest.mark.parametrize(
    ("token", "given"),
    [("plain", {}), (jwt(0, 0), {"token-exchange-enabled": "false"}), ("a.b.c", {}), ("a.bm8.c", {})],
)
def test_other_tokens_stay(lake: Any, token: str, given: dict[str, str]) -> None:
    lake.create("t", [numbers(0)])
    habits = Habits(admits=lambda sent: sent == f"Bearer {token}", token=lambda _: "another")
    login = {"token": token, **given}
    with over(lake, habits, **{f"iceberg.rest.auth.oauth2.{name}": value for name, value in login.items()}):
        assert lake.connector.tables("db") == ["t"]
    assert habits.count("oauth/tokens") == 0
