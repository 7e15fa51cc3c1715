"""The function registry in Presto's shape, and constant folding."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from shared.plan.blocks import decode_constant
from sidecar.messages import ExpressionsRequest

Fold = Callable[..., tuple[Any, str]]


@pytest.fixture(scope="module")
def listed(velox: None) -> dict[str, list[dict[str, Any]]]:
    from sidecar.velox import registry

    made: dict[str, list[dict[str, Any]]] = json.loads(registry.functions())
    return made


def test_shape(listed: dict[str, list[dict[str, Any]]]) -> None:
    (mod,) = [m for m in listed["$operator$modulus"] if m["paramTypes"] == ["bigint", "bigint"]]
    assert mod == {
        "docString": "presto.default.$operator$modulus",
        "functionKind": "SCALAR",
        "outputType": "bigint",
        "paramTypes": ["bigint", "bigint"],
        "schema": "default",
        "variableArity": False,
        "routineCharacteristics": {
            "language": "CPP",
            "determinism": "DETERMINISTIC",
            "nullCallClause": "RETURNS_NULL_ON_NULL_INPUT",
        },
        "typeVariableConstraints": [],
        "longVariableConstraints": [],
        "isRpcFunction": False,
    }


def test_kinds(listed: dict[str, list[dict[str, Any]]]) -> None:
    (average,) = [m for m in listed["avg"] if m["paramTypes"] == ["double"]]
    assert average["functionKind"] == "AGGREGATE"
    assert average["aggregateMetadata"] == {"intermediateType": "row(double,bigint)", "isOrderSensitive": False}
    assert listed["row_number"][0]["functionKind"] == "WINDOW"
    (transform,) = listed["transform"]
    assert transform["paramTypes"] == ["array(t)", "function(t,u)"]
    assert [c["name"] for c in transform["typeVariableConstraints"]] == ["t", "u"]
    assert any(m["variableArity"] for m in listed["concat"])
    assert listed["rand"][0]["routineCharacteristics"]["determinism"] == "NOT_DETERMINISTIC"


def test_what_is_not_listed(listed: dict[str, list[dict[str, Any]]]) -> None:
    assert len(listed) > 300
    for name in ("row_constructor", "in", "is_null", "sum_partial", "avg_merge", "avg_extract_double", "plus"):
        assert name not in listed
    assert not any(name.startswith("$internal$") for name in listed)


def test_numbers_of_decimals(listed: dict[str, list[dict[str, Any]]]) -> None:
    """A coordinator computes the type of a result from these; numbers of arguments have none (FunctionMetadata.cpp)."""
    (add,) = [m for m in listed["$operator$add"] if m["outputType"].startswith("decimal")]
    assert add["paramTypes"] == ["decimal(i1,i5)", "decimal(i2,i6)"]
    assert add["longVariableConstraints"] == [
        {"name": "i3", "expression": "min(38, max(i1 - i5, i2 - i6) + max(i5, i6) + 1)"},
        {"name": "i7", "expression": "max(i5, i6)"},
    ]
    for name, signatures in listed.items():
        for made in signatures:
            constrained = {c["name"] for c in made["longVariableConstraints"]}
            used = set(re.findall(r"\bi\d\b|\ba_\w+", made["outputType"]))
            assert used <= constrained | set(re.findall(r"\w+", " ".join(made["paramTypes"]))), name
            assert all(c["expression"] for c in made["longVariableConstraints"])


def test_types_that_presto_knows(listed: dict[str, list[dict[str, Any]]]) -> None:
    text = json.dumps([[m["paramTypes"], m["outputType"]] for made in listed.values() for m in made])
    assert "hugeint" not in text
    assert text == text.lower()


def test_no_function_twice(listed: dict[str, list[dict[str, Any]]]) -> None:
    """Presto's NativeFunctionNamespaceManager refuses a second function of the same name and argument types."""
    for name, made in listed.items():
        arguments = [tuple(m["paramTypes"]) for m in made]
        assert len(arguments) == len(set(arguments)), name


@pytest.fixture(scope="module")
def fold(velox: None) -> Fold:
    from sidecar.velox import folding

    def run(e: Any, *, strict: bool = False) -> tuple[Any, str]:
        body = json.dumps({"expressions": [e], "sessionProperties": {}}).encode()
        reply = folding.answer(ExpressionsRequest(body=body, strict=strict))
        assert reply.ok
        (item,) = json.loads(reply.body)
        return item["optimizedExpression"], item["expressionFailureInfo"]["message"]

    return run


def test_folding(plans: SimpleNamespace, fold: Fold) -> None:
    cases = [
        (plans.op("add", "bigint", plans.const(1), plans.const(2)), 3),
        (plans.op("divide", "double", plans.const(1.0, "double"), plans.const(3.0, "double")), 1 / 3),
        (plans.call("upper", "varchar", plans.const('a} "ż', "varchar")), 'A} "Ż'),
        (plans.call("upper", "varchar", plans.const(None, "varchar")), None),
        (plans.call("upper", "varchar", plans.const("null", "varchar")), "NULL"),
        (plans.op("equal", "boolean", plans.const(1), plans.const(2)), False),
        (plans.op("cast", "date", plans.const("2020-02-29", "varchar")), date(2020, 2, 29)),
        (
            plans.op("cast", "timestamp", plans.const("1969-12-31 01:02:03.5", "varchar")),
            datetime(1969, 12, 31, 1, 2, 3, 500000),
        ),
        (plans.op("cast", "decimal(10,2)", plans.const("-1.25", "varchar")), Decimal("-1.25")),
        (plans.op("cast", "decimal(38,4)", plans.const("-1.25", "varchar")), Decimal("-1.2500")),
        (plans.call("cardinality", "bigint", plans.const((1, 2), "array(bigint)")), 2),
        (plans.call("to_utf8", "varbinary", plans.const("é", "varchar")), "é".encode()),
    ]
    for e, expected in cases:
        folded, message = fold(e)
        assert message == ""
        assert folded["@type"] == "constant", e
        assert folded["type"] == e["returnType"]
        assert decode_constant(folded["valueBlock"], folded["type"]) == expected


def test_only_constant_parts_are_folded(plans: SimpleNamespace, fold: Fold) -> None:
    three = plans.op("add", "bigint", plans.const(1), plans.const(2))
    folded, _ = fold(plans.op("add", "bigint", plans.var("a"), three))
    assert folded["arguments"][0] == plans.var("a")
    assert folded["arguments"][1]["@type"] == "constant"
    varying = plans.call("rand", "double")
    assert fold(varying)[0]["@type"] == "call"


def test_failing_parts(plans: SimpleNamespace, fold: Fold) -> None:
    failing = plans.op("divide", "bigint", plans.const(1), plans.const(0))
    assert fold(failing) == (failing, "")
    unchanged, message = fold(failing, strict=True)
    assert unchanged == failing
    assert "division by zero" in message


def test_logic(plans: SimpleNamespace, fold: Fold) -> None:
    p, true, false = plans.var("p", "boolean"), plans.const(True, "boolean"), plans.const(False, "boolean")
    assert fold(plans.special("AND", "boolean", p, true))[0] == p
    assert fold(plans.special("AND", "boolean", p, false))[0] == false
    assert fold(plans.special("OR", "boolean", p, true))[0] == true
    assert fold(plans.special("IF", "bigint", false, plans.var("a"), plans.var("b")))[0] == plans.var("b")
    null = plans.const(None)
    assert fold(plans.special("COALESCE", "bigint", null, plans.var("a")))[0] == plans.var("a")


def test_expressions_alone(plans: SimpleNamespace, velox: None) -> None:
    """The body of older coordinators: a list, and no session properties."""
    from sidecar.velox import folding

    body = json.dumps([plans.op("add", "bigint", plans.const(1), plans.const(2)), plans.const(5)]).encode()
    first, second = json.loads(folding.answer(ExpressionsRequest(body=body, strict=False)).body)
    assert decode_constant(first["optimizedExpression"]["valueBlock"], "bigint") == 3
    assert decode_constant(second["optimizedExpression"]["valueBlock"], "bigint") == 5


def test_malformed_request(velox: None) -> None:
    from sidecar.velox import folding

    reply = folding.answer(ExpressionsRequest(body=b'{"expressions": 1}', strict=False))
    assert not reply.ok
    assert json.loads(reply.body)["failures"][0]["message"].startswith("Malformed expressions")
