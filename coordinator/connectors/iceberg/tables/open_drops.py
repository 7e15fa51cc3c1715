"""Tables that a catalog is about to forget: recorded before it does, until their files are gone."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from coordinator.connectors.iceberg.tables.at_work import AtWork
from coordinator.connectors.iceberg.tables.work_records import WorkPlace, WorkRecords, shared_form

_METADATA = sa.MetaData()
_DROPS = sa.Table(
    "open_drops",
    _METADATA,
    sa.Column("drop_id", sa.String, primary_key=True),
    sa.Column("catalog", sa.String, nullable=False),
    sa.Column("schema_name", sa.String, nullable=False),
    sa.Column("table_name", sa.String, nullable=False),
    sa.Column("table_uuid", sa.String, nullable=False),
    sa.Column("metadata_location", sa.String, nullable=False),
)
shared_form(_DROPS)


@dataclass(frozen=True, slots=True)
class OpenDrop:
    """``metadata_location`` names all files, and is the last of them to go."""

    id: str
    schema: str
    table: str
    table_uuid: str
    metadata_location: str


class OpenDrops:
    """The record of one catalog; thread-safe, each write durable on return."""

    def __init__(self, place: WorkPlace) -> None:
        self.records = WorkRecords(place, _DROPS)
        self._catalog = place.catalog
        self.at_work = AtWork()

    def begin(self, drop: OpenDrop) -> None:
        """Before the catalog forgets the table. Nothing else here finishes it until it is closed or released."""
        row = {
            "drop_id": drop.id,
            "catalog": self._catalog,
            "schema_name": drop.schema,
            "table_name": drop.table,
            "table_uuid": drop.table_uuid,
            "metadata_location": drop.metadata_location,
        }
        self.records.add(row)
        self.at_work.claim(drop.id)

    def close(self, drop_id: str) -> None:
        """After the last of the files went, or when the table stays."""
        self.records.settle({"drop_id": drop_id})
        self.at_work.release(drop_id)

    def open_entries(self) -> list[OpenDrop]:
        """Empty when nothing was ever recorded."""
        names = ("drop_id", "schema_name", "table_name", "table_uuid", "metadata_location")
        return [OpenDrop(*(row[name] for name in names)) for row in self.records.open_rows()]
