"""Write, audit, publish by the session: where its writes go on a table with ``write.wap.enabled``.

Source: Iceberg 1.11, ``spark.wap.branch`` and ``spark.wap.id``. With a branch the session writes it, which
the first write makes, and reads it once it is there. With an id each write stages a snapshot that nobody reads until
``publish_changes`` applies it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Operation

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.snapshots.edit_files import EditFiles
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from coordinator.connectors.iceberg.snapshots.references import set_reference, unmoved
from coordinator.vocabulary.session_properties import SessionProperty
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session

ENABLED = "write.wap.enabled"
WAP_BRANCH, WAP_ID = "wap_branch", "wap_id"
PROPERTIES = (
    SessionProperty(WAP_BRANCH, "varchar", "", f"The branch that writes go to, of tables with {ENABLED}"),
    SessionProperty(WAP_ID, "varchar", "", f"The id under which changes are staged, of tables with {ENABLED}"),
)
_SPARKS_ID = "spark.wap.id"


@dataclass(frozen=True, slots=True)
class Audited:
    """Where a session's writes to a table go, if not to its main branch; one of the two at most."""

    branch: str | None = None
    wap_id: str | None = None

    @property
    def settings(self) -> Mapping[str, str]:
        """What Spark is told."""
        return {} if self.wap_id is None else {_SPARKS_ID: self.wap_id}


def audited(catalog: str, session: Session, table: Table) -> Audited:
    """Raises ProcessionError where a session asks for both."""
    asked = session.catalog_properties.get(catalog, {})
    branch, wap_id = asked.get(WAP_BRANCH) or None, asked.get(WAP_ID) or None
    if table.properties.get(ENABLED, "").lower() != "true" or branch == MAIN_BRANCH:
        return Audited()
    if branch is not None and wap_id is not None:
        message = f"Cannot set both WAP ID and branch, but got ID [{wap_id}] and branch [{branch}]"
        raise ProcessionError(ErrorCode.INVALID_SESSION_PROPERTY, message)
    return Audited(branch, wap_id)


def branch_to_read(catalog: str, session: Session, table: Table) -> str | None:
    """The session's branch of the table, where it is there already."""
    branch = audited(catalog, session, table).branch
    return None if branch is None else _known(table, branch)


def branch_to_write(catalog: TableCatalog, schema: str, table: Table, branch: str) -> str:
    """The branch, made at the table's current snapshot where there is none. Raises ProcessionError."""

    def made(newest: Table) -> Change[str]:
        current = newest.current_snapshot()
        if (known := _known(newest, branch)) is not None or current is None:
            return Change(known or "")
        update = set_reference(branch, current.snapshot_id, SnapshotRefType.BRANCH, None)
        return Change(branch, (update,), (unmoved(branch, None),))

    name = table.name()[-1]
    return _known(table, branch) or commit_change(catalog, schema, name, made) or _begun(catalog, schema, name, branch)


def _begun(catalog: TableCatalog, schema: str, name: str, branch: str) -> str:
    """A branch of a table without snapshots begins with an empty one, as Iceberg's ``createBranch`` makes it."""
    with mapped(f"{schema}.{name}"):
        transaction = catalog.open(schema, name).transaction()
        EditFiles(transaction, Operation.APPEND, branch=branch).stage()
        transaction.commit_transaction()
    return branch


def _known(table: Table, branch: str) -> str | None:
    ref = table.metadata.refs.get(branch)
    if ref is not None and ref.snapshot_ref_type is not SnapshotRefType.BRANCH:
        raise ProcessionError(ErrorCode.INVALID_SESSION_PROPERTY, f"{WAP_BRANCH} {branch} is a tag of the table")
    return None if ref is None else branch
