"""Tables whose files are broken or lie: metadata, manifest lists, manifests, data files. Each is a table of its own.

What they name outside of the lake is a bait, which must outlive everything: the service runs with its user's rights.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from benchmarks.fuzz.choices import Choices
from benchmarks.fuzz.client import StatementClient
from benchmarks.fuzz.plans import STRANGE
from benchmarks.fuzz.statements import SLOW_SECONDS, Asked
from tests.e2e.service import Service

SCHEMA = "fuzz_broken"
ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "s": ["a", None, "c"], "d": [0.5, 1.5, None]})
SUMMARY_KEYS = (
    "total-records",
    "total-data-files",
    "total-files-size",
    "added-records",
    "operation",
    "total-delete-files",
)
SUMMARY_VALUES = ("abc", "²", "-5", "9" * 30, "", "NaN", "1.5", "\x00", "append", "replace", "nope")
STATEMENTS = (
    "SELECT count(*) FROM {t}",
    "SELECT * FROM {t} WHERE id > 1",
    "SELECT max(s), sum(d) FROM {t}",
    'SELECT * FROM "{t}$snapshots"',
    'SELECT * FROM "{t}$history"',
    'SELECT * FROM "{t}$files"',
    'SELECT * FROM "{t}$manifests"',
    'SELECT * FROM "{t}$partitions"',
    'SELECT * FROM "{t}$refs"',
    'SELECT * FROM "{t}$properties"',
    "SHOW COLUMNS FROM {t}",
    "SHOW STATS FOR {t}",
    "SHOW CREATE TABLE {t}",
    "EXPLAIN SELECT * FROM {t} WHERE id = 1",
    "SELECT * FROM information_schema.columns WHERE table_name = '{t}'",
    "CALL iceberg.system.table_storage('{s}', '{t}')",
    "CALL iceberg.system.expire_snapshots('{s}', '{t}', TIMESTAMP '2039-01-01 00:00:00.000', 1)",
    "CALL iceberg.system.rewrite_manifests('{s}', '{t}')",
    "CALL iceberg.system.remove_orphan_files('{s}', '{t}', TIMESTAMP '2020-01-01 00:00:00.000')",
    "CALL iceberg.system.rewrite_data_files(schema => '{s}', table_name => '{t}', "
    "options => MAP(ARRAY['dry-run'], ARRAY['true']))",
    "CALL iceberg.system.rollback_to_timestamp('{s}', '{t}', TIMESTAMP '2039-01-01 00:00:00.000')",
    "ALTER TABLE {t} ADD COLUMN more bigint",
    "DROP TABLE {t}",
)


class Broken(Protocol):
    """A table that is to be broken."""

    @property
    def files(self) -> Files: ...

    def append(self, file: DataFile) -> None:
        """An entry in a manifest."""
        ...


@dataclass(frozen=True)
class Files:
    """Where a table is, by what its files are; all on this machine."""

    location: str
    metadata: Path
    manifest_list: Path
    manifests: tuple[Path, ...]
    data: tuple[Path, ...]


@dataclass
class OfCatalog:
    """A table that PyIceberg made."""

    table: Table

    @property
    def files(self) -> Files:
        return files_of(self.table)

    def append(self, file: DataFile) -> None:
        with self.table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            append.append_data_file(file)


Spoiler = Callable[[Choices, Broken, Path], str]


def files_of(table: Table) -> Files:
    """Of its current snapshot."""
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return Files(
        table.location(),
        path_of(table.metadata_location),
        path_of(snapshot.manifest_list),
        tuple(path_of(manifest.manifest_path) for manifest in snapshot.manifests(table.io)),
        tuple(sorted(path_of(task.file.file_path) for task in table.scan().plan_files())),
    )


def path_of(uri: str) -> Path:
    return Path(uri.removeprefix("file://"))


def spoil_json(choices: Choices, table: Broken, bait: Path) -> str:
    """A strange value somewhere in the metadata file."""
    path = table.files.metadata
    root = json.loads(path.read_text())
    holder, key, place = root, choices.pick(sorted(root)), []
    while True:
        place.append(str(key))
        child = holder[key]
        if isinstance(child, dict | list) and child and choices.chance(75):
            holder, key = child, choices.pick(sorted(child) if isinstance(child, dict) else range(len(child)))
            continue
        break
    if choices.chance(20) and isinstance(holder, dict):
        del holder[key]
        path.write_text(json.dumps(root))
        return f"metadata without {'.'.join(place)}"
    # Whatever names a place names the bait's, so that nothing of the machine is at risk.
    named = isinstance(holder[key], str) and "/" in holder[key]
    holder[key] = choices.pick((None, 0, [], f"file://{bait}", str(bait.parent))) if named else choices.pick(STRANGE)
    path.write_text(json.dumps(root))
    return f"metadata with {'.'.join(place)} = {holder[key]!r}"


def spoil_summary(choices: Choices, table: Broken, bait: Path) -> str:  # noqa: ARG001
    path = table.files.metadata
    root = json.loads(path.read_text())
    key, value = choices.pick(SUMMARY_KEYS), choices.pick(SUMMARY_VALUES)
    choices.pick(root["snapshots"])["summary"][key] = value
    path.write_text(json.dumps(root))
    return f"summary with {key} = {value!r}"


def spoil_bytes(choices: Choices, table: Broken, bait: Path) -> str:  # noqa: ARG001
    """A file of the table shorter, longer, changed or gone."""
    files = table.files
    manifest = choices.pick(files.manifests)
    kinds = {"manifest list": files.manifest_list, "manifest": manifest, "metadata": files.metadata}
    kind = choices.pick(tuple(kinds))
    return f"{kind}: {_spoil(choices, kinds[kind])}"


def spoil_data(choices: Choices, table: Broken, bait: Path) -> str:  # noqa: ARG001
    """A data file likewise, mostly its footer."""
    return f"data file: {_spoil(choices, choices.pick(table.files.data))}"


def _spoil(choices: Choices, path: Path) -> str:
    content = path.read_bytes()
    at = choices.below(len(content))
    if choices.chance(50):
        at = max(len(content) - 1 - choices.below(64), 0)
    ways: dict[str, bytes | None] = {
        "a byte changed": content[:at] + bytes([choices.below(256)]) + content[at + 1 :],
        "cut off": content[:at],
        "empty": b"",
        "longer": content + b"\x00" * 100,
        "zeros": content[:at] + b"\x00" * (len(content) - at),
        "text": b"nothing of the kind",
        "gone": None,
    }
    way = choices.pick(tuple(ways))
    made = ways[way]
    path.unlink() if made is None else path.write_bytes(made)
    return f"{way} at {at} of {len(content)}"


def spoil_entry(choices: Choices, table: Broken, bait: Path) -> str:
    """A data file that is said to be there, with figures that cannot be."""
    number = choices.pick((-1, 0, 2**62, 10))
    none = f"{table.files.location}/data/none.parquet"
    path = choices.pick(("", f"file://{bait}", "x", none))
    bound = choices.pick((b"", b"\x01", b"\xff" * 8, b"\xff" * 40))
    file = DataFile.from_args(
        content=choices.pick((DataFileContent.DATA, DataFileContent.DATA, DataFileContent.POSITION_DELETES)),
        file_path=path,
        file_format=choices.pick((FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO)),
        partition=Record(),
        record_count=number,
        file_size_in_bytes=choices.pick((-1, 0, 2**62, 100)),
        column_sizes={1: number, 99: 5},
        value_counts={1: number},
        null_value_counts={1: -number},
        nan_value_counts={},
        lower_bounds={1: bound, 2: bound},
        upper_bounds={1: bound, 99: bound},
    )
    file.spec_id = 0
    table.append(file)
    return f"entry {path!r} {file.file_format} content {file.content} of {number} rows, bounds {bound!r}"


OF_METADATA = (spoil_json, spoil_summary, spoil_bytes)
SPOILERS = (*OF_METADATA, spoil_entry, spoil_data)


def run(
    service: Service,
    client: StatementClient,
    seed: int,
    numbers: Sequence[int],
    counts: Counter[str],
    spoilers: Sequence[Spoiler] = SPOILERS,
) -> Iterator[dict[str, object]]:
    """Statements over a broken table that are answered with an internal error or slowly, or that touch the bait."""
    lake = service.lake()
    lake.create_namespace_if_not_exists(SCHEMA)
    bait = service.etc.parent / "elsewhere" / "bait"
    bait.parent.mkdir(exist_ok=True)
    bait.write_text("mine")
    for number in numbers:
        choices = Choices(seed * 1_000_003 + number)
        name = f"b{seed}_{number}"
        table = lake.create_table(f"{SCHEMA}.{name}", schema=ROWS.schema)
        table.append(ROWS)
        table.append(ROWS)
        how = choices.pick(spoilers)(choices, OfCatalog(table.refresh()), bait)
        for _ in range(5):
            for found in asked(client, choices, name, bait, counts):
                yield {"seed": seed, "number": number, "how": how, **found}


def asked(client: Asked, choices: Choices, name: str, bait: Path, counts: Counter[str]) -> Iterator[dict[str, object]]:
    """One statement over the table, and what is wrong with its answer."""
    sql = choices.pick(STATEMENTS).format(t=name, s=SCHEMA)
    answer = client.ask(sql)
    counts[answer.error[0] if answer.error else "answered"] += 1
    found = {"what": "catalog", "statement": sql}
    if answer.internal or answer.seconds > SLOW_SECONDS:
        yield {**found, "error": answer.error, "seconds": round(answer.seconds, 1)}
    if not bait.exists() or bait.read_text() != "mine":
        yield {**found, "what": "bait", "error": "a file elsewhere was changed"}
        bait.write_text("mine")
