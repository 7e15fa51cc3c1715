"""The form under which verdicts are remembered: a fragment without what cannot change its verdict.

Left out: ids of nodes and fragments, source locations, transactions, snapshot ids. Values of non-null literals count
only by equality where nothing but their type can matter: compared or added to something that is not a literal, in IN
lists, and as bounds of a scan's domains. Everything else, such as a LIKE pattern, stays as it is.

The form is made once for all fragments that differ in literals alone, so literals are not in it: it says where they
are, and how each counts (``fragment_keys`` puts them in).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, get_args, get_type_hints

import msgspec

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


Counts = Literal["as it is", "by equality", "by equality unless null"]
_STRAY = re.compile(rb'"#(\d{1,8})"')


@dataclass(frozen=True, slots=True)
class Place:
    """A literal of a form: which of the fragment's it is, its type's text where that counts, and what of it counts."""

    position: int
    type: str
    counts: Counts


@dataclass(frozen=True, slots=True)
class CanonicalForm:
    """``digest`` is equal for fragments that a converter must answer alike, whatever their literals at ``places``."""

    digest: bytes
    places: tuple[Place, ...]


def marker(position: int) -> str:
    """What stands for the value of a literal while a form is made: no text of a block, which is base64."""
    return f"#{position}"


def canonical_form(fragment: SimplePlanFragment, literals: int) -> CanonicalForm:
    """The form of a fragment whose ``literals`` first literals are markers; any others stay as they are."""
    making = _Canonical({marker(position): position for position in range(literals)})
    form = msgspec.json.encode(making.form(fragment), order="deterministic")
    # What is kept as it is may hold a marker as well, or a text that looks like one, which costs nothing but room.
    stray = sorted({int(found) for found in _STRAY.findall(form)})
    places = (*making.places, *(Place(position, "", "as it is") for position in stray if position < literals))
    places_text = msgspec.json.encode([(place.type, place.counts) for place in places])
    return CanonicalForm(hashlib.sha256(places_text + form).digest(), places)


class _Canonical:
    """One pass over a fragment; numbers its literals in the order in which the form has them.

    Structs become the values of their fields by position, which say as much as their JSON and take half of the time.
    """

    def __init__(self, markers: Mapping[str, int]) -> None:
        self._markers = markers
        self.places: list[Place] = []

    def form(self, value: Any) -> Any:
        make = _FORMS.get(type(value))
        return value if make is None else make(self, value)

    def variable(self, value: Variable) -> tuple[str, str]:
        return value.name, value.type

    def constant(self, value: Constant) -> tuple[object, ...]:
        return "constant", value.type, self._place(value.valueBlock, value.type, "as it is")

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
        if not isinstance(argument, Constant):
            return self.form(argument)
        return "constant", argument.type, self._place(argument.valueBlock, argument.type, "by equality unless null")

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
            return {**value, "valueBlock": self._place(value["valueBlock"], value["type"], "by equality")}
        return {
            key: self._text(key, inner) if type(inner) is str or key in _PLAIN else self.form(inner)
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
            {**argument, "valueBlock": self._place(argument["valueBlock"], argument["type"], "by equality unless null")}
            if literal and only_types and not all(literals)
            else self.form(argument)
            for argument, literal in zip(arguments, literals, strict=True)
        ]
        return kept

    def _text(self, key: str, value: object) -> object:
        return self._place(value, "", "as it is") if key == "valueBlock" else value

    def _place(self, block: object, type_text: str, counts: Counts) -> object:
        """The next literal's number, by which forms are alike whatever was left out before it."""
        position = self._markers.get(block) if isinstance(block, str) else None
        if position is None:
            return block
        self.places.append(Place(position, type_text, counts))
        return len(self.places)


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
