"""Rows that a statement changed, as the summary of Spark's snapshot tells them; the figures are Spark's own."""

from __future__ import annotations

import pytest

from coordinator.connectors.iceberg.tables.writing import _count


@pytest.mark.parametrize(
    ("merged", "records", "changed"),
    [
        ({"copied": 97, "updated": 3}, {"added": 100, "deleted": 100}, 3),
        # Sorted by ranges: each row is counted once more.
        ({"copied": 194, "updated": 6}, {"added": 100, "deleted": 100}, 3),
        ({"copied": 82, "deleted": 114}, {"added": 41, "deleted": 98}, 57),
        ({"copied": 78, "deleted": 2, "updated": 2, "inserted": 2}, {"added": 41, "deleted": 41}, 3),
        ({"deleted": 78}, {"deleted": 39}, 39),
        # Merge-on-read copies nothing.
        ({"deleted": 57}, {}, 57),
        ({"deleted": 1, "updated": 1, "inserted": 1}, {"added": 2}, 3),
        # Rows that were deleted before are among those that left with their files.
        ({"copied": 80, "deleted": 2}, {"added": 80, "deleted": 100}, 2),
        ({}, {"added": 5}, 0),
    ],
)
def test_each_changed_row_is_told_once(merged: dict[str, int], records: dict[str, int], changed: int) -> None:
    names = {f"spark.merge-into.num-target-rows-{what}": "0" for what in ("copied", "deleted", "updated", "inserted")}
    names |= {f"spark.merge-into.num-target-rows-{what}": str(count) for what, count in merged.items()}
    names |= {f"{what}-records": str(count) for what, count in records.items()}
    assert _count(names, "MERGE") == changed
