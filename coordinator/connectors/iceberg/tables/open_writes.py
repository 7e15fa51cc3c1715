"""Writes that Spark does for a statement: a record of each, so that what a failed one left can be told and removed.

The id is drawn for one write, and the names of all files that Spark makes for it hold it (docs/adr/0013).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa
from pyiceberg.table import Table

from coordinator.connectors.iceberg.locations import LOCATION_PROPERTIES
from coordinator.connectors.iceberg.tables.work_records import WorkPlace, WorkRecords, shared_form

_METADATA = sa.MetaData()
_WRITES = sa.Table(
    "open_writes",
    _METADATA,
    sa.Column("write_id", sa.String, primary_key=True),
    sa.Column("catalog", sa.String, nullable=False),
    sa.Column("schema_name", sa.String, nullable=False),
    sa.Column("table_name", sa.String, nullable=False),
    sa.Column("table_uuid", sa.String, nullable=False),
    sa.Column("directories", sa.String, nullable=False),
    sa.Column("sequence_number", sa.BigInteger, nullable=False),
    sa.Column("begun_at", sa.String, nullable=False),
)
shared_form(_WRITES)


_UNKNOWN = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class OpenWrite:
    """``directories`` are those that its files lie in; ``sequence_number`` is the table's last one before it began."""

    id: str
    schema: str
    table: str
    table_uuid: str
    directories: tuple[str, ...]
    sequence_number: int
    begun_at: datetime = _UNKNOWN


def open_write(write_id: str, schema: str, table: Table) -> OpenWrite:
    """The record of a write that is about to begin."""
    metadata, location = table.metadata, table.location().rstrip("/")
    named = [metadata.properties[name] for name in sorted(LOCATION_PROPERTIES & metadata.properties.keys())]
    own = [f"{location}/data", f"{location}/metadata"]
    if "write.location-provider.impl" in metadata.properties:
        own = [location]
    directories = tuple(dict.fromkeys([*own, *named]))
    sequence_number = 0 if metadata.format_version == 1 else metadata.last_sequence_number
    uuid = str(metadata.table_uuid)
    return OpenWrite(write_id, schema, table.name()[-1], uuid, directories, sequence_number, datetime.now(UTC))


class OpenWrites:
    """The record of one catalog; thread-safe, each write durable on return."""

    def __init__(self, place: WorkPlace) -> None:
        self.records = WorkRecords(place, _WRITES)
        self._catalog = place.catalog

    def begin(self, write: OpenWrite) -> None:
        """Before the engine is told anything."""
        row = {
            "write_id": write.id,
            "catalog": self._catalog,
            "schema_name": write.schema,
            "table_name": write.table,
            "table_uuid": write.table_uuid,
            "directories": json.dumps(write.directories),
            "sequence_number": write.sequence_number,
            "begun_at": write.begun_at.isoformat(),
        }
        self.records.add(row)

    def close(self, write_id: str) -> None:
        """After it was committed, or nothing of it is left."""
        self.records.settle({"write_id": write_id})

    def is_mine(self, write_id: str) -> bool:
        """Whether no other coordinator has it, or has settled it. Raises NotCommittedError where that is unknown."""
        return self.records.is_mine({"write_id": write_id})

    def taken_over(self, write_id: str) -> bool:
        """Whether it is another coordinator that settles it."""
        return self.records.taken_over({"write_id": write_id}) is not None

    def open_entries(self) -> list[OpenWrite]:
        """Oldest first; empty when nothing was ever recorded."""
        return [
            OpenWrite(
                r["write_id"],
                r["schema_name"],
                r["table_name"],
                r["table_uuid"],
                tuple(json.loads(r["directories"])),
                r["sequence_number"],
                datetime.fromisoformat(r["begun_at"]),
            )
            for r in self.records.open_rows("begun_at")
        ]
