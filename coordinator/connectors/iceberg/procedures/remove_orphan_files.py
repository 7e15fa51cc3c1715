"""``CALL catalog.system.remove_orphan_files(schema, table_name, older_than, location, dry_run, …)``"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import Annotated, cast

from pyiceberg.table import Table

from coordinator.connectors.iceberg.maintenance.file_deletion import concurrent_deletes, delete_all
from coordinator.connectors.iceberg.maintenance.file_references import FileReferences, spelling
from coordinator.connectors.iceberg.maintenance.listing import FoundFile, walk
from coordinator.connectors.iceberg.maintenance.orphans import (
    Mode,
    ReferencedFiles,
    Spool,
    conflict_text,
    find_orphans,
    hidden_names,
    orphans_among,
)
from coordinator.connectors.iceberg.maintenance.shared_folders import (
    folder,
    is_listed_at_once,
    other_table_at,
    table_around,
)
from coordinator.connectors.iceberg.manifests.live_files import LARGE_MANIFESTS
from coordinator.connectors.iceberg.paths import normalize
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import (
    call_spark,
    call_spark_if_any,
    said_by_spark,
    zoned_timestamp,
)
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import (
    ArgumentError,
    OutputColumn,
    ProcedureDeclaration,
    ProcedureKind,
    ProcedureProgress,
)
from shared.spi.procedure_arguments import Declared, declared_arguments

_LOG = logging.getLogger(__name__)
_DEFAULT_AGE, _LEAST_AGE = timedelta(days=3), timedelta(days=1)
_SAMPLE = 20_000
_Find = Callable[[Sequence[str]], list[str]]
_MODES = ("ERROR", "IGNORE", "DELETE")
_PASSED_ON = (
    "location",
    "max_concurrent_deletes",
    "stream_results",
    "file_list_view",
    "equal_schemes",
    "equal_authorities",
    "prefix_mismatch_mode",
    "prefix_listing",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    older_than: Annotated[
        datetime | None,
        Declared("timestamp", "Only files that are older, in the session's time zone; default: 3 days."),
    ] = None
    location: Annotated[
        str | None, Declared("varchar", "Where to look, in an allowed location; default: the table's.")
    ] = None
    dry_run: Annotated[
        bool | None, Declared("boolean", "Only list them; default: true unless older_than is given.")
    ] = None
    max_concurrent_deletes: Annotated[
        int | None, Declared("integer", "Files deleted at the same time; default: 8.")
    ] = None
    stream_results: Annotated[bool | None, Declared("boolean", f"Show at most {_SAMPLE} of them.")] = None
    file_list_view: Annotated[
        str | None,
        Declared(
            "varchar",
            "A table of this catalog, or a view of Spark's, with file_path and last_modified, instead of a listing.",
        ),
    ] = None
    equal_schemes: Annotated[
        Mapping[str, str] | None,
        Declared("map(varchar,varchar)", "Schemes that mean the same, such as 's3a,s3n' to 's3'."),
    ] = None
    equal_authorities: Annotated[
        Mapping[str, str] | None, Declared("map(varchar,varchar)", "Authorities that mean the same.")
    ] = None
    prefix_mismatch_mode: Annotated[
        str | None, Declared("varchar", f"What another scheme or authority does: {', '.join(_MODES)}.")
    ] = None
    prefix_listing: Annotated[
        bool | None, Declared("boolean", "If Spark lists the files: list by prefix where the storage can.")
    ] = None


DECLARATION = ProcedureDeclaration(
    name="remove_orphan_files",
    kind=ProcedureKind.COORDINATOR,
    summary="Delete files under the table's location that no snapshot needs.",
    arguments=declared_arguments(Arguments),
    output=(OutputColumn("orphan_file_location", "varchar", "A file that was deleted, or would be."),),
    iceberg_order=(
        *("older_than", "location", "dry_run", "max_concurrent_deletes", "file_list_view", "equal_schemes"),
        *("equal_authorities", "prefix_mismatch_mode", "prefix_listing", "stream_results"),
    ),
    example="CALL iceberg.system.remove_orphan_files(table => 'sales.orders', "
    "older_than => TIMESTAMP '2026-11-01 00:00:00')",
    notes="Without older_than nothing is deleted unless dry_run => false says so. Files younger than a day are never "
    "taken: a writer may not have committed them yet. Names that begin with _ or . are left alone. Where there are "
    "more than 256 MB of manifests, Iceberg's own procedure does it in Spark. A folder that holds the metadata of "
    "another table of the catalog, or is inside such a table's own, is refused.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError for an unknown mode, too short an age, a table without GC, and conflicting prefixes."""
    mode, at_once = _mode(call), concurrent_deletes(call.arguments.max_concurrent_deletes)
    older_than, dry_run = _age(call)
    table = call.read()
    location = _location(call, table)
    checked = is_listed_at_once(call.catalog)
    if checked:
        _refuse_tables_inside(call, table, location)
    listed = call.arguments.file_list_view
    view = None if listed is None else call.catalog.load(*call.named_table(listed))
    if listed is not None and view is None:
        if not (checked or dry_run):
            _refuse_tables_inside(call, table, location)
        return _paths(_with_a_view_of_spark(call, listed, dry_run=dry_run))
    equal = (call.arguments.equal_schemes or {}, call.arguments.equal_authorities or {})
    references = FileReferences(spelling(*equal))
    needed = ReferencedFiles(table.io, references)
    if needed.list_manifests(table) > LARGE_MANIFESTS:
        if not (checked or dry_run):
            _refuse_tables_inside(call, table, location)
            checked = True
        rows = call_spark_if_any(call, "remove_orphan_files", _given(call, dry_run=dry_run))
        if rows is not None:
            return _paths(rows)
    needed.read(_progress(call, "reading manifests"))
    files = walk(table.io, location, hidden=hidden_names(table)) if view is None else _of_view(view, location)
    with Spool() as orphans:
        for found in find_orphans(_counted(call, files), references, older_than, mode):
            orphans.add(found)
        if mode == "ERROR" and references.conflicts:
            raise ArgumentError("prefix_mismatch_mode", conflict_text(references))
        if dry_run:
            return _rows(call, orphans)
        if orphans.count and not checked:
            _refuse_tables_inside(call, table, location)
        find = partial(orphans_among, references=references, mode=mode)
        return _rows(call, _deleted(call, table, needed, orphans, find, at_once))


def _mode(call: Call[Arguments]) -> Mode:
    mode = call.arguments.prefix_mismatch_mode
    if mode is not None and mode.upper() not in _MODES:
        raise ArgumentError("prefix_mismatch_mode", f"Invalid mode: {mode} (one of {', '.join(_MODES)})")
    return cast(Mode, "ERROR" if mode is None else mode.upper())


def _age(call: Call[Arguments]) -> tuple[datetime, bool]:
    """The moment before which files count, and whether to only list them."""
    given = zoned_timestamp(call, call.arguments.older_than)
    if given is not None and given > call.context.now - _LEAST_AGE:
        message = (
            "Cannot remove orphan files with an interval less than 24 hours. Executing this procedure with a short "
            "interval may corrupt the table if other operations are happening at the same time."
        )
        raise ArgumentError("older_than", message)
    dry_run = call.arguments.dry_run
    # The age that nobody chose must not delete anything.
    return given or call.context.now - _DEFAULT_AGE, (given is None) if dry_run is None else dry_run


def _location(call: Call[Arguments], table: Table) -> str:
    if table.properties.get("gc.enabled", "true").lower() == "false":
        message = "Cannot remove orphan files: GC is disabled (deleting files may corrupt other tables)"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    location: str = call.arguments.location or table.location()
    if call.arguments.location:
        call.check_location("location", location, table.location())
    inner, outer = folder(table.location()), folder(location)
    if inner != outer and inner.startswith(outer):
        message = f"Location {location} holds more than the table, whose own is {table.location()}"
        raise ArgumentError("location", message)
    if not outer.startswith(inner):
        other = table_around(call.catalog, outer, call.context.check_cancelled)
        if other is not None:
            raise _of_another("location", location, other)
    return location


def _refuse_tables_inside(call: Call[Arguments], table: Table, location: str) -> None:
    """Raises ArgumentError when another table lies in the folder: its live files would be deleted."""
    other = other_table_at(call.catalog, table, folder(location), call.context.check_cancelled)
    if other is not None:
        raise _of_another("location" if call.arguments.location else "table_name", location, other)


def _of_another(argument: str, location: str, other: str) -> ArgumentError:
    """Whose files they are the log says: who calls may not know of that table."""
    _LOG.warning("orphans in %s are left alone, since table %s has files there", location, other)
    return ArgumentError(argument, f"Location {location} holds files of another table")


def _with_a_view_of_spark(call: Call[Arguments], view: str, *, dry_run: bool) -> Sequence[Mapping[str, object]]:
    """A temporary view, which has a plain name; any other name may mean a table of another catalog to Spark."""
    missing = ArgumentError("file_list_view", f"Table or view {view} does not exist", ErrorCode.NOT_FOUND)
    if not view.isidentifier():
        raise missing
    try:
        return call_spark(call, "remove_orphan_files", _given(call, dry_run=dry_run))
    except ProcessionError as error:
        if "TABLE_OR_VIEW_NOT_FOUND" not in said_by_spark(error):
            raise
        raise missing from error


def _of_view(view: Table, location: str) -> Iterator[FoundFile]:
    """The rows of a table as files under the location."""
    inside = f"{normalize(location).rstrip('/')}/"
    for batch in view.scan(selected_fields=("file_path", "last_modified")).to_arrow_batch_reader():
        for path, modified in zip(
            *(batch.column(name).to_pylist() for name in ("file_path", "last_modified")), strict=True
        ):
            if path is not None and modified is not None and normalize(path).startswith(inside):
                yield FoundFile(path, 0, modified if modified.tzinfo else modified.replace(tzinfo=UTC))


def _progress(call: Call[Arguments], phase: str) -> Callable[[int, int], None]:
    def report(done: int, total: int) -> None:
        call.context.check_cancelled()
        call.context.report(ProcedureProgress(done, total, phase))

    return report


def _counted(call: Call[Arguments], files: Iterable[FoundFile]) -> Iterator[FoundFile]:
    report = _progress(call, "listing files")
    for number, file in enumerate(files):
        if number % 10_000 == 0:
            report(number, 0)
        yield file


def _deleted(
    call: Call[Arguments], table: Table, needed: ReferencedFiles, orphans: Spool, find: _Find, at_once: int
) -> Iterator[str]:
    """Delete what is still an orphan: another writer may have taken old files in since we looked."""
    newest = call.catalog.load(call.schema, call.table)
    if newest is not None:
        needed.list_manifests(newest)
        needed.read(lambda _done, _total: None)
    report, done, waiting = _progress(call, "deleting files"), 0, iter(orphans)
    while batch := list(islice(waiting, 1000)):
        doomed = find(batch)
        for went in delete_all(table.io, doomed, at_once):
            yield from (location for location, gone in zip(doomed, went, strict=True) if gone)
        done += len(batch)
        report(done, orphans.count)


def _rows(call: Call[Arguments], locations: Iterable[str]) -> Rows:
    if not call.arguments.stream_results:
        return [[location] for location in sorted(locations)]
    shown: list[list[str]] = []
    for location in locations:
        if len(shown) < _SAMPLE:
            shown.append([location])
    return shown


def _given(call: Call[Arguments], *, dry_run: bool) -> dict[str, object]:
    """The arguments of Iceberg's own procedure."""
    given = {"older_than": zoned_timestamp(call, call.arguments.older_than), "dry_run": dry_run}
    return given | call.given(*_PASSED_ON)


def _paths(rows: Iterable[Mapping[str, object]]) -> Rows:
    return sorted([str(row["orphan_file_location"])] for row in rows)
