"""Copies of a table's metadata share what cannot change, and nothing else."""

from __future__ import annotations

from copy import deepcopy

import pyarrow as pa
import pytest
from pyiceberg.types import LongType

from coordinator.connectors.iceberg.shared_models import SHARED, share_models
from tests.iceberg.conftest import Lake


def test_copies_share_models_and_have_lists_of_their_own(lake: Lake) -> None:
    share_models()
    rows = pa.table({"id": [1, 2, 3]})
    table = lake.create("t", [rows] * 3)
    metadata = table.metadata
    copied = deepcopy(metadata)
    assert copied == metadata
    for name in ("schemas", "partition_specs", "sort_orders", "snapshots", "snapshot_log", "metadata_log", "refs"):
        ours, theirs = getattr(copied, name), getattr(metadata, name)
        assert ours is not theirs
        parts = zip(*((v.values() if isinstance(v, dict) else v) for v in (ours, theirs)), strict=True)
        assert all(one is other for one, other in parts), name
    copied.snapshots.clear()
    copied.properties["new"] = "1"
    assert len(metadata.snapshots) == 3
    assert "new" not in metadata.properties


@pytest.mark.parametrize("model", SHARED)
def test_what_is_shared_is_frozen(model: type) -> None:
    assert model.model_config["frozen"]  # type: ignore[attr-defined]


def test_a_transaction_that_fails_leaves_the_table_object_as_it_was(lake: Lake) -> None:
    rows = pa.table({"id": [1, 2, 3]})
    table = lake.create("t", [rows])
    before = table.metadata.model_dump_json()
    with pytest.raises(RuntimeError, match="given up"), table.transaction() as transaction:
        transaction.set_properties({"a": "b"})
        transaction.append(rows)
        with transaction.update_schema() as update:
            update.add_column("more", LongType())
        assert len(transaction.table_metadata.snapshots) == 2
        raise RuntimeError("given up")
    assert table.metadata.model_dump_json() == before
