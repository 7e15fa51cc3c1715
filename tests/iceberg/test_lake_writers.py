"""The writers of ``benchmarks/lake`` and the eye that judges them: what it takes for right and for wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import ValidationException

from benchmarks.lake.checking import condition
from benchmarks.lake.row_delta import RowDelta, data_files
from benchmarks.lake.schedule import KINDS, Member, day, members, sample
from benchmarks.lake.writers import SCHEMA, Writers
from coordinator.connectors.iceberg.manifests.live_files import LiveFile

LAKE = tuple(Member(f"t{number}", kind, 4) for number, kind in enumerate(dict.fromkeys(KINDS)))


def written(home: Path) -> tuple[Writers, SqlCatalog]:
    uri, warehouse = f"sqlite:///{home}/catalog.db", f"file://{home}/warehouse"
    writers = Writers(home / "writers", uri, warehouse)
    writers.create(LAKE)
    writers.play(day(LAKE), 0)
    assert (writers.commits, writers.failed, writers.errors) == (16, 0, [])
    return writers, SqlCatalog("iceberg", uri=uri, warehouse=warehouse)


def test_rows_of_every_kind_of_writer_are_as_its_ledger_says_and_files_are_counted(tmp_path: Path) -> None:
    writers, catalog = written(tmp_path)
    found = {m.kind: condition(catalog.load_table(f"db.{m.name}"), writers.ledgers[m.name]) for m in LAKE}
    assert [each.wrong for each in found.values()] == [0, 0, 0, 0]
    assert (found["append"].files, found["append"].needed) == (5, 1)
    assert (found["cdc"].files, found["cdc"].needed) == (9, 1), "each upsert is a data file and a delete file"
    assert found["merge"].files > 6
    assert found["late"].needed > 1


@pytest.mark.parametrize("member", LAKE, ids=lambda member: member.kind)
def test_a_row_too_many_one_too_few_and_another_value_are_seen(tmp_path: Path, member: Member) -> None:
    writers, catalog = written(tmp_path)
    table, ledger = catalog.load_table(f"db.{member.name}"), writers.ledgers[member.name]
    lost = ledger.rows.pop(3)
    assert condition(table, ledger).wrong == 1
    ledger.rows[3] = (lost[0] + 1, lost[1])
    assert condition(table, ledger).wrong == 2
    ledger.rows[3] = lost
    ledger.rows[10**6] = lost
    assert condition(table, ledger).wrong == 1
    del ledger.rows[10**6]
    again = writers.table(member)
    RowDelta(again, data_files(again, pa.table([[3], [lost[0]], [lost[1]]], SCHEMA))).land()
    assert condition(table.refresh(), ledger).wrong == 1, "a row twice"


def test_a_writer_that_changes_rows_fails_where_its_files_are_gone(tmp_path: Path) -> None:
    """As Iceberg's own writers do, or nobody would see what maintenance does to them."""
    writers, _ = written(tmp_path)
    table = writers.table(next(member for member in LAKE if member.kind == "merge"))
    (other,) = data_files(table, pa.table([[10**6], [1], [1]], SCHEMA))
    with pytest.raises(ValidationException, match="missing data files"):
        RowDelta(table, [], [], [LiveFile(other, 1)]).land()


def test_the_sample_has_the_mix_of_the_lake() -> None:
    lake = members(1000)
    few = sample(lake, 40)
    shares = Counter(member.kind for member in few)
    assert len({member.name for member in lake}) == 1000
    assert 40 <= len(few) <= 48
    assert set(shares) == set(KINDS)
    written_of = [sum(m.commits for m in some) / len(some) for some in (lake, few)]
    assert written_of[1] == pytest.approx(written_of[0], rel=0.2)
