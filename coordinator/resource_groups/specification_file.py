"""Reads Presto's resource group file: every key known, every value checked, errors that name the place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Annotated, TypeVar, get_args

import msgspec

from coordinator.resource_groups.specification import (
    GroupSpec,
    ManagerSpec,
    QueryLimits,
    Range,
    SchedulingPolicy,
    SelectorSpec,
    variables_of,
)
from shared.properties import ConfigurationError
from shared.units import parse_data_size, parse_duration

Count = Annotated[int, msgspec.Meta(ge=0)]
_QUERY_TYPES = frozenset(
    {
        *("SELECT", "EXPLAIN", "DESCRIBE", "INSERT", "UPDATE", "DELETE", "MERGE", "ANALYZE"),
        *("DATA_DEFINITION", "CONTROL", "CALL_DISTRIBUTED_PROCEDURE"),
    }
)
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d+)?)%")
_JAVA_GROUP = re.compile(r"\(\?<(?=[a-zA-Z])")
_STANDARD_VARIABLES = frozenset({"USER", "SOURCE", "SCHEMA"})
T = TypeVar("T")


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class _Limits(_Strict, frozen=True):
    executionTimeLimit: str | None = None
    totalMemoryLimit: str | None = None
    cpuTimeLimit: str | None = None


class _Group(_Strict, frozen=True):
    name: Annotated[str, msgspec.Meta(min_length=1)]
    softMemoryLimit: str
    maxQueued: Count
    hardConcurrencyLimit: Count | None = None
    maxRunning: Count | None = None
    softConcurrencyLimit: Count | None = None
    schedulingPolicy: str | None = None
    schedulingWeight: Annotated[int, msgspec.Meta(ge=1)] | None = None
    subGroups: tuple[_Group, ...] = ()
    jmxExport: bool = False
    softCpuLimit: str | None = None
    hardCpuLimit: str | None = None
    perQueryLimits: _Limits = _Limits()
    workersPerQueryLimit: Count = 0


class _Range(_Strict, frozen=True):
    min: str | None = None
    max: str | None = None


class _Estimate(_Strict, frozen=True):
    executionTime: _Range | None = None
    cpuTime: _Range | None = None
    peakMemory: _Range | None = None


class _Selector(_Strict, frozen=True):
    group: Annotated[str, msgspec.Meta(min_length=1)]
    user: str | None = None
    source: str | None = None
    principal: str | None = None
    clientInfo: str | None = None
    queryType: str | None = None
    clientTags: tuple[str, ...] = ()
    selectorResourceEstimate: _Estimate = _Estimate()
    schema: str | None = None


class _Manager(_Strict, frozen=True):
    rootGroups: tuple[_Group, ...]
    selectors: tuple[_Selector, ...]
    cpuQuotaPeriod: str | None = None


def read_specification(file: Path, memory_pool: float = inf) -> ManagerSpec:
    """The specification in ``file``; percentages of memory are of ``memory_pool`` bytes. Raises ConfigurationError."""
    try:
        text = file.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{file}: cannot be read: {error.strerror}") from error
    try:
        return parse_specification(text, memory_pool)
    except ConfigurationError as error:
        raise ConfigurationError(f"{file}: {error}") from error


def parse_specification(text: bytes, memory_pool: float = inf) -> ManagerSpec:
    """As ``read_specification``, of the file's content."""
    try:
        wire = msgspec.json.decode(text, type=_Manager)
    except msgspec.DecodeError as error:
        raise ConfigurationError(str(error)) from error
    period = _parsed(parse_duration, wire.cpuQuotaPeriod, "cpuQuotaPeriod")
    _unique((group.name for group in wire.rootGroups), "Duplicated root group")
    roots = tuple(_group(g, "fair", period is not None, memory_pool) for g in wire.rootGroups)
    selectors = tuple(_selector(s, number) for number, s in enumerate(wire.selectors, start=1))
    for number, selector in enumerate(selectors, start=1):
        _check_target(selector, number, roots)
    return ManagerSpec(roots, selectors, period)


def _group(wire: _Group, inherited: SchedulingPolicy, quota: bool, pool: float) -> GroupSpec:
    where = f"group '{wire.name}'"
    limit = wire.hardConcurrencyLimit if wire.hardConcurrencyLimit is not None else wire.maxRunning
    if limit is None:
        raise ConfigurationError(f"{where}: Missing required property: hardConcurrencyLimit")
    soft = wire.softConcurrencyLimit if wire.softConcurrencyLimit is not None else limit
    if soft > limit:
        raise ConfigurationError(f"{where}: hardConcurrencyLimit must be greater than or equal to softConcurrencyLimit")
    policy = _policy(wire, inherited, where)
    _unique((group.name for group in wire.subGroups), f"{where}: Duplicated sub group")
    soft_cpu, hard_cpu = _cpu_limits(wire, quota, where)
    passed_on: SchedulingPolicy = "query_priority" if policy == "query_priority" else "fair"
    return GroupSpec(
        name=wire.name,
        hard_concurrency_limit=limit,
        max_queued=wire.maxQueued,
        soft_memory_limit=_memory(wire.softMemoryLimit, pool, where),
        memory_is_shared=_PERCENT.fullmatch(wire.softMemoryLimit) is None,
        soft_concurrency_limit=soft,
        scheduling_policy=policy,
        scheduling_weight=wire.schedulingWeight or 1,
        soft_cpu_limit=soft_cpu,
        hard_cpu_limit=hard_cpu,
        jmx_export=wire.jmxExport,
        limits=_limits(wire.perQueryLimits, where),
        workers_per_query_limit=wire.workersPerQueryLimit,
        sub_groups=tuple(_group(g, passed_on, quota, pool) for g in wire.subGroups),
    )


def _policy(wire: _Group, inherited: SchedulingPolicy, where: str) -> SchedulingPolicy:
    if wire.schedulingPolicy is None:
        return inherited
    name = wire.schedulingPolicy.lower()
    known: tuple[SchedulingPolicy, ...] = get_args(SchedulingPolicy)
    for policy in known:
        if policy == name:
            if inherited == "query_priority" and policy != inherited:
                raise ConfigurationError(f"{where}: its parent uses query priority scheduling, so it must also")
            return policy
    raise ConfigurationError(f"{where}: schedulingPolicy must be one of {', '.join(known)}, not '{name}'")


def _cpu_limits(wire: _Group, quota: bool, where: str) -> tuple[float, float]:
    soft = _parsed(parse_duration, wire.softCpuLimit, f"{where}: softCpuLimit")
    hard = _parsed(parse_duration, wire.hardCpuLimit, f"{where}: hardCpuLimit")
    if (soft is not None or hard is not None) and not quota:
        raise ConfigurationError(f"cpuQuotaPeriod must be specified to use cpu limits on group: {wire.name}")
    if soft is not None and hard is None:
        raise ConfigurationError(f"{where}: Must specify hard CPU limit in addition to soft limit")
    if soft is not None and hard is not None and soft > hard:
        raise ConfigurationError(f"{where}: Soft CPU limit cannot be greater than hard CPU limit")
    hard_limit = inf if hard is None else hard
    return hard_limit if soft is None else soft, hard_limit


def _memory(text: str, pool: float, where: str) -> float:
    percent = _PERCENT.fullmatch(text)
    if percent is None:
        return _parsed(parse_data_size, text, f"{where}: softMemoryLimit") or 0
    return pool * float(percent[1]) / 100 if pool < inf else inf


def _limits(wire: _Limits, where: str) -> QueryLimits:
    def limit(parse: Callable[[str], float], text: str | None, name: str) -> float:
        value = _parsed(parse, text, f"{where}: perQueryLimits: {name}")
        return inf if value is None else value

    return QueryLimits(
        limit(parse_duration, wire.executionTimeLimit, "executionTimeLimit"),
        limit(parse_data_size, wire.totalMemoryLimit, "totalMemoryLimit"),
        limit(parse_duration, wire.cpuTimeLimit, "cpuTimeLimit"),
    )


def _selector(wire: _Selector, number: int) -> SelectorSpec:
    where = f"selector {number}"
    if wire.queryType is not None and wire.queryType.upper() not in _QUERY_TYPES:
        raise ConfigurationError(f"{where}: unknown queryType '{wire.queryType}'")
    estimate = wire.selectorResourceEstimate
    ranges = {
        "EXECUTION_TIME": _range(estimate.executionTime, parse_duration, f"{where}: executionTime"),
        "CPU_TIME": _range(estimate.cpuTime, parse_duration, f"{where}: cpuTime"),
        "PEAK_MEMORY": _range(estimate.peakMemory, parse_data_size, f"{where}: peakMemory"),
    }
    selector = SelectorSpec(
        group=tuple(wire.group.split(".")),
        user=_pattern(wire.user, f"{where}: user"),
        source=_pattern(wire.source, f"{where}: source"),
        principal=_pattern(wire.principal, f"{where}: principal"),
        client_info=_pattern(wire.clientInfo, f"{where}: clientInfo"),
        query_type=None if wire.queryType is None else wire.queryType.upper(),
        client_tags=frozenset(wire.clientTags),
        estimates={name: limits for name, limits in ranges.items() if limits is not None},
        schema=wire.schema,
    )
    _check_variables(selector, where)
    return selector


def _check_variables(selector: SelectorSpec, where: str) -> None:
    known = set(_STANDARD_VARIABLES)
    for pattern in selector.patterns:
        for name in pattern.groupindex:
            if name in known:
                raise ConfigurationError(f"{where}: Multiple definitions found for variable ${{{name}}}")
            known.add(name)
    unknown = frozenset().union(*map(variables_of, selector.group)) - known
    if unknown:
        path = ".".join(selector.group)
        raise ConfigurationError(f"{where}: unresolved variables {sorted(unknown)} in resource group ID '{path}'")


def _check_target(selector: SelectorSpec, number: int, roots: tuple[GroupSpec, ...]) -> None:
    """A path without templates must lead to a leaf; where templates lead is known with the statement only."""
    path = ".".join(selector.group)
    matches = [group for template, group in _paths(roots) if template == path]
    if matches and matches[0].sub_groups:
        raise ConfigurationError(f"selector {number}: Cannot add queries to {path}. It is not a leaf group.")
    if not matches and not any(map(variables_of, selector.group)):
        raise ConfigurationError(f"selector {number}: No matching configuration found for: {path}")


def _paths(groups: Iterable[GroupSpec], above: str = "") -> Iterator[tuple[str, GroupSpec]]:
    for group in groups:
        yield above + group.name, group
        yield from _paths(group.sub_groups, f"{above}{group.name}.")


def _pattern(text: str | None, where: str) -> re.Pattern[str] | None:
    """Java's ``(?<name>…)`` is Python's ``(?P<name>…)``; what else is used in practice is the same in both."""
    if text is None:
        return None
    try:
        return re.compile(_JAVA_GROUP.sub("(?P<", text))
    except re.error as error:
        raise ConfigurationError(f"{where}: not a valid regular expression: {error}") from error


def _range(wire: _Range | None, parse: Callable[[str], float], where: str) -> Range | None:
    if wire is None:
        return None
    found = Range()
    if wire.min is not None:
        found = replace(found, least=_parsed(parse, wire.min, where) or 0.0)
    if wire.max is not None:
        found = replace(found, most=_parsed(parse, wire.max, where) or 0.0)
    return found


def _parsed(parse: Callable[[str], T], text: str | None, where: str) -> T | None:
    if text is None:
        return None
    try:
        return parse(text)
    except ValueError as error:
        raise ConfigurationError(f"{where}: {error}") from error


def _unique(names: Iterator[str], problem: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ConfigurationError(f"{problem}: {name}")
        seen.add(name)
