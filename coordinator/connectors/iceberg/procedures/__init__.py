"""The procedures of an Iceberg catalog. A new one is a file here and a line in ``iceberg_procedures``;

packages outside add theirs through the entry point group ``procession.procedures``: each entry is a function
``(catalog: TableCatalog, journal: Journal) -> Sequence[Procedure]``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.journal import Journal
from coordinator.connectors.iceberg.procedures import (
    add_files,
    ancestors_of,
    cherrypick_snapshot,
    commits_compare,
    compute_partition_stats,
    compute_table_stats,
    copy_to_table,
    create_branch,
    create_changelog_view,
    create_savepoint,
    create_tag,
    delete_savepoint,
    drop_branch,
    drop_tag,
    expire_partitions,
    expire_snapshots,
    export_metadata,
    fast_forward,
    file_size_stats,
    publish_changes,
    register_table,
    remove_dangling_deletes,
    remove_orphan_files,
    replace_branch,
    replace_tag,
    rewrite_manifests,
    rewrite_position_delete_files,
    rewrite_table_path,
    rollback_to_instant,
    rollback_to_savepoint,
    rollback_to_snapshot,
    rollback_to_timestamp,
    set_current_snapshot,
    set_table_property,
    show_commits_metadata,
    show_refs,
    show_savepoints,
    show_snapshot_files,
    show_snapshot_partitions,
    show_snapshot_stats,
    show_snapshots,
    table_storage,
    unregister_table,
    upgrade_format_version,
    validate_files,
    write_amplification,
)
from coordinator.connectors.iceberg.procedures.auto_maintain import AutoMaintain
from coordinator.connectors.iceberg.procedures.rewrite_data_files import RewriteDataFiles
from coordinator.connectors.iceberg.procedures.table_procedure import TableProcedure
from shared.spi.procedure import Procedure

ENTRY_POINTS = "procession.procedures"
ProcedureFactory = Callable[[TableCatalog, Journal], Sequence[Procedure]]

_IN_COORDINATOR = (
    add_files,
    ancestors_of,
    cherrypick_snapshot,
    commits_compare,
    compute_partition_stats,
    compute_table_stats,
    copy_to_table,
    create_branch,
    create_changelog_view,
    create_savepoint,
    create_tag,
    delete_savepoint,
    drop_branch,
    drop_tag,
    expire_partitions,
    expire_snapshots,
    export_metadata,
    fast_forward,
    file_size_stats,
    publish_changes,
    register_table,
    remove_dangling_deletes,
    remove_orphan_files,
    replace_branch,
    replace_tag,
    rewrite_manifests,
    rewrite_position_delete_files,
    rewrite_table_path,
    rollback_to_instant,
    rollback_to_savepoint,
    rollback_to_snapshot,
    rollback_to_timestamp,
    set_current_snapshot,
    set_table_property,
    show_commits_metadata,
    show_refs,
    show_savepoints,
    show_snapshot_files,
    show_snapshot_partitions,
    show_snapshot_stats,
    show_snapshots,
    table_storage,
    unregister_table,
    upgrade_format_version,
    validate_files,
    write_amplification,
)
"""Modules with a ``DECLARATION`` and a function ``answer``."""


def iceberg_procedures(catalog: TableCatalog, journal: Journal) -> tuple[Procedure, ...]:
    """Every procedure of one catalog: ours, then those of installed packages."""
    own: tuple[Procedure, ...] = (
        AutoMaintain(catalog, lambda: own),
        RewriteDataFiles(catalog, journal),
        *(TableProcedure(module.DECLARATION, module.answer, catalog) for module in _IN_COORDINATOR),
    )
    factories: list[ProcedureFactory] = [point.load() for point in entry_points(group=ENTRY_POINTS)]
    return own + tuple(procedure for factory in factories for procedure in factory(catalog, journal))
