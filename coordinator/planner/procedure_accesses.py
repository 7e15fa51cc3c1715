"""What a bound call asks for: EXECUTE on the procedure, and what the procedure does to tables.

As in Presto 0.297, whatever changes which rows or files a table has needs INSERT and DELETE on it, and is refused where
a row filter or mask keeps some of it from who calls. A procedure of another package that is not named here needs that
too where it takes a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import assert_never

from coordinator.analyzer.argument_order import names_in
from coordinator.analyzer.procedure_call import BoundCall
from coordinator.connectors.registry import Catalogs
from coordinator.planner.guard import Guard, columns_of
from shared.errors import ErrorCode, ProcessionError
from shared.spi import accesses as of
from shared.spi.procedure import ProcedureKind


class Effect(Enum):
    """What a procedure does to the table that its first two arguments name."""

    NOTHING = "nothing"
    READS = "reads"
    CHANGES = "changes"
    DELETES = "deletes"
    ANALYZES = "analyzes"
    INSERTS = "inserts"
    SETS_PROPERTIES = "sets properties"
    CREATES = "creates"
    DROPS = "drops"


_FORGETTING = (
    "flush_metadata_cache",
    "invalidate_manifest_file_cache",
    "invalidate_metadata_cache",
    "invalidate_statistics_file_cache",
)
_ASKING = ("explain_maintenance", "maintain", "pause", "resume")
"""Of the maintenance service, which shows each user the tables that they may see and asks who may tell it what."""
EFFECTS: Mapping[str, Effect] = {
    **dict.fromkeys(
        ("clean_data_cache", "help", "kill_job", "kill_query", "show_jobs", *_ASKING, *_FORGETTING), Effect.NOTHING
    ),
    **dict.fromkeys(
        (
            "ancestors_of", "commits_compare", "copy_to_table", "create_changelog_view", "export_metadata",
            "file_size_stats", "rewrite_table_path", "show_commits_metadata", "show_refs", "show_savepoints",
            "show_snapshot_files", "show_snapshot_partitions", "show_snapshot_stats", "show_snapshots",
            "table_storage", "validate_files", "write_amplification",
        ),
        Effect.READS,
    ),
    **dict.fromkeys(
        (
            "auto_maintain", "cherrypick_snapshot", "convert_equality_deletes", "create_branch", "create_savepoint",
            "create_tag", "delete_savepoint", "drop_branch", "drop_tag", "fast_forward", "publish_changes",
            "replace_branch", "replace_tag", "rewrite_data_files", "rewrite_manifests",
            "rewrite_position_delete_files", "rollback_to_instant", "rollback_to_savepoint", "rollback_to_snapshot",
            "rollback_to_timestamp", "set_current_snapshot",
        ),
        Effect.CHANGES,
    ),
    **dict.fromkeys(
        ("expire_partitions", "expire_snapshots", "remove_dangling_deletes", "remove_orphan_files"), Effect.DELETES
    ),
    **dict.fromkeys(("compute_partition_stats", "compute_table_stats", "drop_extended_stats"), Effect.ANALYZES),
    "add_files": Effect.INSERTS,
    **dict.fromkeys(("set_table_property", "upgrade_format_version"), Effect.SETS_PROPERTIES),
    **dict.fromkeys(("migrate", "register_table", "snapshot"), Effect.CREATES),
    "unregister_table": Effect.DROPS,
}  # fmt: skip
_STEPS = (
    "rewrite_data_files",
    "remove_dangling_deletes",
    "rewrite_manifests",
    "expire_snapshots",
    "compute_table_stats",
)
"""What auto_maintain calls."""
_OF_FILES = frozenset(
    (
        *_STEPS, "auto_maintain", "compute_partition_stats", "convert_equality_deletes", "drop_extended_stats",
        "remove_orphan_files", "rewrite_position_delete_files", "upgrade_format_version",
    )
)  # fmt: skip
"""What looks after files and tells no values."""


def procedure_accesses(bound: BoundCall, columns: Sequence[str]) -> tuple[of.Access, ...]:
    """In the order in which they are asked; ``columns`` are those of its table."""
    name = bound.declaration.name
    called = (name, *_STEPS) if name == "auto_maintain" and not bound.arguments.get("dry_run") else (name,)
    executed = tuple(of.ExecuteProcedure(of.RoutineName(bound.catalog, "system", each)) for each in called)
    table = table_of(bound)
    if table is None:
        return executed
    found: list[of.Access] = [*executed]
    for each in called:
        found += _of_target(effect_of(bound, each), table, columns, bound.arguments)
    return (*found, *_of_filter(bound, table, columns), *_of_others(bound, table))


def permit_call(guard: Guard, bound: BoundCall, catalogs: Catalogs) -> None:
    """Raises AccessDeniedError, and NOT_SUPPORTED for a table of which who calls may not see everything."""
    table = table_of(bound)
    columns = () if table is None else columns_of(catalogs, table)
    accesses = procedure_accesses(bound, columns)
    _refuse_stored_rows(bound, accesses, catalogs)
    guard.ask(*(access for access in accesses if isinstance(access, of.ExecuteProcedure)))
    if table is not None and effect_of(bound, bound.declaration.name) not in (Effect.NOTHING, Effect.CREATES):
        restriction = guard.restriction(table)
        if restriction is not None:
            message = f"Procedure {bound.declaration.name} is not supported for table with {restriction}"
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, message, location=bound.location)
    guard.ask(*accesses)


def _refuse_stored_rows(bound: BoundCall, accesses: Sequence[of.Access], catalogs: Catalogs) -> None:
    """The rows of a materialized view were made with its owner's rights: calls look after their files, and no more.

    Raises NOT_SUPPORTED.
    """
    for access in accesses:
        for name in (getattr(access, "table", None), getattr(access, "view", None)):
            if not isinstance(name, of.TableName) or not _is_storage(name, catalogs):
                continue
            if name != table_of(bound) or bound.declaration.name not in _OF_FILES or _chooses(bound):
                message = (
                    f"{name} holds the rows of a materialized view: calls can do no more than look after its files"
                )
                raise ProcessionError(ErrorCode.NOT_SUPPORTED, message, location=bound.location)


def _is_storage(name: of.TableName, catalogs: Catalogs) -> bool:
    try:
        views = catalogs.capabilities(name.catalog).materialized_views
        return views is not None and (
            views.is_storage(name.table) or views.storage(name.schema, name.table) is not None
        )
    except ProcessionError:
        return False  # there is no such catalog, or no such schema


def table_of(bound: BoundCall) -> of.TableName | None:
    """The table that the first two arguments name."""
    if not bound.declaration.takes_table:
        return None
    schema, name = (str(bound.arguments[key]).lower() for key in ("schema", "table_name"))
    return of.TableName(bound.catalog, schema, name)


def effect_of(bound: BoundCall, name: str) -> Effect:
    known = EFFECTS.get(name)
    if known is not None:
        return known
    worst = bound.declaration.takes_table or bound.declaration.kind is ProcedureKind.TABLE_DATA_REWRITE
    return Effect.CHANGES if worst else Effect.NOTHING


def _of_target(
    effect: Effect, table: of.TableName, columns: Sequence[str], arguments: Mapping[str, object]
) -> tuple[of.Access, ...]:
    match effect:
        case Effect.NOTHING:
            return ()
        case Effect.READS:
            return (of.SelectFromColumns(table, tuple(columns)),)
        case Effect.CHANGES:
            return (of.InsertIntoTable(table), of.DeleteFromTable(table))
        case Effect.DELETES:
            return (of.DeleteFromTable(table),)
        case Effect.ANALYZES:
            return (of.SelectFromColumns(table, ()), of.InsertIntoTable(table))
        case Effect.INSERTS:
            return (of.InsertIntoTable(table),)
        case Effect.SETS_PROPERTIES:
            return (of.SetTableProperties(table, (str(arguments.get("key", "format_version")),)),)
        case Effect.CREATES:
            return (of.CreateTable(table),)
        case Effect.DROPS:
            return (of.DropTable(table),)
        case _:
            assert_never(effect)


def _of_filter(bound: BoundCall, table: of.TableName, columns: Sequence[str]) -> tuple[of.Access, ...]:
    """A filter tells by its effect which values there are, and an order by that of the rows: who gives one reads."""
    return (of.SelectFromColumns(table, tuple(columns)),) if _chooses(bound) else ()


def _chooses(bound: BoundCall) -> bool:
    given = bound.arguments.get("filter")
    plain = given is None or str(given).strip().upper() == "TRUE"
    return not plain or bool(bound.arguments.get("sorted_by"))


def _of_others(bound: BoundCall, table: of.TableName) -> tuple[of.Access, ...]:
    """Tables and views that other arguments name."""
    given = bound.arguments
    match bound.declaration.name:
        case "copy_to_table":
            target = _named(str(given["new_table"]), table)
            mode = str(given["save_mode"]).lower()
            made = of.InsertIntoTable(target) if mode == "append" else of.CreateTable(target)
            return (made, of.DropTable(target)) if mode == "overwrite" else (made,)
        case "create_changelog_view":
            view = str(given["changelog_view"] or f"{table.table}_changes").lower()
            rows = of.TableName(table.catalog, table.schema, f"{view}_rows")
            made_view = of.TableName(table.catalog, table.schema, view)
            return (of.CreateView(made_view), of.CreateTable(rows))
        case "remove_orphan_files" if given.get("file_list_view") is not None:
            return (of.SelectFromColumns(_named(str(given["file_list_view"]), table), ()),)
        case "commits_compare" if given.get("other_table") is not None:
            return (of.SelectFromColumns(_named(str(given["other_table"]), table), ()),)
        case "add_files" | "snapshot" | "migrate":
            return _of_source(given.get("source_table"), table)
        case _:
            return ()


def _of_source(text: str | None, table: of.TableName) -> tuple[of.Access, ...]:
    """A source that is the name of a table of Spark's; folders are allowed by their locations."""
    if text is None:
        return (of.SelectFromColumns(of.TableName("spark_catalog", table.schema, table.table), ()),)
    parts = names_in(text.replace("`", '"'))
    if parts is None or parts[0].lower() in ("parquet", "orc", "avro"):
        return ()
    catalog, *schemas, name = [part.lower() for part in _completed(parts)]
    return (of.SelectFromColumns(of.TableName(catalog, ".".join(schemas), name), ()),)


def _completed(parts: Sequence[str]) -> Sequence[str]:
    """With Spark's own catalog and schema before names that leave them out."""
    if len(parts) == 1:
        return "spark_catalog", "default", *parts
    return parts if len(parts) > 2 else ("spark_catalog", *parts)


def _named(text: str, table: of.TableName) -> of.TableName:
    """As ``named_table`` of the procedures: a schema may be inside others, ``a.b.table``."""
    *schemas, name = text.lower().split(".")
    if len(schemas) > 1 and schemas[0] == table.catalog:
        schemas = schemas[1:]
    return of.TableName(table.catalog, ".".join(schemas) or table.schema, name)
