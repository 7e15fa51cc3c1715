"""What a list of queries is asked for, as the address of the page says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from urllib.parse import urlencode

from coordinator.dispatch.events import engine_of
from coordinator.dispatch.query import Query
from coordinator.dispatch.states import QueryState
from coordinator.dispatch.stats import elapsed_seconds, queued_seconds
from coordinator.history.reader import HistoryFilter
from coordinator.server.ui.statements import SOURCE

FIELDS = ("state", "user", "source", "group", "engine", "table", "text", "from", "to")
_LONGEST = 500
STATES = tuple(state.value for state in QueryState)
Sorting = Callable[[Query], tuple[float, str]]
Test = Callable[[Query], bool]
SORTINGS: dict[str, Sorting] = {
    "created": lambda query: (query.created.timestamp(), ""),
    "elapsed": lambda query: (elapsed_seconds(query), ""),
    "queued": lambda query: (queued_seconds(query), ""),
    "rows": lambda query: (query.output_rows, ""),
    "read": lambda query: (query.progress.processed_rows, ""),
    "user": lambda query: (0, query.session.user),
    "state": lambda query: (STATES.index(query.state.value), ""),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """``values`` has the fields that were filled in; ``problems`` says which cannot be understood."""

    values: Mapping[str, str]
    since: datetime | None = None
    before: datetime | None = None
    sort: str = "created"
    ascending: bool = False
    page: str = ""
    past: bool = False
    problems: tuple[str, ...] = field(default=())

    def address(self, **changed: str) -> str:
        """Of the same list with some parameters changed; an empty one is left out."""
        own = {"where": "history" if self.past else "", "sort": "" if self.sort == "created" else self.sort}
        own |= {"order": "asc" if self.ascending else "", "page": self.page}
        return "queries?" + urlencode({k: v for k, v in (dict(self.values) | own | changed).items() if v})

    def history(self) -> HistoryFilter:
        """The same as a question to the history."""
        values = self.values
        return HistoryFilter(
            state=values.get("state"),
            user=values.get("user"),
            source=values.get("source"),
            group=values.get("group"),
            engine=values.get("engine"),
            table=values.get("table"),
            text=values.get("text"),
            created_from=self.since,
            created_before=self.before,
        )

    def takes(self) -> Callable[[Query], bool]:
        """Whether a query in memory is asked for; the pages' own are so only when their source is."""
        tests = [test(self.values[name]) for name, test in _TESTS.items() if name in self.values]
        if self.since is not None:
            tests.append(partial(_since, self.since))
        if self.before is not None:
            tests.append(partial(_before, self.before))
        if "source" not in self.values:
            tests.insert(0, _not_of_pages)
        return tests[0] if len(tests) == 1 else partial(_all, tests)


def asked(parameters: Mapping[str, str]) -> Asked:
    """Of the address; what cannot be understood is said and left out."""
    values = {name: parameters[name].strip()[:_LONGEST] for name in FIELDS if parameters.get(name, "").strip()}
    problems = []
    times: dict[str, datetime | None] = {"from": None, "to": None}
    for name in times:
        if name in values:
            times[name] = _timestamp(values[name])
            if times[name] is None:
                problems.append(f"{name}: {values[name]} is no time as 2026-11-23T06:00")
    sort = parameters.get("sort", "created")
    return Asked(
        values,
        times["from"],
        times["to"],
        sort if sort in SORTINGS else "created",
        parameters.get("order") == "asc",
        parameters.get("page", "")[:_LONGEST],
        parameters.get("where") == "history",
        tuple(problems),
    )


def _not_of_pages(query: Query) -> bool:
    return query.session.source != SOURCE


def _all(tests: Sequence[Test], query: Query) -> bool:
    # A loop: all() over a generator takes twice as long, for each of thousands of queries.
    for test in tests:  # noqa: SIM110
        if not test(query):
            return False
    return True


def _since(instant: datetime, query: Query) -> bool:
    return query.created >= instant


def _before(instant: datetime, query: Query) -> bool:
    return query.created < instant


def _in_group(wanted: str) -> Test:
    def test(query: Query) -> bool:
        group = ".".join(query.resource_group)
        return group == wanted or group.startswith(wanted + ".")

    return test


def _in_state(wanted: str) -> Test:
    state = wanted.upper()
    return lambda query: query.state.value == state


def _on_engine(wanted: str) -> Test:
    engine = wanted.lower()
    return lambda query: engine_of(query) == engine


def _with_text(wanted: str) -> Test:
    text = wanted.casefold()
    return lambda query: text in query.shown_text.casefold()


_TESTS: dict[str, Callable[[str], Test]] = {
    "state": _in_state,
    "user": lambda wanted: lambda query: query.session.user == wanted,
    "source": lambda wanted: lambda query: query.session.source == wanted,
    "group": _in_group,
    "engine": _on_engine,
    "table": lambda wanted: lambda query: _uses(query, wanted),
    "text": _with_text,
}


def _timestamp(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _uses(query: Query, table: str) -> bool:
    """Named with or without schema and catalog."""
    planned = query.planned
    if planned is None or planned.facts is None:
        return False
    io, wanted = planned.facts.io, table.lower().split(".")
    named = [(each.catalog_name, each.schema, each.table) for each in io.inputs]
    if io.output is not None:
        named.append((io.output.catalog_name, io.output.schema, io.output.table))
    return any([part.lower() for part in name[-len(wanted) :]] == wanted for name in named)
