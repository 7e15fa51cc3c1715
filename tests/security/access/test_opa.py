"""access-control.name=opa against a server that speaks its protocol."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coordinator.security.access_control.load import load_access_control
from coordinator.security.access_control.off_loop import asked
from coordinator.security.access_control.opa import OpaAccessControl
from coordinator.security.access_control.opa_settings import OpaSettings
from shared.properties import ConfigurationError
from shared.spi.access_control import AccessDeniedError, Identity
from tests.security.access.conftest import Ruled
from tests.security.access.opa_server import Opa, opa_server

TINY = {"catalog": "tpch", "schema": "tiny"}


@pytest.fixture(scope="module")
def server() -> Iterator[Opa]:
    with opa_server() as running:
        yield running


@pytest.fixture
def opa(server: Opa) -> Opa:
    server.asked.clear()
    server.decide = lambda _path, _input: True
    return server


def control(opa: Opa, **settings: str) -> OpaAccessControl:
    given = {key.replace("_", "-"): value for key, value in settings.items()}
    uris = {f"opa.policy.{key}": f"{opa.url}/{value}" for key, value in given.items() if key.endswith("uri")}
    rest = {f"opa.http-client.{key}": value for key, value in given.items() if not key.endswith("uri")}
    return OpaAccessControl(OpaSettings.model_validate({"opa.policy.uri": f"{opa.url}/allow", **uris, **rest}))


def test_what_is_asked(ruled: Ruled, opa: Opa) -> None:
    ruled.control(control(opa), {"bob": ("analysts",)})
    assert ruled.refused("bob", "SELECT name FROM nation WHERE regionkey = 1", **TINY) == ""
    path, question = opa.asked[-1]
    assert path == "/allow"
    assert question["context"]["identity"] == {"user": "bob", "groups": ["analysts"]}
    table = {"catalogName": "tpch", "schemaName": "tiny", "tableName": "nation", "columns": ["name", "regionkey"]}
    assert question["action"] == {"operation": "SelectFromColumns", "resource": {"table": table}}
    assert opa.operations()[0] == "ExecuteQuery"


def test_what_is_not_allowed_is_refused(ruled: Ruled, opa: Opa) -> None:
    ruled.control(control(opa))
    for answer in (False, None, "true", 1.0 * 0, [], {}):
        opa.decide = lambda _path, asked, answer=answer: (
            answer if asked["action"]["operation"] == "InsertIntoTable" else True
        )
        problem = "Access Denied: Cannot insert into table lab.db.people"
        assert ruled.refused("bob", "INSERT INTO people SELECT * FROM others") == problem


@pytest.mark.parametrize("answer", [404, 500, 301, 5.0])
def test_no_answer_refuses(ruled: Ruled, opa: Opa, answer: Any) -> None:
    ruled.control(control(opa, request_timeout="200ms"))
    opa.decide = lambda _path, asked: answer if asked["action"]["operation"] == "SelectFromColumns" else True
    assert ruled.refused("bob", "SELECT * FROM people") == ("Access Denied: the authorization server cannot be asked")


def test_nobody_there(ruled: Ruled) -> None:
    ruled.control(OpaAccessControl(OpaSettings.model_validate({"opa.policy.uri": "http://127.0.0.1:9/allow"})))
    assert ruled.refused("bob", "SELECT 1") == "Access Denied: the authorization server cannot be asked"


@pytest.mark.parametrize("batched", [False, True])
def test_lists(ruled: Ruled, opa: Opa, batched: bool) -> None:
    def visible(resource: dict[str, Any]) -> bool:
        described = resource.get("table") or {}
        columns = described.get("columns")
        if columns is not None:
            return columns != ["salary"]
        return "tableName" not in described or described["tableName"] == "people"

    def decide(path: str, question: dict[str, Any]) -> Any:
        asked = question["action"]
        if path == "/allow":
            return visible(asked.get("resource", {})) if asked["operation"].startswith("Filter") else True
        [first, *_] = asked["filterResources"]
        if asked["operation"] == "FilterColumns":
            columns = first["table"]["columns"]
            return [number for number, name in enumerate(columns) if name != "salary"]
        return [number for number, each in enumerate(asked["filterResources"]) if visible(each)]

    opa.decide = decide
    ruled.control(control(opa, **({"batched_uri": "batch"} if batched else {})))
    assert ruled.rows("bob", "SHOW TABLES") == [("people",)]
    assert [row[0] for row in ruled.rows("bob", "DESCRIBE people")] == ["id", "name", "day"]
    assert {path for path, question in opa.asked if "Filter" in question["action"]["operation"]} == (
        {"/batch"} if batched else {"/allow"}
    )
    if batched:
        opa.decide = lambda path, _input: [7] if path == "/batch" else True
        assert "is not understood" in ruled.refused("bob", "SHOW TABLES")


@pytest.mark.slow
@pytest.mark.parametrize("batched", [False, True])
def test_filters_and_masks(ruled: Ruled, opa: Opa, batched: bool) -> None:
    mask = {"expression": "'x'", "identity": "alice"}

    def decide(path: str, question: dict[str, Any]) -> Any:
        asked = question["action"]
        if path == "/rows":
            nation = asked["resource"]["table"]["tableName"] == "nation"
            return [{"expression": "regionkey = 1"}, {"expression": "nationkey > 1"}] if nation else None
        if path == "/mask":
            return mask if asked["resource"]["column"]["columnName"] == "name" else None
        if path == "/masks":
            names = [each["column"]["columnName"] for each in asked["filterResources"]]
            return [{"index": names.index("name"), "viewExpression": mask}]
        return True

    opa.decide = decide
    masks = {"batch_column_masking_uri": "masks"} if batched else {"column_masking_uri": "mask"}
    ruled.control(control(opa, row_filters_uri="rows", **masks))
    found = ruled.rows("bob", "SELECT count(*), min(name), max(name) FROM nation", **TINY)
    assert found == [(4, "x", "x")]


def test_queries_and_users(opa: Opa) -> None:
    bob, alice = Identity("bob", groups=("g",)), Identity("alice")
    asked = control(opa)
    opa.decide = lambda _path, question: question["action"]["operation"] == "ExecuteQuery"
    asked.check_can_execute_query(bob)
    for check, problem in (
        (lambda: asked.check_can_view_query_owned_by(bob, alice), "Cannot view query"),
        (lambda: asked.check_can_kill_query_owned_by(bob, alice), "Cannot kill query"),
        (lambda: asked.check_can_impersonate_user(bob, "alice"), "User bob cannot impersonate user alice"),
        (lambda: asked.check_can_write_system_information(bob), "Cannot write system information"),
        (lambda: asked.check_can_read_system_information(bob), "Cannot read system information"),
        (lambda: asked.check_can_set_system_session_property(bob, "x"), "Cannot set system session property x"),
        (lambda: asked.check_can_set_catalog_session_property(bob, "c", "x"), "session property c.x"),
        (lambda: asked.check_can_access_catalog(bob, "c", changes=True), "Cannot access catalog c"),
    ):
        with pytest.raises(AccessDeniedError, match=problem):
            check()
    assert opa.asked[1][1]["action"]["resource"] == {"user": {"user": "alice", "groups": []}}


def test_settings(tmp_path: Path) -> None:
    file = tmp_path / "access-control.properties"
    base = "access-control.name=opa\nopa.policy.uri=http://localhost:8181/v1/data/allow\n"
    file.write_text(base)
    assert type(load_access_control(tmp_path, authenticated=False)) is OpaAccessControl
    for more, problem in (
        ("opa.policy.row-filters-uri=x\n", "opa.policy.row-filters-uri"),
        ("opa.unknown=1\n", "unknown property 'opa.unknown'"),
        ("opa.policy.column-masking-uri=http://x/\nopa.policy.batch-column-masking-uri=http://x/\n", "one of the two"),
    ):
        file.write_text(base + more)
        with pytest.raises(ConfigurationError, match=problem):
            load_access_control(tmp_path, authenticated=False)
    file.write_text("access-control.name=opa\n")
    with pytest.raises(ConfigurationError, match=r"'opa.policy.uri' is missing"):
        load_access_control(tmp_path, authenticated=False)


def test_the_query_and_the_types_of_columns(ruled: Ruled, opa: Opa) -> None:
    opa.decide = lambda path, _asked: None if path == "/mask" else True
    ruled.control(control(opa, column_masking_uri="mask"))
    assert ruled.refused("bob", "SELECT name FROM nation", query_id="20260101_000000_00001_aaaaa", **TINY) == ""
    masks = [question for path, question in opa.asked if path == "/mask"]
    columns = [question["action"]["resource"]["column"] for question in masks]
    assert {column["columnName"]: column["columnType"] for column in columns} == {
        "nationkey": "bigint",
        "name": "varchar(25)",
        "regionkey": "bigint",
        "comment": "varchar(152)",
    }
    assert {question["context"]["queryId"] for question in masks} == {"20260101_000000_00001_aaaaa"}


def test_roles_and_grants_are_a_setting(ruled: Ruled, opa: Opa) -> None:
    ruled.control(control(opa))
    before = len(opa.asked)
    assert ruled.refused("bob", "GRANT SELECT ON people TO USER eve").startswith("Access Denied: Cannot grant")
    assert ruled.refused("bob", "CREATE ROLE x") == "Access Denied: Cannot create role x"
    assert ruled.refused("bob", "SHOW ROLES") == "This connector does not support roles"
    settings = {"opa.policy.uri": f"{opa.url}/allow", "opa.allow-permission-management-operations": True}
    ruled.control(OpaAccessControl(OpaSettings.model_validate(settings)))
    assert ruled.refused("bob", "CREATE ROLE x") == "This connector does not support creating roles"
    operations = {question["action"]["operation"] for _, question in opa.asked[before:]}
    assert operations == {"ExecuteQuery", "FilterCatalogs"}


@pytest.mark.anyio
async def test_questions_leave_the_event_loop_free(opa: Opa) -> None:
    answered = threading.Event()
    opa.decide = lambda _path, _asked: not answered.wait(60)
    asking = asyncio.create_task(asked(control(opa), lambda: control(opa).check_can_execute_query(Identity("bob"))))
    for _ in range(20):
        await asyncio.sleep(0.01)
    assert not asking.done()
    answered.set()
    with pytest.raises(AccessDeniedError):
        await asking


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_who_is_to_own_is_asked(ruled: Ruled, opa: Opa) -> None:
    opa.decide = lambda _path, question: question["action"]["operation"] != "SetViewAuthorization"
    ruled.control(control(opa))
    denied = "Access Denied: Cannot set authorization for view lab.db.w to USER carol"
    assert ruled.refused("bob", "ALTER VIEW w SET AUTHORIZATION carol") == denied
    [asked] = [q["action"] for _, q in opa.asked if q["action"]["operation"] == "SetViewAuthorization"]
    assert asked["grantee"] == {"principalType": "USER", "name": "carol"}
    assert asked["resource"]["table"]["tableName"] == "w"
    # Of a view that runs as its owner it is asked, too, whether bob may be carol.
    opa.decide = lambda _path, question: question["action"]["operation"] != "ImpersonateUser"
    assert "the view would run as carol" in ruled.refused("bob", "ALTER VIEW v SET AUTHORIZATION carol")
    assert ruled.refused("bob", "ALTER VIEW v SET AUTHORIZATION bob") == ""
