"""Snapshots that a table is about to forget: recorded before it does, until the files that only they need are gone."""

from __future__ import annotations

import json
from dataclasses import dataclass

import sqlalchemy as sa

from coordinator.connectors.iceberg.tables.at_work import AtWork
from coordinator.connectors.iceberg.tables.work_records import WorkPlace, WorkRecords, shared_form

_METADATA = sa.MetaData()
_EXPIRIES = sa.Table(
    "open_expiries",
    _METADATA,
    sa.Column("expiry_id", sa.String, primary_key=True),
    sa.Column("catalog", sa.String, nullable=False),
    sa.Column("schema_name", sa.String, nullable=False),
    sa.Column("table_name", sa.String, nullable=False),
    sa.Column("table_uuid", sa.String, nullable=False),
    sa.Column("snapshots", sa.Text, nullable=False),
    sa.Column("statistics", sa.Text, nullable=False),
)
shared_form(_EXPIRIES)


@dataclass(frozen=True, slots=True)
class OpenExpiry:
    """``snapshots`` are ids with their manifest lists; ``statistics`` files of statistics of theirs."""

    id: str
    schema: str
    table: str
    table_uuid: str
    snapshots: tuple[tuple[int, str], ...]
    statistics: tuple[str, ...] = ()


class OpenExpiries:
    """The record of one catalog; thread-safe, each write durable on return."""

    def __init__(self, place: WorkPlace) -> None:
        self.records = WorkRecords(place, _EXPIRIES)
        self._catalog = place.catalog
        self.at_work = AtWork()

    def begin(self, expiry: OpenExpiry) -> None:
        """Before the table forgets."""
        row = {
            "expiry_id": expiry.id,
            "catalog": self._catalog,
            "schema_name": expiry.schema,
            "table_name": expiry.table,
            "table_uuid": expiry.table_uuid,
            "snapshots": json.dumps(expiry.snapshots),
            "statistics": json.dumps(expiry.statistics),
        }
        self.records.add(row)

    def close(self, expiry_id: str) -> None:
        """After the last of the files went, or when the table keeps them."""
        self.records.settle({"expiry_id": expiry_id})

    def open_entries(self) -> list[OpenExpiry]:
        """Empty when nothing was ever recorded."""
        return [
            OpenExpiry(
                r["expiry_id"],
                r["schema_name"],
                r["table_name"],
                r["table_uuid"],
                tuple((number, location) for number, location in json.loads(r["snapshots"])),
                tuple(json.loads(r["statistics"])),
            )
            for r in self.records.open_rows()
        ]
