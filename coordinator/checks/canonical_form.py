"""The key under which verdicts are remembered: a fragment without what cannot change its verdict.

Left out: ids of nodes and fragments, source locations, transactions, snapshot ids. Values of non-null literals count
only by equality where nothing but their type can matter: compared or added to something that is not a literal, in IN
lists, and as bounds of a scan's domains. Everything else, such as a LIKE pattern, stays as it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, get_args, get_type_hints

import msgspec

from shared.plan.blocks import decode_physical
from shared.plan.expressions import Call, Constant, RowExpression, SpecialForm, Variable
from shared.plan.fragment import SimplePlanFragment
from shared.plan.nodes import PlanNode, RemoteSourceNode, TableScanNode

_DROPPED = frozenset(
    {
        "sourceLocation",
        "transaction",
        "transactionHandle",
        "snapshotId",
        "tableScanSchedulingOrder",
        "groupedExecutionScanNodes",
    }
)
_PLAIN = frozenset({"columnIdentity", "dataColumns", "partitionColumns", "predicateColumns", "storageProperties"})
"""Parts of handles with nothing in them that could be left out: most of a fragment's JSON, kept as it is."""
_PREFIX = "presto.default.$operator$"
_TYPE_ONLY = frozenset(
    _PREFIX + name
    for name in (
        "equal",
        "not_equal",
        "less_than",
        "less_than_or_equal",
        "greater_than",
        "greater_than_or_equal",
        "between",
        "is_distinct_from",
        "add",
        "subtract",
        "multiply",
    )
)


def canonical_key(fragment: SimplePlanFragment) -> bytes:
    """16 bytes, equal for fragments that a converter must answer alike."""
    form = _Canonical().form(fragment)
    return hashlib.blake2b(msgspec.json.encode(form, order="deterministic"), digest_size=16).digest()


class _Canonical:
    """One pass over a fragment; numbers the literals that count only by equality.

    Structs become the values of their fields by position, which say as much as their JSON and take half of the time.
    """

    def __init__(self) -> None:
        self._literals: dict[tuple[str, str], int] = {}

    def form(self, value: Any) -> Any:
        make = _FORMS.get(type(value))
        return value if make is None else make(self, value)

    def variable(self, value: Variable) -> tuple[str, str]:
        return value.name, value.type

    def constant(self, value: Constant) -> tuple[str, str, str]:
        return "constant", value.type, value.valueBlock

    def many(self, values: Sequence[object]) -> list[object]:
        # Said once more than needed: the call of ``form`` for each took a third of the time.
        return [value if (make := _FORMS.get(type(value))) is None else make(self, value) for value in values]

    def absent(self, _: msgspec.UnsetType) -> None:
        return None

    def call(self, value: Call | SpecialForm) -> tuple[object, ...]:
        arguments = value.arguments
        if _only_types_matter(value) and not all(isinstance(argument, Constant) for argument in arguments):
            formed: list[object] = [self._argument(argument) for argument in arguments]
        else:
            formed = self.many(arguments)
        if isinstance(value, Call):
            return "call", value.displayName, value.functionHandle, value.returnType, formed
        return "special", value.form, value.returnType, formed

    def _argument(self, argument: RowExpression) -> object:
        if not isinstance(argument, Constant) or _is_null(argument.valueBlock, argument.type):
            return self.form(argument)
        return "constant", argument.type, self._number(argument.type, argument.valueBlock)

    def scan(self, value: TableScanNode) -> tuple[object, ...]:
        return ".TableScanNode", self.form(value.table), self.many(value.outputVariables), value.assignments

    def remote(self, value: RemoteSourceNode) -> tuple[object, ...]:
        return *self.struct(value), len(value.sourceFragmentIds)

    def struct(self, value: msgspec.Struct) -> list[object]:
        return self.many(_FIELDS[type(value)](value))

    def json(self, value: dict[str, Any]) -> dict[str, object]:
        """A part of a handle, or a mapping from variables."""
        if value.get("@type") in ("call", "special"):
            return self._json_call(value)
        if "bound" in value and "valueBlock" in value:
            return {**value, "valueBlock": self._number(value["type"], value["valueBlock"])}
        return {
            key: inner if type(inner) is str or key in _PLAIN else self.form(inner)
            for key, inner in value.items()
            if key not in _DROPPED
        }

    def _json_call(self, value: dict[str, Any]) -> dict[str, object]:
        """An expression in a handle, as the files are told that a procedure rewrites."""
        kept = {key: inner for key, inner in value.items() if key != "sourceLocation"}
        handle, arguments = value.get("functionHandle") or {}, value["arguments"]
        name = (handle.get("signature") or {}).get("name")
        literals = [argument.get("@type") == "constant" for argument in arguments]
        only_types = value.get("form") == "IN" or name in _TYPE_ONLY
        kept["arguments"] = [
            {**argument, "valueBlock": self._number(argument["type"], argument["valueBlock"])}
            if literal and only_types and not all(literals) and not _is_null(argument["valueBlock"], argument["type"])
            else self.form(argument)
            for argument, literal in zip(arguments, literals, strict=True)
        ]
        return kept

    def _number(self, type_text: str, block: str) -> int:
        return self._literals.setdefault((type_text, block), len(self._literals))


def _parts(of: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    """The Structs that those below are made of, and they themselves."""
    found: dict[type[msgspec.Struct], None] = {}
    waiting: list[object] = [of]
    while waiting:
        each = waiting.pop()
        if isinstance(each, type) and issubclass(each, msgspec.Struct):
            if each not in found:
                found[each] = None
                waiting += get_type_hints(each).values()
        else:
            waiting += get_args(each)
    return iter(found)


def _fields(struct: type[msgspec.Struct]) -> Callable[[Any], tuple[object, ...]]:
    """Reads the tag of one of them, where it has any, and the fields that count."""
    left_out = {*_DROPPED, "sourceFragmentIds"}
    if struct is SimplePlanFragment or struct in get_args(PlanNode):
        left_out.add("id")
    names = tuple(name for name in struct.__struct_fields__ if name not in left_out)
    return attrgetter("__struct_config__.tag", *names)


_FIELDS = {struct: _fields(struct) for struct in _parts(SimplePlanFragment)}
_FORMS: Mapping[type, Callable[[_Canonical, Any], object]] = {
    **dict.fromkeys(_FIELDS, _Canonical.struct),
    Variable: _Canonical.variable,
    Constant: _Canonical.constant,
    Call: _Canonical.call,
    SpecialForm: _Canonical.call,
    TableScanNode: _Canonical.scan,
    RemoteSourceNode: _Canonical.remote,
    tuple: _Canonical.many,
    list: _Canonical.many,
    dict: _Canonical.json,
    msgspec.UnsetType: _Canonical.absent,
}


def _only_types_matter(value: Call | SpecialForm) -> bool:
    if isinstance(value, SpecialForm):
        return value.form == "IN"
    signature = getattr(value.functionHandle, "signature", None)
    return signature is not None and signature.name in _TYPE_ONLY


def _is_null(block: str, type_text: str) -> bool:
    try:
        return decode_physical(block, type_text) is None
    except ValueError:
        return True  # a damaged block stays in the key as it is
