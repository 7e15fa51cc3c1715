"""Our manifest reader gives what PyIceberg's gives, on manifests of every writer and format version at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from coordinator.connectors.iceberg.maintenance.expiry import Expired
from coordinator.connectors.iceberg.maintenance.unreachable import reachability
from coordinator.connectors.iceberg.manifests import fetching
from coordinator.connectors.iceberg.manifests.avro_files import open_avro
from coordinator.connectors.iceberg.manifests.names import read_names
from coordinator.connectors.iceberg.manifests.reader import read_entries


@pytest.fixture(scope="module")
def tables(java_lake: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    home = tmp_path_factory.mktemp("manifests")
    lake = java_lake(home)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        yield [lake.other.load_table(name) for name in lake.other.list_tables("fx") if name[1] != "v3_variant"]


def plain(value: Any) -> Any:
    """PyIceberg's lazy maps as dicts."""
    return dict(value.items()) if hasattr(value, "items") else value


@pytest.mark.parametrize("discard_deleted", [True, False])
def test_entries_equal_pyicebergs(tables: list[Any], discard_deleted: bool) -> None:
    seen = 0
    for table in tables:
        for manifest in {m.manifest_path: m for s in table.snapshots() for m in s.manifests(table.io)}.values():
            ours = read_entries(table.io, manifest, discard_deleted=discard_deleted)
            theirs = manifest.fetch_manifest_entry(table.io, discard_deleted=discard_deleted)
            assert [e._data[:4] for e in ours] == [e._data[:4] for e in theirs]
            for our, their in zip(ours, theirs, strict=True):
                assert our.data_file.spec_id == their.data_file.spec_id
                assert [plain(v) for v in our.data_file._data] == [plain(v) for v in their.data_file._data]
            seen += len(ours)
    assert seen > 100


def test_names_are_those_of_the_live_entries(tables: list[Any]) -> None:
    seen = set()
    for table in tables:
        for manifest in {m.manifest_path: m for s in table.snapshots() for m in s.manifests(table.io)}.values():
            files = [entry.data_file for entry in manifest.fetch_manifest_entry(table.io)]
            assert read_names(table.io, manifest) == [(f.file_path, f.content, f.file_size_in_bytes) for f in files]
            seen |= {int(file.content) for file in files}
    assert seen == {0, 1, 2}


def test_what_is_no_avro_file_is_refused(tables: list[Any], tmp_path: Path) -> None:
    table = tables[0]
    whole = Path(table.current_snapshot().manifest_list.removeprefix("file:")).read_bytes()
    for name, content in (("text", b"text of no file"), ("cut", whole[:-5]), ("changed", whole[:-16] + bytes(16))):
        (tmp_path / name).write_bytes(content)
        file = open_avro(table.io.new_input(f"file://{tmp_path}/{name}")) if name != "text" else None
        with pytest.raises((ValueError, EOFError)):
            if file is None:
                open_avro(table.io.new_input(f"file://{tmp_path}/{name}"))
            else:
                list(file.blocks())


def test_without_statistics_the_rest_stays(tables: list[Any]) -> None:
    for table in tables:
        for manifest in table.current_snapshot().manifests(table.io):
            full, pruned = (read_entries(table.io, manifest, statistics=s) for s in (True, False))
            for a, b in zip(full, pruned, strict=True):
                assert b.data_file.column_sizes is b.data_file.lower_bounds is None
                kept = [i for i in range(16) if i not in (6, 7, 8, 10, 11)]
                assert [plain(a.data_file._data[i]) for i in kept] == [plain(b.data_file._data[i]) for i in kept]


def test_statistics_of_some_columns_are_those_of_all(tables: list[Any]) -> None:
    for table in tables:
        columns = frozenset(field.field_id for field in table.schema().fields[:2])
        for manifest in table.current_snapshot().manifests(table.io):
            full, some = (read_entries(table.io, manifest, statistics=s) for s in (True, columns))
            for a, b in zip(full, some, strict=True):
                assert b.data_file.column_sizes is None
                for name in ("value_counts", "null_value_counts", "lower_bounds", "upper_bounds"):
                    said, kept = getattr(a.data_file, name), getattr(b.data_file, name)
                    assert kept == (said and {i: said[i] for i in columns if i in said})


def test_manifests_of_a_store_are_fetched_ahead_and_read_alike(tables: list[Any], monkeypatch: Any) -> None:
    manifests = [m for table in tables for m in table.current_snapshot().manifests(table.io)]
    assert len(manifests) > 8
    near = list(fetching.each_entries(tables[0].io, manifests))
    asked: list[str] = []
    whole = fetching._bytes
    monkeypatch.setattr(fetching, "local_path", lambda _location: None)
    monkeypatch.setattr(fetching, "_bytes", lambda io, location: asked.append(location) or whole(io, location))
    far = []
    for manifest, found in fetching.each_entries(tables[0].io, manifests):
        far.append((manifest, found))
        assert len(asked) <= len(far) + 8, "no more ahead than was meant"
    assert sorted(asked) == sorted(m.manifest_path for m in manifests)
    assert [m for m, _ in far] == [m for m, _ in near] == manifests
    for (_, ours), (_, others) in zip(far, near, strict=True):
        assert [e.data_file.file_path for e in ours] == [e.data_file.file_path for e in others]
    monkeypatch.setattr(fetching, "_bytes", lambda _io, location: Path(f"{location}.gone").read_bytes())
    with pytest.raises(FileNotFoundError):
        list(fetching.each_entries(tables[0].io, manifests))


def test_lists_of_a_store_tell_the_same_unneeded_files(tables: list[Any], monkeypatch: Any) -> None:
    def unneeded(table: Any) -> list[tuple[str, str]]:
        current = table.metadata.current_snapshot_id
        gone = tuple(s.snapshot_id for s in table.metadata.snapshots if s.snapshot_id != current)
        found = reachability(table, Expired(gone, (), 0))
        found.read_manifests(lambda _done, _total: None)
        return [(file.location, file.kind) for file in found.unneeded()]

    near = [unneeded(table) for table in tables]
    assert sum(map(len, near)) > 20
    monkeypatch.setattr(fetching, "local_path", lambda _location: None)
    assert [unneeded(table) for table in tables] == near


def test_deletion_vectors_name_their_file_and_place(tables: list[Any]) -> None:
    table = next(t for t in tables if t.name()[-1] == "v3_dv_java")
    found = [e.data_file for m in table.current_snapshot().manifests(table.io) for e in read_entries(table.io, m)]
    vectors = [file.extras for file in found if file.content.value == 1]
    assert vectors
    data = {file.file_path for file in found if file.content.value == 0}
    assert {extras["referenced_data_file"] for extras in vectors} <= data
    for file in found:
        if file.content.value == 1:
            raw = Path(file.file_path).read_bytes()
            start = file.extras["content_offset"]
            assert raw[start + 4 : start + 8] == b"\xd1\xd3\x39\x64", "the magic number of a vector"
            assert start + file.extras["content_size_in_bytes"] <= len(raw)
