"""Builders of Presto fragments as wire JSON, and Velox booted in this process."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shared.plan.blocks import encode_constant

ENGINE = "com.facebook.presto.sql.planner.plan."
FRAGMENTS = Path(__file__).parents[1] / "data" / "presto_fragments" / "fragments.jsonl.gz"
Json = dict[str, Any]


def var(name: str, type_text: str = "bigint") -> Json:
    return {"@type": "variable", "name": name, "type": type_text}


def const(value: Any, type_text: str = "bigint") -> Json:
    return {"@type": "constant", "valueBlock": encode_constant(value, type_text), "type": type_text}


def call(name: str, returns: str, *arguments: Json, kind: str = "SCALAR") -> Json:
    signature = {
        "name": f"presto.default.{name}",
        "kind": kind,
        "typeVariableConstraints": [],
        "longVariableConstraints": [],
        "returnType": returns,
        "argumentTypes": [type_of(a) for a in arguments],
        "variableArity": False,
    }
    handle = {"@type": "$static", "signature": signature, "builtInFunctionKind": "ENGINE"}
    return {
        "@type": "call",
        "displayName": name,
        "functionHandle": handle,
        "returnType": returns,
        "arguments": list(arguments),
    }


def op(name: str, returns: str, *arguments: Json) -> Json:
    return call(f"$operator${name}", returns, *arguments)


def special(form: str, returns: str, *arguments: Json) -> Json:
    return {"@type": "special", "form": form, "returnType": returns, "arguments": list(arguments)}


def lam(arguments: dict[str, str], body: Json) -> Json:
    return {"@type": "lambda", "argumentTypes": list(arguments.values()), "arguments": list(arguments), "body": body}


def type_of(e: Json) -> str:
    if e["@type"] == "lambda":
        return f"function({','.join([*e['argumentTypes'], type_of(e['body'])])})"
    found: str = e.get("returnType") or e["type"]
    return found


def key(v: Json) -> str:
    return f"{v['name']}<{v['type']}>"


def scan(*columns: Json, node_id: str = "0", layout: Json | None = None) -> Json:
    handle = {"@type": "hive", "schemaName": "s", "tableName": "t"}
    assignments = {
        key(c): {"@type": "hive", "name": c["name"], "columnType": "REGULAR", "requiredSubfields": []} for c in columns
    }
    table: Json = {"connectorId": "hive", "connectorHandle": handle, "transaction": {"@type": "hive", "uuid": "u"}}
    if layout is not None:
        table["connectorTableLayout"] = {"@type": "hive", **layout}
    return {
        "@type": ".TableScanNode",
        "id": node_id,
        "table": table,
        "outputVariables": list(columns),
        "assignments": assignments,
    }


def node(tag: str, node_id: str, source: Json | None = None, **fields: Any) -> Json:
    made: Json = {"@type": tag, "id": node_id, **fields}
    if source is not None:
        made["source"] = source
    return made


def filter_(source: Json, predicate: Json, node_id: str = "1") -> Json:
    return node(".FilterNode", node_id, source, predicate=predicate)


def project(source: Json, node_id: str = "1", **columns: Json) -> Json:
    assignments = {f"{n}<{type_of(e)}>": e for n, e in columns.items()}
    return node(".ProjectNode", node_id, source, assignments={"assignments": assignments}, locality="LOCAL")


def ordering(*variables: Json, order: str = "ASC_NULLS_LAST") -> Json:
    return {"orderBy": [{"variable": v, "sortOrder": order} for v in variables]}


def handle(partitioning: str, function: str) -> Json:
    return {"connectorHandle": {"@type": "$remote", "partitioning": partitioning, "function": function}}


def scheme(partitioning: Json, layout: list[Json], *arguments: Json, **fields: Any) -> Json:
    return {
        "partitioning": {"handle": partitioning, "arguments": list(arguments)},
        "outputLayout": layout,
        "replicateNullsAndAny": False,
        "scaleWriters": False,
        "encoding": "COLUMNAR",
        **fields,
    }


def fragment(root: Json, outputs: list[Json] | None = None, partitioning_scheme: Json | None = None) -> bytes:
    layout = outputs or []
    body = {
        "id": "1",
        "root": root,
        "variables": layout,
        "partitioning": handle("SOURCE", "UNKNOWN"),
        "tableScanSchedulingOrder": [],
        "partitioningScheme": partitioning_scheme or scheme(handle("SINGLE", "SINGLE"), layout),
        "stageExecutionDescriptor": {
            "stageExecutionStrategy": "UNGROUPED_EXECUTION",
            "groupedExecutionScanNodes": [],
            "totalLifespans": 1,
        },
        "outputTableWriterFragment": False,
    }
    return json.dumps(body).encode()


def local_exchange(
    kind: str, partitioning: Json, layout: list[Json], *sources: tuple[Json, list[Json]], **fields: Any
) -> Json:
    arguments = fields.pop("arguments", ())
    return node(
        ENGINE + "ExchangeNode",
        "9",
        type=kind,
        scope=fields.pop("scope", "LOCAL"),
        partitioningScheme=scheme(partitioning, layout, *arguments),
        sources=[s for s, _ in sources],
        inputs=[i for _, i in sources],
        ensureSourceOrdering=False,
        **fields,
    )


@pytest.fixture(scope="session")
def plans() -> SimpleNamespace:
    """The builders of this module."""
    return SimpleNamespace(**{name: value for name, value in globals().items() if not name.startswith("_")})


@pytest.fixture(scope="session")
def captured() -> list[Json]:
    """The captured fragments; ``body`` as bytes."""
    with gzip.open(FRAGMENTS, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    for row in rows:
        body = row["body"] if isinstance(row["body"], str) else json.dumps(row["body"])
        row["body"] = body.encode()
    return rows


@pytest.fixture(scope="session")
def velox() -> None:
    """Velox in this process, as in a converter process."""
    from sidecar.velox import runtime

    runtime.boot()


@pytest.fixture(scope="session")
def convert(velox: None) -> Callable[..., str]:
    """Fragment bytes to the answer's text; raises AssertionError with the refusal."""
    from sidecar.messages import Format, PlanRequest
    from sidecar.velox import service

    def run(body: bytes, form: Format = Format.TEXT, *, check: bool = True) -> str:
        reply = service.answer(PlanRequest(body=body, format=form, compile_check=check))
        assert reply.ok, reply.body.decode()
        return reply.body.decode()

    return run


@pytest.fixture(scope="session")
def refuse(velox: None) -> Callable[..., Json]:
    """Fragment bytes to the failure."""
    from sidecar.messages import Format, PlanRequest
    from sidecar.velox import service

    def run(body: bytes, *, check: bool = True) -> Json:
        reply = service.answer(PlanRequest(body=body, format=Format.TEXT, compile_check=check))
        assert not reply.ok, reply.body.decode()
        failure: Json = json.loads(reply.body)["failures"][0]
        assert {"type", "message", "suppressed", "stack", "errorCode"} <= failure.keys()
        assert failure["stack"] == [] and failure["suppressed"] == []
        return failure

    return run
