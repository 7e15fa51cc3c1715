"""Provider ``business-rules``: four rules that keep expensive statements out, each off, warn or veto.

An example of a provider that decides on plans alone; docs/checks.md describes its properties.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pydantic import Field

from coordinator.checks.built_in.failure import located
from coordinator.checks.settings import ProviderSettings, parse_provider_settings
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import SourceLocation, SpecialForm
from shared.plan.fragment import SimplePlanFragment
from shared.plan.nodes import (
    AggregationNode,
    EnforceSingleRowNode,
    FilterNode,
    JoinNode,
    LimitNode,
    PlanNode,
    ProjectNode,
    TableScanNode,
    ValuesNode,
)
from shared.plan.traversal import expressions, free_variables, sources, walk, walk_expression
from shared.spi.handles import column_name, schema_name, table_name
from shared.spi.plan_checker import PlanChecker, PrestoWarning, WarningCollector
from shared.spi.session import Session

Action = Literal["off", "warn", "veto"]
TOO_MANY_STAGES = (1, "TOO_MANY_STAGES")
PERFORMANCE_WARNING = (3, "PERFORMANCE_WARNING")


class BusinessRules(ProviderSettings):
    """Properties of a ``business-rules`` file."""

    cross_join: Action = Field("off", alias="business-rules.cross-join")
    full_scan: Action = Field("off", alias="business-rules.full-scan-of-partitioned-table")
    in_list: Action = Field("off", alias="business-rules.in-list")
    max_in_list_size: int = Field(1000, alias="business-rules.max-in-list-size", ge=1)
    stages: Action = Field("off", alias="business-rules.stages")
    max_stages: int = Field(100, alias="business-rules.max-stages", ge=1)


class BusinessRulesProvider:
    """Makes the checker of one ``business-rules`` file."""

    name = "business-rules"

    def create(self, properties: Mapping[str, str]) -> Sequence[PlanChecker]:
        """Raises ConfigurationError for an unknown property or a wrong value."""
        return (BusinessRulesChecker(parse_provider_settings(BusinessRules, properties)),)


class BusinessRulesChecker:
    """Checks the optimized plan, where rules about scans and joins see what will really run."""

    name = "business-rules"

    def __init__(self, rules: BusinessRules) -> None:
        self._rules = rules

    def validate_intermediate(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None:
        """Nothing: joins and scans are not what they will be yet."""

    def validate_final(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None:  # noqa: ARG002
        """Cross joins, full scans of partitioned tables, large IN lists; a veto is QUERY_REJECTED."""
        rules = self._rules
        if rules.cross_join != "off":
            for join in _cross_joins(plan):
                _apply(rules.cross_join, "Cross joins are not allowed", join.sourceLocation, warn)
        if rules.full_scan != "off":
            for scan in _full_scans(plan, frozenset()):
                columns = ", ".join(_partition_columns(scan))
                text = f"Filter on a partition column of {_table_name(scan)} required: {columns}"
                _apply(rules.full_scan, text, scan.sourceLocation, warn)
        if rules.in_list != "off":
            for values in _in_lists(plan):
                size = len(values.arguments) - 1
                if size > rules.max_in_list_size:
                    text = f"IN list of {size} values exceeds the allowed maximum ({rules.max_in_list_size})"
                    _apply(rules.in_list, text, values.sourceLocation, warn)

    async def validate_fragment(
        self,
        fragment: SimplePlanFragment,
        session: Session,  # noqa: ARG002
        warn: WarningCollector,
    ) -> None:
        """The number of stages: fragments are numbered from 0, so the one after the last allowed tells."""
        rules = self._rules
        if rules.stages == "off" or fragment.id != str(rules.max_stages):
            return
        text = f"Number of stages in the query exceeds the allowed maximum ({rules.max_stages})"
        if rules.stages == "veto":
            raise ProcessionError(ErrorCode.QUERY_HAS_TOO_MANY_STAGES, text)
        warn(PrestoWarning(*TOO_MANY_STAGES, text))


def _apply(action: Action, text: str, at: SourceLocation | None, warn: WarningCollector) -> None:
    if action == "veto":
        raise ProcessionError(ErrorCode.QUERY_REJECTED, text, location=located(at))
    where = f"line {at.line}:{at.column}: " if at is not None else ""
    warn(PrestoWarning(*PERFORMANCE_WARNING, where + text))


def _cross_joins(plan: PlanNode) -> Iterator[JoinNode]:
    """Joins without any condition, those with a side of one row (scalar subqueries) left out."""
    for node in walk(plan):
        if not isinstance(node, JoinNode) or node.criteria or node.filter is not None:
            continue
        if not (_at_most_one_row(node.left) or _at_most_one_row(node.right)):
            yield node


def _at_most_one_row(node: PlanNode) -> bool:
    match node:
        case EnforceSingleRowNode():
            return True
        case AggregationNode():
            return not node.groupingSets.groupingKeys and node.groupingSets.groupingSetCount == 1
        case ValuesNode():
            return len(node.rows) <= 1
        case LimitNode(count=0 | 1):
            return True
        case ProjectNode() | FilterNode() | LimitNode():
            return _at_most_one_row(node.source)
        case _:
            return False


def _full_scans(node: PlanNode, filtered: frozenset[str]) -> Iterator[TableScanNode]:
    """Scans of partitioned tables without a condition on a partition column; ``filtered``: variables with one."""
    if isinstance(node, TableScanNode):
        partition_columns = set(_partition_columns(node))
        conditions = {column_name(node.assignments.get(key, {})) for key in filtered} | _layout_columns(node)
        if partition_columns and not partition_columns & conditions:
            yield node
        return
    if isinstance(node, FilterNode):
        filtered |= {v.key for v in free_variables(node.predicate)}
    elif isinstance(node, ProjectNode):
        assigned = node.assignments.assignments
        filtered = frozenset(v.key for key in filtered if key in assigned for v in free_variables(assigned[key]))
    for source in sources(node):
        yield from _full_scans(source, filtered)


def _partition_columns(scan: TableScanNode) -> list[str]:
    layout = scan.table.connectorTableLayout or {}
    return [column_name(column) for column in layout.get("partitionColumns", ())]


def _layout_columns(scan: TableScanNode) -> set[str]:
    """Columns that the layout itself restricts."""
    layout = scan.table.connectorTableLayout or {}
    columns: set[str] = set()
    for predicate in ("domainPredicate", "partitionColumnPredicate"):
        for domain in layout.get(predicate, {}).get("columnDomains") or ():
            column = domain.get("column")
            columns.add(column_name(column) if isinstance(column, dict) else str(column))
    return columns


def _table_name(scan: TableScanNode) -> str:
    name, schema = table_name(scan.table) or "a table", schema_name(scan.table)
    return f"{scan.table.connectorId}.{schema}.{name}" if schema else f"{scan.table.connectorId}.{name}"


def _in_lists(plan: PlanNode) -> Iterator[SpecialForm]:
    for node in walk(plan):
        for expression in expressions(node):
            for inner in walk_expression(expression):
                if isinstance(inner, SpecialForm) and inner.form == "IN":
                    yield inner
