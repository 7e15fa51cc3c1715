"""Temporary functions in headers, as Presto's clients keep them."""

from __future__ import annotations

import json
from dataclasses import replace
from urllib.parse import unquote_plus

import pytest

from coordinator.server.results import session_headers
from coordinator.vocabulary.planned_statement import SessionChange
from shared.protocol.headers import url_encode
from shared.spi.session_function import FunctionParameter, SessionFunction
from tests.protocol.conftest import done

ADD = SessionFunction(
    "add",
    (FunctionParameter("x", "integer"), FunctionParameter("y", "integer")),
    "integer",
    "RETURN x + y",
    comment="add",
    deterministic=True,
    null_on_null=True,
)
PRESTOS = {
    "parameters": [{"name": "x", "type": "integer"}, {"name": "y", "type": "integer"}],
    "description": "add",
    "routineCharacteristics": {
        "language": "SQL",
        "determinism": "DETERMINISTIC",
        "nullCallClause": "RETURNS_NULL_ON_NULL_INPUT",
    },
    "body": "RETURN x + y",
    "signature": {
        "name": "presto.session.add",
        "kind": "SCALAR",
        "typeVariableConstraints": [],
        "longVariableConstraints": [],
        "returnType": "integer",
        "argumentTypes": ["integer", "integer"],
        "variableArity": False,
    },
    "functionId": "presto.session.add;integer;integer",
}
"""As Jackson writes the function of Presto's TestHttpRequestSessionContext."""


def pair(function: object = PRESTOS, function_id: str = "presto.session.add;integer;integer") -> str:
    return f"{url_encode(json.dumps(function_id))}={url_encode(json.dumps(function))}"


def test_what_a_client_sends_reaches_the_planner(server):
    other = json.loads(json.dumps(PRESTOS).replace("integer", "double"))
    value = f"{pair()},{pair(other, 'presto.session.add;double;double')}, {pair()}"
    pages = server.pages("SELECT 1", {"X-Presto-User": "u", "X-Presto-Session-Function": value})
    assert "error" not in pages[-1].json()
    info = server.client.get(f"/v1/query/{pages[-1].json()['id']}").json()
    assert info["session"]["sessionFunctions"][ADD.id] == PRESTOS
    of_doubles = tuple(replace(each, type="double") for each in ADD.parameters)
    assert server.planner.sessions[-1].functions == (ADD, replace(ADD, parameters=of_doubles, result="double"))


def test_what_a_statement_adds_and_removes_is_told(server):
    server.planner.answers["ADD"] = lambda: done("CREATE FUNCTION", added_functions=(ADD,))
    server.planner.answers["REMOVE"] = lambda: done("DROP FUNCTION", removed_functions=(ADD.id,))
    key, _, value = server.pages("ADD")[-1].headers["X-Presto-Added-Session-Functions"].partition("=")
    assert (json.loads(unquote_plus(key)), json.loads(unquote_plus(value))) == (ADD.id, PRESTOS)
    assert list(json.loads(unquote_plus(value))) == list(PRESTOS)
    removed = server.pages("REMOVE")[-1].headers["X-Presto-Removed-Session-Function"]
    assert json.loads(unquote_plus(removed)) == ADD.id
    assert session_headers(SessionChange(), "Presto") == []


@pytest.mark.parametrize(
    "value",
    [
        "nonsense",
        "a=b",
        pair({}),
        pair(PRESTOS, "presto.session.add;integer"),
        pair(PRESTOS | {"functionId": "presto.session.sub;integer;integer"}),
        pair(
            json.loads(json.dumps(PRESTOS).replace("presto.session", "presto.default")),
            "presto.default.add;integer;integer",
        ),
        pair(json.loads(json.dumps(PRESTOS).replace("SQL", "JAVA"))),
        pair(json.loads(json.dumps(PRESTOS).replace('"y"', '"X"'))),
        pair(json.loads(json.dumps(PRESTOS).replace("SCALAR", "AGGREGATE"))),
        ",".join(
            pair(json.loads(json.dumps(PRESTOS).replace(".add", f".a{n}")), f"presto.session.a{n};integer;integer")
            for n in range(101)
        ),
    ],
)
def test_anything_else_is_a_wrong_request(server, value):
    response = server.post("SELECT 1", {"X-Presto-User": "u", "X-Presto-Session-Function": value})
    assert response.status_code in (400, 431), response.text
    assert response.status_code == 431 or response.text.startswith("Invalid X-Presto-Session-Function header")
