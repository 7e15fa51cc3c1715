"""A filter over a table's columns, decided for whole files by partition values and column statistics.

Only what surely excludes a file does so: a conjunct that we cannot read selects every file.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pyiceberg.expressions import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    BooleanExpression,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNull,
    LessThan,
    LessThanOrEqual,
    NotEqualTo,
    NotIn,
    NotNull,
    Or,
)
from pyiceberg.expressions.visitors import (
    _InclusiveMetricsEvaluator,
    _StrictMetricsEvaluator,
    bind,
    expression_evaluator,
    extract_field_ids,
    inclusive_projection,
)
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform, TruncateTransform
from pyiceberg.types import FloatType, IntegerType, LongType

from coordinator.connectors.iceberg.manifests.live_files import LiveFile
from shared.plan.blocks import decode_constant
from shared.plan.expressions import Call, Constant, RowExpression, SpecialForm, Variable
from shared.plan.types import parse_type

FileFilter = Callable[[LiveFile], bool]

_COMPARISONS: dict[str, tuple[type[object], type[object], type[object]]] = {
    # operator: itself, its negation, itself with swapped sides
    "equal": (EqualTo, NotEqualTo, EqualTo),
    "not_equal": (NotEqualTo, EqualTo, NotEqualTo),
    "less_than": (LessThan, GreaterThanOrEqual, GreaterThan),
    "less_than_or_equal": (LessThanOrEqual, GreaterThan, GreaterThanOrEqual),
    "greater_than": (GreaterThan, LessThanOrEqual, LessThan),
    "greater_than_or_equal": (GreaterThanOrEqual, LessThan, LessThanOrEqual),
}
_NEGATED_SWAP = {EqualTo: NotEqualTo, NotEqualTo: EqualTo}
_BITS: Mapping[type, tuple[int, ...]] = {IntegerType: (32,), LongType: (32, 64)}
_INTEGERS = ("tinyint", "smallint", "integer", "bigint")


def file_filter(expression: RowExpression | None, table: Table) -> FileFilter:
    """Whether a file may hold a row for which ``expression`` is true."""
    if expression is None:
        return lambda _file: True
    schema = table.schema()
    return filter_of(iceberg_predicate(expression, schema), schema, table.specs())


def filter_of(predicate: BooleanExpression, schema: Schema, specs: Mapping[int, PartitionSpec]) -> FileFilter:
    """The same for a predicate over ``schema``."""
    if isinstance(predicate, AlwaysTrue):
        return lambda _file: True
    if isinstance(predicate, AlwaysFalse):
        return lambda _file: False
    by_metrics = _InclusiveMetricsEvaluator(schema, predicate, case_sensitive=True).eval

    def metrics_match(file: DataFile) -> bool:
        try:
            return bool(by_metrics(file))
        except (struct.error, ValueError, OverflowError):  # a bound that is no value of its type tells nothing
            return True

    by_partition: dict[int, FileFilter] = {}

    def may_match(file: LiveFile) -> bool:
        spec_id = file.file.spec_id
        if spec_id not in by_partition:
            by_partition[spec_id] = _partition_filter(specs[spec_id], schema, predicate)
        return by_partition[spec_id](file) and metrics_match(file.file)

    return may_match


def whole_files(files: Sequence[LiveFile], predicate: BooleanExpression, table: Table) -> Sequence[LiveFile] | None:
    """The files whose every row matches an exact predicate; None when one may hold rows of both kinds."""
    schema, specs = table.schema(), table.specs()
    read = extract_field_ids(bind(schema, predicate, case_sensitive=True))
    single = {
        number: read <= {f.source_id for f in spec.fields if isinstance(f.transform, IdentityTransform)}
        for number, spec in specs.items()
    }
    may_match = filter_of(predicate, schema, specs)
    by_partition = {n: _partition_filter(spec, schema, predicate) for n, spec in specs.items() if single[n]}
    all_match = _StrictMetricsEvaluator(schema, predicate, case_sensitive=True).eval
    found = []
    for file in files:
        spec_id = file.file.spec_id
        if single[spec_id]:
            # Every row has the partition's values.
            if by_partition[spec_id](file):
                found.append(file)
        elif may_match(file):
            if not all_match(file.file):
                return None
            found.append(file)
    return found


def filtered_columns(expression: RowExpression | None, table: Table) -> frozenset[int]:
    """The field ids of the columns whose statistics ``file_filter`` asks for."""
    if expression is None:
        return frozenset()
    predicate = iceberg_predicate(expression, table.schema())
    if isinstance(predicate, AlwaysTrue | AlwaysFalse):
        return frozenset()
    return frozenset(extract_field_ids(bind(table.schema(), predicate, case_sensitive=True)))


def _partition_filter(spec: PartitionSpec, schema: Schema, predicate: BooleanExpression) -> FileFilter:
    if spec.is_unpartitioned():
        return lambda _file: True
    try:
        projected = inclusive_projection(schema, spec)(predicate)
        evaluate = expression_evaluator(Schema(*spec.partition_type(schema).fields), projected, case_sensitive=True)
        wrapped = _wrapped(spec, schema)
    except (ValueError, TypeError, KeyError, OverflowError):
        # An old spec over a dropped column says nothing about today's columns, nor do days that Python has not.
        return lambda _file: True

    def may_match(file: LiveFile) -> bool:
        partition = file.file.partition
        return bool(evaluate(partition)) or any((partition[place] or 0) in values for place, values in wrapped)

    return may_match


def _wrapped(spec: PartitionSpec, schema: Schema) -> list[tuple[int, range]]:
    """Fields by place that truncate whole numbers, with what values below the least number may have become there."""
    found = []
    for place, field in enumerate(spec.fields):
        if isinstance(field.transform, TruncateTransform):
            # Of a column that became wider, older files have partitions of fewer bits.
            widths = _BITS.get(type(schema.find_type(field.source_id)), ())
            ends = [1 << (bits - 1) for bits in widths]
            found += [(place, range(end - field.transform.width, end)) for end in ends]
    return found


def iceberg_predicate(expression: RowExpression, schema: Schema, *, negated: bool = False) -> BooleanExpression:
    """``expression`` (or its negation) as an Iceberg predicate that is true for at least the same rows."""
    match expression:
        case Constant():
            value = decode_constant(expression.valueBlock, expression.type)
            return AlwaysTrue() if value is not None and bool(value) != negated else AlwaysFalse()
        case SpecialForm(form="AND" | "OR" as form):
            parts = [iceberg_predicate(argument, schema, negated=negated) for argument in expression.arguments]
            combine = And if (form == "AND") != negated else Or
            return combine(parts[0], parts[1], *parts[2:]) if len(parts) > 1 else parts[0]
        case SpecialForm(form="IS_NULL"):
            return _bound(schema, expression.arguments[0], NotNull if negated else IsNull)
        case SpecialForm(form="IN"):
            return _in(expression, schema, negated)
        case Call():
            return _call(expression, schema, negated)
        case Variable() if expression.type == "boolean":
            return _bound(schema, expression, EqualTo, not negated)
        case _:
            return AlwaysTrue()


def _call(call: Call, schema: Schema, negated: bool) -> BooleanExpression:
    name = _function(call)
    if name == "not":
        return iceberg_predicate(call.arguments[0], schema, negated=not negated)
    if name == "between":
        value, low, high = call.arguments
        if negated:
            return Or(_compare(LessThan, schema, value, low), _compare(GreaterThan, schema, value, high))
        return And(_compare(GreaterThanOrEqual, schema, value, low), _compare(LessThanOrEqual, schema, value, high))
    if name not in _COMPARISONS:
        return AlwaysTrue()
    left, right = call.arguments
    plain, negation, swapped = _COMPARISONS[name]
    if isinstance(_unwrapped(left), Constant):
        operator = _COMPARISONS[_name_of(swapped)][1] if negated else swapped
        return _compare(operator, schema, right, left)
    return _compare(negation if negated else plain, schema, left, right)


def _name_of(operator: type[object]) -> str:
    return next(name for name, forms in _COMPARISONS.items() if forms[0] is operator)


def _compare(
    operator: type[object], schema: Schema, column: RowExpression, constant: RowExpression
) -> BooleanExpression:
    inner = _unwrapped(constant)
    if not isinstance(inner, Constant):
        return AlwaysTrue()
    value = decode_constant(inner.valueBlock, inner.type)
    return AlwaysFalse() if value is None else _bound(schema, column, operator, value)


def _in(form: SpecialForm, schema: Schema, negated: bool) -> BooleanExpression:
    values = []
    for argument in form.arguments[1:]:
        inner = _unwrapped(argument)
        if not isinstance(inner, Constant):
            return AlwaysTrue()
        values.append(decode_constant(inner.valueBlock, inner.type))
    present = {value for value in values if value is not None}
    if negated:
        return AlwaysFalse() if None in values else _bound(schema, form.arguments[0], NotIn, present)
    return _bound(schema, form.arguments[0], In, present) if present else AlwaysFalse()


def _bound(schema: Schema, column: RowExpression, operator: type[Any], *operands: object) -> BooleanExpression:
    """A predicate on a top-level column; always true when the column or the value does not fit the table's types."""
    inner = _unwrapped(column)
    if not isinstance(inner, Variable):
        return AlwaysTrue()
    field = next((f for f in schema.fields if f.name.lower() == inner.name.lower()), None)
    if field is None or (isinstance(field.field_type, FloatType) and any(map(is_infinite, _single(operands)))):
        return AlwaysTrue()
    try:
        predicate: BooleanExpression = operator(field.name, *operands)
        bind(schema, predicate, case_sensitive=True)
    except (ValueError, TypeError, NotImplementedError):
        return AlwaysTrue()
    return predicate


def is_infinite(value: object) -> bool:
    """PyIceberg takes such a value for one that no column of type float holds."""
    return isinstance(value, float) and math.isinf(value)


def _single(operands: Sequence[object]) -> Iterator[object]:
    for operand in operands:
        yield from operand if isinstance(operand, set) else (operand,)


def _unwrapped(expression: RowExpression) -> RowExpression:
    """The operand of casts that keep values and their order: between integers, and between lengths of varchar."""
    while isinstance(expression, Call) and _function(expression) == "cast":
        source, target = parse_type(_type(expression.arguments[0])).base, parse_type(expression.returnType).base
        widening = source in _INTEGERS and target in _INTEGERS and _INTEGERS.index(source) <= _INTEGERS.index(target)
        if not widening and not source == target == "varchar":
            return expression
        expression = expression.arguments[0]
    return expression


def _type(expression: RowExpression) -> str:
    match expression:
        case Variable() | Constant():
            return expression.type
        case Call() | SpecialForm():
            return expression.returnType
        case _:
            return "unknown"


def _function(call: Call) -> str:
    """The bare lower-case name: ``equal`` of ``presto.default.$operator$equal``."""
    signature = getattr(call.functionHandle, "signature", None)
    name = call.displayName if signature is None else signature.name
    return str(name).rpartition(".")[2].removeprefix("$operator$").lower()
