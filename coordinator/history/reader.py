"""Questions to the history: statements by filters, page by page, tables that they read and wrote, and calls."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Engine, Select, and_, func, or_, select

from coordinator.history.rows import micros
from coordinator.history.schema import PROCEDURES, QUERIES, TABLES
from shared.spi.access_control import Identity

_CHUNK = 500
_MOST_CHUNKS = 40
"""Rows that one page looks at, for whom few are visible: 20,000."""
Record = dict[str, Any]
Visible = Callable[[Identity], bool]
_Place = tuple[int | str, str]
"""Where a page ends: the value that it is ordered by, and an id."""
_KEY = "ordered_by"
_HEAVY = ("plan", "json_plan")
_LISTED = [column for column in QUERIES.columns if column.name not in _HEAVY]


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """What is asked for; None and empty stand for everything. Moments are of the creation."""

    state: str | None = None
    user: str | None = None
    source: str | None = None
    group: str | None = None
    engine: str | None = None
    query_type: str | None = None
    error: str | None = None
    table: str | None = None
    text: str | None = None
    trace_id: str | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None
    query_ids: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """``by`` is a name of ``ORDERS``; statements that are alike in it come by their ids."""

    by: str = "created"
    ascending: bool = False


ORDERS: Mapping[str, ColumnElement[Any]] = {
    "created": QUERIES.c.created,
    "elapsed": func.coalesce(QUERIES.c.elapsed_ms, 0),
    "queued": func.coalesce(QUERIES.c.queued_ms, 0),
    "rows": func.coalesce(QUERIES.c.output_rows, 0),
    "read": func.coalesce(QUERIES.c.input_rows, 0),
    "user": QUERIES.c.user_name,
    "state": QUERIES.c.state,
}
_TEXTS = ("user", "state")
_NEWEST = Order()


@dataclass(frozen=True, slots=True)
class Page:
    """``next``: where the next page begins; None at the end."""

    records: Sequence[Record]
    next: str | None


class WrongPageError(ValueError):
    """What should say where a page begins does not."""


class HistoryReader:
    """Reads in any thread; blocks. ``visible`` says whose statements may be seen."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def page(
        self, wanted: HistoryFilter, visible: Visible, limit: int, after: str | None = None, order: Order = _NEWEST
    ) -> Page:
        """In order, the newest first where nothing else is said. Raises WrongPageError."""
        at = None if after is None else _decoded(after, str if order.by in _TEXTS else int)
        known = _Known(visible)
        found: list[Record] = []
        for _ in range(_MOST_CHUNKS):
            rows = self._chunk(wanted, at, order)
            for row in rows:
                at = (row.pop(_KEY), row["query_id"])
                if known.may_see(row):
                    found.append(row)
                    if len(found) == limit:
                        return Page(found, _encoded(at))
            if len(rows) < _CHUNK:
                return Page(found, None)
        return Page(found, None if at is None else _encoded(at))

    def records(self, wanted: HistoryFilter, visible: Visible) -> Iterator[Record]:
        """All of them, the newest first."""
        after: str | None = None
        while True:
            page = self.page(wanted, visible, _CHUNK, after)
            yield from page.records
            after = page.next
            if after is None:
                return

    def one(self, query_id: str, visible: Visible) -> Record | None:
        """Everything of a statement, its tables and plan; None for one that is not there or not visible."""
        with self._engine.connect() as connection:
            row = connection.execute(select(QUERIES).where(QUERIES.c.query_id == query_id)).mappings().first()
            if row is None or not _Known(visible).may_see(dict(row)):
                return None
            of_query = select(TABLES).where(TABLES.c.query_id == query_id).order_by(TABLES.c.position)
            tables = [dict(table) for table in connection.execute(of_query).mappings()]
        return dict(row) | {name: _restored(row[name]) for name in _HEAVY} | {"tables": tables}

    def tables(self, wanted: HistoryFilter, visible: Visible) -> Iterator[Record]:
        """Tables that statements read and wrote, of the newest statements first."""
        for some in _chunks(self.records(wanted, visible)):
            users = {record["query_id"]: record["user_name"] for record in some}
            with self._engine.connect() as connection:
                asked = select(TABLES).where(TABLES.c.query_id.in_(users))
                found = [dict(row) for row in connection.execute(asked).mappings()]
            found.sort(key=lambda row: (-row["created"], row["query_id"], row["position"]))
            yield from (row | {"user_name": users[row["query_id"]]} for row in found)

    def procedures(self, visible: Visible, limit: int | None = None, *where: ColumnElement[bool]) -> Iterator[Record]:
        """Calls, the newest first; ``limit`` counts those that are not visible too."""
        known = _Known(visible)
        asked = select(PROCEDURES, QUERIES.c.principal, QUERIES.c.groups)
        asked = asked.outerjoin(QUERIES, QUERIES.c.query_id == PROCEDURES.c.query_id).where(*where)
        asked = asked.order_by(PROCEDURES.c.started.desc(), PROCEDURES.c.query_id.desc()).limit(limit)
        with self._engine.connect() as connection:
            rows = connection.execute(asked).mappings().all()
        yield from (dict(row) for row in rows if known.may_see(dict(row)))

    def _chunk(self, wanted: HistoryFilter, at: _Place | None, order: Order) -> list[Record]:
        key, query_id = ORDERS[order.by], QUERIES.c.query_id
        asked = select(*_LISTED, key.label(_KEY)).where(*_conditions(wanted))
        if at is not None:
            behind = (key > at[0], query_id > at[1]) if order.ascending else (key < at[0], query_id < at[1])
            asked = asked.where(or_(behind[0], and_(key == at[0], behind[1])))
        ends = (key.asc(), query_id.asc()) if order.ascending else (key.desc(), query_id.desc())
        asked = asked.order_by(*ends).limit(_CHUNK)
        with self._engine.connect() as connection:
            return [dict(row) for row in connection.execute(asked).mappings()]


class _Known:
    """Asks once for each owner."""

    def __init__(self, visible: Visible) -> None:
        self._visible = visible
        self._answers: dict[tuple[str, str | None, str | None], bool] = {}

    def may_see(self, row: Record) -> bool:
        key = (row["user_name"], row["principal"], row["groups"])
        if key not in self._answers:
            groups: tuple[str, ...] = msgspec.json.decode(key[2], type=tuple[str, ...]) if key[2] else ()
            self._answers[key] = self._visible(Identity(key[0], key[1], groups))
        return self._answers[key]


def _conditions(wanted: HistoryFilter) -> list[ColumnElement[bool]]:
    equal = {
        QUERIES.c.state: wanted.state and wanted.state.upper(),
        QUERIES.c.user_name: wanted.user,
        QUERIES.c.source: wanted.source,
        QUERIES.c.engine: wanted.engine and wanted.engine.lower(),
        QUERIES.c.query_type: wanted.query_type and wanted.query_type.upper(),
        QUERIES.c.error_name: wanted.error and wanted.error.upper(),
        QUERIES.c.trace_id: wanted.trace_id,
    }
    found: list[ColumnElement[bool]] = [column == value for column, value in equal.items() if value is not None]
    if wanted.group is not None:
        below = QUERIES.c.resource_group.startswith(wanted.group + ".", autoescape=True)
        found.append(or_(QUERIES.c.resource_group == wanted.group, below))
    if wanted.created_from is not None:
        found.append(QUERIES.c.created >= micros(wanted.created_from))
    if wanted.created_before is not None:
        found.append(QUERIES.c.created < micros(wanted.created_before))
    if wanted.text is not None:
        found.append(QUERIES.c.query.icontains(wanted.text, autoescape=True))
    if wanted.table is not None:
        found.append(QUERIES.c.query_id.in_(_reading(wanted.table)))
    if wanted.query_ids is not None:
        found.append(QUERIES.c.query_id.in_(sorted(wanted.query_ids)))
    return found


def _reading(table: str) -> Select[tuple[str]]:
    """Statements that read or wrote a table, named with or without schema and catalog."""
    *above, name = table.lower().split(".")
    columns = (TABLES.c.schema_name, TABLES.c.catalog)
    conditions = [TABLES.c.table_name == name, *(c == part for c, part in zip(columns, reversed(above), strict=False))]
    return select(TABLES.c.query_id).where(*conditions)


def _chunks(records: Iterator[Record]) -> Iterator[list[Record]]:
    some: list[Record] = []
    for record in records:
        some.append(record)
        if len(some) == _CHUNK:
            yield some
            some = []
    if some:
        yield some


def _encoded(at: _Place) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(at)).decode().rstrip("=")


def _decoded(text: str, wanted: type[int] | type[str]) -> _Place:
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        key, query_id = msgspec.json.decode(data, type=tuple[int | str, str])
    except (ValueError, msgspec.MsgspecError) as error:
        raise WrongPageError(text) from error
    if not isinstance(key, wanted):
        raise WrongPageError(text)
    return key, query_id


def _restored(content: bytes | None) -> str | None:
    return None if content is None else zlib.decompress(content).decode()
