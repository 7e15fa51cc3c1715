"""Window functions as WindowNodes: one node for each PARTITION BY and ORDER BY."""

from __future__ import annotations

from datetime import timedelta

from coordinator.analyzer.context import SortItem
from coordinator.expressions.builders import coerce, constant, operator, typed
from coordinator.expressions.types import BOOLEAN, DAY_SECOND, INTEGER, NUMERIC, YEAR_MONTH
from coordinator.planner.query.builder import Builder, free_variables, replace
from coordinator.planner.query.failures import required
from coordinator.planner.query.window_calls import NEGATIVE_OFFSET, Bound, Frame, WindowCall
from shared.errors import ErrorCode
from shared.plan.expressions import Call, Constant, Lambda, RowExpression, Variable
from shared.plan.nodes import WindowFrame, WindowFunction, WindowNode, WindowSpecification

_NONE = {DAY_SECOND.base: timedelta(0), YEAR_MONTH.base: 0}
_Key = tuple[int, tuple[RowExpression, ...], tuple[SortItem, ...]]


def plan_windows(
    builder: Builder, windows: dict[WindowCall, Variable], mapping: dict[RowExpression, RowExpression]
) -> None:
    """Puts the windows on top, those of one specification together; ``mapping`` is what grouping made of them."""
    groups: dict[_Key, list[tuple[WindowCall, Variable]]] = {}
    made = {variable: spec for spec, variable in windows.items()}
    for spec, variable in windows.items():
        partition = tuple(replace(p, mapping) for p in spec.partition)
        order = tuple(SortItem(replace(s.expression, mapping), s.order) for s in spec.order)
        groups.setdefault((_level(spec, made), partition, order), []).append((spec, variable))
    for (_, partition, order), members in sorted(groups.items(), key=lambda item: item[0][0]):
        for spec, _ in members:
            for bound in (spec.frame.start, spec.frame.end):
                if bound.offset is not None:
                    builder.filter(_known_offset(replace(bound.offset, mapping)))
        keys = builder.add((p, "partition") for p in partition)
        functions = {v.key: _function(builder, spec, mapping) for spec, v in members}
        scheme = builder.ordering(order) if order else None
        builder.node = WindowNode(
            id=builder.ids.node(),
            source=builder.node,
            specification=WindowSpecification(partitionBy=tuple(dict.fromkeys(keys)), orderingScheme=scheme),
            windowFunctions=functions,
            prePartitionedInputs=(),
            preSortedOrderPrefix=0,
        )


def _level(spec: WindowCall, made: dict[Variable, WindowCall]) -> int:
    """How many windows lie below it: one of ORDER BY may read output columns that are windows."""
    parts = [spec.call, *spec.partition, *(s.expression for s in spec.order)]
    read = {v for part in parts for v in free_variables(part)} & made.keys()
    return 1 + max(_level(made[v], made) for v in read) if read else 0


def _known_offset(offset: RowExpression) -> RowExpression:
    type_ = typed(offset)
    zero = coerce(constant(0, INTEGER), type_) if type_.base in NUMERIC else constant(_NONE[type_.base], type_)
    return required(operator(">=", (offset, zero), BOOLEAN), ErrorCode.GENERIC_USER_ERROR, NEGATIVE_OFFSET)


def _function(builder: Builder, spec: WindowCall, mapping: dict[RowExpression, RowExpression]) -> WindowFunction:
    arguments = [replace(a, mapping) for a in spec.call.arguments]
    computed = [a for a in arguments if not isinstance(a, Lambda)]
    variables = iter(builder.add((a, "expr") for a in computed))
    placed: list[RowExpression] = []
    for argument in arguments:
        if isinstance(argument, Lambda):
            placed.append(argument)
        else:
            variable = next(variables)
            placed.append(argument if isinstance(argument, Constant) else variable)
    call = Call(
        sourceLocation=spec.call.sourceLocation,
        displayName=spec.call.displayName,
        functionHandle=spec.call.functionHandle,
        returnType=spec.call.returnType,
        arguments=tuple(placed),
    )
    return WindowFunction(
        functionCall=call,
        frame=_frame(builder, spec.frame, mapping),
        ignoreNulls=spec.ignore_nulls,
        functionHandle=call.functionHandle,
    )


def _frame(builder: Builder, frame: Frame, mapping: dict[RowExpression, RowExpression]) -> WindowFrame:
    start, end = (_bound(builder, b, mapping) for b in (frame.start, frame.end))
    return WindowFrame(
        type=frame.kind,  # type: ignore[arg-type]
        startType=frame.start.kind,
        startValue=start[0],
        sortKeyCoercedForFrameStartComparison=start[1],
        endType=frame.end.kind,
        endValue=end[0],
        sortKeyCoercedForFrameEndComparison=end[1],
        originalStartValue=frame.start.text,
        originalEndValue=frame.end.text,
    )


def _bound(
    builder: Builder, bound: Bound, mapping: dict[RowExpression, RowExpression]
) -> tuple[Variable | None, Variable | None]:
    parts = [replace(e, mapping) for e in (bound.value, bound.key) if e is not None]
    made: list[Variable | None] = [*builder.add((p, "frame") for p in parts), None, None]
    return made[0], made[1]
