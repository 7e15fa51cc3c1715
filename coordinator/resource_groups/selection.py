"""Which group a statement goes to. Source: Presto's StaticSelector and AbstractResourceConfigurationManager."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from coordinator.resource_groups.specification import GroupSpec, ManagerSpec, SelectorSpec, expand, variables_of
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session
from shared.units import parse_data_size, parse_duration

_UNITS: Mapping[str, Callable[[str], float]] = {
    "EXECUTION_TIME": parse_duration,
    "CPU_TIME": parse_duration,
    "PEAK_MEMORY": parse_data_size,
}


@dataclass(frozen=True, slots=True)
class SelectionCriteria:
    """What selectors look at; ``estimates`` in seconds and bytes, under the names of X-Presto-Resource-Estimate."""

    user: str
    source: str | None = None
    principal: str | None = None
    client_info: str | None = None
    query_type: str | None = None
    client_tags: frozenset[str] = frozenset()
    estimates: Mapping[str, float] = field(default_factory=dict)
    schema: str | None = None


@dataclass(frozen=True, slots=True)
class GroupSelection:
    """The path of the chosen group, with the specification of each of its levels, root first."""

    path: tuple[str, ...]
    specs: tuple[GroupSpec, ...]


def criteria_of(session: Session, query_type: str | None) -> SelectionCriteria:
    """Of a statement; estimates that cannot be read count as not given."""
    estimates = {}
    for name, text in session.resource_estimates.items():
        parse = _UNITS.get(name)
        if parse is not None:
            try:
                estimates[name] = parse(text)
            except ValueError:
                continue
    return SelectionCriteria(
        user=session.user,
        source=session.source,
        principal=session.principal,
        client_info=session.client_info,
        query_type=query_type,
        client_tags=frozenset(session.client_tags),
        estimates=estimates,
        schema=session.schema,
    )


def select(manager: ManagerSpec, criteria: SelectionCriteria) -> GroupSelection:
    """The group of the first selector that matches.

    Raises MISSING_RESOURCE_GROUP_SELECTOR when none does, INVALID_RESOURCE_GROUP when its path is no leaf group.
    """
    for selector in manager.selectors:
        variables = match(selector, criteria)
        if variables is not None:
            path = tuple(expand(name, variables) for name in selector.group)
            return _find(manager.root_groups, path, variables)
    raise ProcessionError(ErrorCode.MISSING_RESOURCE_GROUP_SELECTOR, "Query did not match any selection rule")


def match(selector: SelectorSpec, criteria: SelectionCriteria) -> dict[str, str] | None:
    """The values of the templates' variables, or None for a statement that is not the selector's."""
    variables: dict[str, str] = {}
    texts = (
        (selector.user, criteria.user),
        (selector.source, criteria.source or ""),
        (selector.principal, criteria.principal),
        (selector.client_info, criteria.client_info),
    )
    for pattern, text in texts:
        if pattern is None:
            continue
        found = None if text is None else pattern.fullmatch(text)
        if found is None:
            return None
        variables |= {name: value for name, value in found.groupdict().items() if value is not None}
    if not selector.client_tags <= criteria.client_tags:
        return None
    if not all(limits.holds(criteria.estimates.get(name)) for name, limits in selector.estimates.items()):
        return None
    if selector.query_type is not None and selector.query_type != (criteria.query_type or "").upper():
        return None
    if selector.schema is not None and selector.schema != criteria.schema:
        return None
    standard = {"USER": criteria.user, "SOURCE": criteria.source or "", "SCHEMA": criteria.schema or ""}
    return standard | variables


def _find(groups: tuple[GroupSpec, ...], path: tuple[str, ...], variables: Mapping[str, str]) -> GroupSelection:
    specs: list[GroupSpec] = []
    for name in path:
        candidates = [group for group in groups if expand(group.name, variables) == name]
        # A group written out goes before one whose template happens to give the same name.
        candidates.sort(key=lambda group: bool(variables_of(group.name)))
        if not name or not candidates:
            raise _invalid(f"No matching configuration found for: {'.'.join(path)}")
        specs.append(candidates[0])
        groups = candidates[0].sub_groups
    if groups:
        raise _invalid(f"Cannot add queries to {'.'.join(path)}. It is not a leaf group.")
    return GroupSelection(path, tuple(specs))


def _invalid(message: str) -> ProcessionError:
    return ProcessionError(ErrorCode.INVALID_RESOURCE_GROUP, message)
