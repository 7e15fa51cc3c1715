"""Which fragments share a verdict: those that differ in what cannot matter, and no others."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from coordinator.checks.circuit_breaker import BreakerState, CircuitBreaker
from coordinator.checks.fragment_keys import FragmentKeys, fresh_key
from coordinator.checks.verdict_cache import VerdictCache
from shared.plan.blocks import encode_constant
from shared.plan.expressions import (
    Call,
    Constant,
    RowExpression,
    Signature,
    SpecialForm,
    StaticFunctionHandle,
    Variable,
)
from shared.plan.fragment import SimplePlanFragment, encode_fragment
from shared.plan.nodes import FilterNode, ValuesNode

X = Variable(name="x", type="bigint")
S = Variable(name="s", type="varchar")
MakeFragment = Callable[..., SimplePlanFragment]


KEYS = FragmentKeys()


def of(fragment: SimplePlanFragment) -> bytes:
    """The key, whether its outline is remembered or not."""
    encoded = encode_fragment(fragment)
    fresh, first, second = fresh_key(fragment), KEYS.key(encoded), KEYS.known_key(encoded)
    assert fresh == first == second
    return first.key


def literal(value: Any, type_text: str = "bigint") -> Constant:
    return Constant(valueBlock=encode_constant(value, type_text), type=type_text)


def call(name: str, *arguments: RowExpression) -> Call:
    signature = Signature(name=f"presto.default.{name}", kind="SCALAR", returnType="boolean")
    handle = StaticFunctionHandle(signature=signature)
    return Call(displayName=name, functionHandle=handle, returnType="boolean", arguments=arguments)


def key(make: MakeFragment, predicate: RowExpression) -> bytes:
    values = ValuesNode(id="0", outputVariables=(X, S), rows=())
    return of(make(FilterNode(id="1", source=values, predicate=predicate)))


def replaced(body: Any, change: Callable[[dict[str, Any]], None]) -> Any:
    copied = json.loads(json.dumps(body))
    pending = [copied]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            change(value)
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
    return copied


def test_ids_locations_transactions_and_snapshots_do_not_count(captured: list[dict[str, Any]]) -> None:
    def disguise(value: dict[str, Any]) -> None:
        value.pop("sourceLocation", None)
        if "@type" in value and isinstance(value.get("id"), str):
            value["id"] += "00"
        if "transaction" in value:
            value["transaction"] = {"@type": "tpch", "uuid": "another"}
        if "snapshotId" in value:
            value["snapshotId"] = 42
        if "sourceFragmentIds" in value:
            value["sourceFragmentIds"] = [i + "0" for i in value["sourceFragmentIds"]]
        if value.get("tableScanSchedulingOrder"):
            value["tableScanSchedulingOrder"] = [i + "00" for i in value["tableScanSchedulingOrder"]]

    for entry in captured[::10]:
        other = msgspec.convert(replaced(entry["body"], disguise), SimplePlanFragment)
        assert of(other) == of(entry["fragment"])


def test_captured_fragments_of_different_statements_differ(captured: list[dict[str, Any]]) -> None:
    """Equal keys mean equal plans: everything but ids, places, transactions and literals is the same text."""

    def strip(value: dict[str, Any]) -> None:
        for name in ("sourceLocation", "transaction", "valueBlock", "tableScanSchedulingOrder", "snapshotId"):
            value.pop(name, None)
        if isinstance(value.get("id"), str):
            value.pop("id")
        if "sourceFragmentIds" in value:
            value["sourceFragmentIds"] = len(value["sourceFragmentIds"])

    by_key: dict[bytes, str] = {}
    shared_keys = 0
    for entry in captured:
        text = json.dumps(replaced(entry["body"], strip), sort_keys=True)
        first = by_key.setdefault(of(entry["fragment"]), text)
        shared_keys += first is not text
        assert first == text
    assert shared_keys > 100


def test_compared_literals_count_by_type_only(make_fragment: MakeFragment) -> None:
    equal = "$operator$equal"
    assert key(make_fragment, call(equal, X, literal(1))) == key(make_fragment, call(equal, X, literal(2)))
    assert key(make_fragment, call(equal, X, literal(1))) != key(make_fragment, call(equal, X, literal(1, "integer")))
    assert key(make_fragment, call(equal, X, literal(1))) != key(make_fragment, call(equal, X, literal(None)))
    assert key(make_fragment, call(equal, X, literal(1))) != key(
        make_fragment, call("$operator$less_than", X, literal(1))
    )


def test_literals_count_by_equality(make_fragment: MakeFragment) -> None:
    def within(*values: int) -> SpecialForm:
        return SpecialForm(form="IN", returnType="boolean", arguments=(X, *(literal(v) for v in values)))

    assert key(make_fragment, within(1, 2, 3)) == key(make_fragment, within(7, 8, 9))
    assert key(make_fragment, within(1, 2, 1)) != key(make_fragment, within(7, 8, 9))
    assert key(make_fragment, within(1, 2)) != key(make_fragment, within(1, 2, 3))


def test_literals_in_a_handles_expression_count_by_equality(captured: list[dict[str, Any]]) -> None:
    """Such as the files are told by that a procedure rewrites, which is a part of its handle."""
    body = next(e["body"] for e in captured if e["fragment"].root.__class__.__name__ == "TableScanNode")

    def keyed(name: str, value: Any) -> bytes:
        def add(part: dict[str, Any]) -> None:
            if "connectorHandle" in part and "connectorId" in part:
                predicate = json.loads(msgspec.json.encode(call(name, X, literal(value))))
                part["connectorHandle"] = {**part["connectorHandle"], "fileSelectionPredicate": predicate}

        return of(msgspec.convert(replaced(body, add), SimplePlanFragment))

    equal = "$operator$equal"
    assert keyed(equal, 1) == keyed(equal, 2) != keyed("$operator$less_than", 1)
    assert keyed(equal, 1) != keyed(equal, None)
    assert keyed("like", 1) != keyed("like", 2)


def test_literals_that_a_function_reads_stay(make_fragment: MakeFragment) -> None:
    for name in ("like", "regexp_like", "$operator$cast", "$operator$divide"):
        one, two = (call(name, S, literal(text, "varchar")) for text in ("a%", "(b"))
        assert key(make_fragment, one) != key(make_fragment, two)
    folded = [call("$operator$add", literal(1), literal(n)) for n in (2, 2**63 - 1)]
    assert key(make_fragment, folded[0]) != key(make_fragment, folded[1])


def test_cache_is_bounded_in_number_and_age() -> None:
    now = [0.0]
    cache = VerdictCache(2, 10, now=lambda: now[0])
    for name in (b"a", b"b"):
        cache.accept(name)
    assert cache.is_accepted(b"a")
    cache.accept(b"c")
    assert [cache.is_accepted(name) for name in (b"a", b"b", b"c")] == [True, False, True]
    now[0] = 11
    assert not cache.is_accepted(b"a")
    assert len(cache) == 1
    nothing = VerdictCache(0, 10)
    nothing.accept(b"a")
    assert not nothing.is_accepted(b"a")


def test_breaker_states() -> None:
    now = [0.0]
    states: list[BreakerState] = []
    breaker = CircuitBreaker(2, 5, now=lambda: now[0], on_state=states.append)
    breaker.failed()
    breaker.succeeded()
    breaker.failed()
    assert breaker.allow()
    breaker.failed()
    assert not breaker.allow()
    now[0] = 5
    assert breaker.allow()
    assert not breaker.allow(), "one trial at a time"
    breaker.failed()
    assert not breaker.allow()
    now[0] = 10
    assert breaker.allow()
    now[0] = 15
    assert breaker.allow(), "a trial that never reported back"
    breaker.succeeded()
    assert states == [
        BreakerState.OPEN,
        BreakerState.HALF_OPEN,
        BreakerState.OPEN,
        BreakerState.HALF_OPEN,
        BreakerState.CLOSED,
    ]
