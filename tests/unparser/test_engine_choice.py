"""Where a plan runs, by what its tables are."""

from __future__ import annotations

import pytest

from coordinator.unparser.engine_choice import LOCAL_BYTES, EngineLimits, choose_engine, engine_note, scans
from coordinator.unparser.engine_limits import limits_of_writes
from shared.plan.nodes import TableHandle, TableScanNode
from shared.spi.relation import CatalogTable, JdbcRelation, ReadHere, Relation, RowsRelation
from tests.optimizer.rule_cases import TIDY, RuleCases

NATION = "SELECT n_name FROM nation"
SUM, SOME = "SELECT max(n_name) FROM nation", "SELECT n_name FROM nation WHERE n_name > 'x'"
PAIRS = "SELECT 1 FROM nation, region WHERE n_nationkey < r_regionkey"
KEYS = "SELECT 1 FROM nation, region WHERE n_nationkey = r_regionkey"
LIMITS = EngineLimits()
_MB = 1 << 20
ROWS = RowsRelation("system", TableHandle(connectorId="system", connectorHandle={}), ())


def _lake(size: int = 10, rows: int = 20, files: int = 2, *, direct: bool = True, **known: object) -> CatalogTable:
    here = ReadHere(ROWS, size_bytes=size, rows=rows, files=files, direct=direct, **known)  # type: ignore[arg-type]
    return CatalogTable(("lake", "db", "t"), 7, here)


CASES: list[tuple[str, Relation | None, EngineLimits, bool, str]] = [
    ("SELECT 1 AS x", None, LIMITS, True, "it reads no table of a lake"),
    ("SELECT 1 AS x", None, EngineLimits("spark"), True, "it reads no table of a lake"),
    (NATION, _lake(), LIMITS, True, "it reads 10B in 20 rows of 2 files"),
    (NATION, _lake(), EngineLimits("spark"), False, "the session asks for it"),
    (NATION, _lake(999 * _MB), EngineLimits("embedded"), True, "the session asks for it; it reads"),
    (
        NATION,
        CatalogTable(("lake", "db", "t"), 7, "it is ORC"),
        LIMITS,
        False,
        "lake.db.t is read by Spark alone: it is",
    ),
    (
        NATION,
        CatalogTable(("lake", "db", "t"), 7, "it is ORC"),
        EngineLimits("embedded"),
        False,
        "lake.db.t is read by",
    ),
    (NATION, _lake(only=True), EngineLimits("spark"), True, "Spark cannot read columns of type time"),
    (NATION, _lake(4096 * _MB), LIMITS, True, "it reads 4GB"),
    (NATION, _lake(4096 * _MB + 1), LIMITS, False, "it reads 4GB in 20 rows of 2 files, of at most 4GB and"),
    (NATION, _lake(512 * _MB, direct=False), LIMITS, True, "it reads 512MB"),
    (NATION, _lake(513 * _MB, direct=False), LIMITS, False, "which counts as 4.01GB and 160 rows, of at most"),
    (NATION, _lake(rows=500_000_001), LIMITS, False, "it reads 10B in 500000001 rows"),
    (SUM, _lake(decoded_bytes=17 << 30), LIMITS, False, "it reads 17GB once decoded"),
    (SUM, _lake(decoded_bytes=16 << 30), LIMITS, True, "it reads 10B"),
    (NATION, _lake(decoded_bytes=2 << 30), LIMITS, False, "its result has 2GB"),
    (NATION, _lake(decoded_bytes=1 << 30), LIMITS, True, "it reads 10B"),
    (SOME, _lake(decoded_bytes=2 << 30), LIMITS, True, "it reads 10B"),
    (SUM, _lake(257 * _MB), limits_of_writes(LIMITS), False, "of at most 256MB and 50000000 rows"),
    (SUM, _lake(256 * _MB), limits_of_writes(LIMITS), True, "it reads 256MB"),
    (KEYS, _lake(rows=10_000), LIMITS, True, "it reads 20B in 20000 rows of 4 files"),
    (KEYS, _lake(3200 * _MB), LIMITS, True, "it reads 6.25GB"),  # the same twice
    (KEYS, _lake(3360 * _MB), LIMITS, False, "which counts as 4.10GB and 25 rows"),
    (PAIRS, _lake(rows=7_000), LIMITS, True, "it reads 20B in 14000 rows of 4 files"),
    (PAIRS, _lake(rows=10_000), LIMITS, False, "it compares 100000000 pairs of rows"),
    (PAIRS, _lake(rows=10_000), EngineLimits("embedded"), True, "the session asks for it"),
    (NATION, ROWS, EngineLimits("spark"), True, "it reads no table of a lake"),
]


def _scans_of(relation: Relation | None) -> object:
    def relation_of(_scan: TableScanNode) -> Relation:
        assert relation is not None
        return relation

    return relation_of


@pytest.mark.parametrize(("sql", "relation", "limits", "embedded", "why"), CASES)
def test_choice(
    rule_cases: RuleCases, sql: str, relation: Relation | None, limits: EngineLimits, embedded: bool, why: str
) -> None:
    _, plan = rule_cases.planned(TIDY[1], sql)
    found = choose_engine(plan, _scans_of(relation), limits)  # type: ignore[arg-type]
    assert (found.embedded, why in found.why) == (embedded, True), found.why
    note = engine_note(plan, _scans_of(relation), limits, fetches=True)  # type: ignore[arg-type]
    if isinstance(relation, CatalogTable):
        runs = "the embedded engine runs it, in one pass: " if embedded else "Spark runs it: "
        assert note == runs + found.why
    else:
        assert note is None


@pytest.mark.parametrize(("size", "embedded"), [(None, False), (LOCAL_BYTES, True), (LOCAL_BYTES + 1, False)])
def test_databases(rule_cases: RuleCases, size: int | None, embedded: bool) -> None:
    """What a database sends is held as well; an unknown size is taken for a large one."""
    _, plan = rule_cases.planned(TIDY[1], NATION)
    remote = JdbcRelation("shop", "SELECT 1", (), (), size)
    assert choose_engine(plan, _scans_of(remote), LIMITS).embedded is embedded  # type: ignore[arg-type]


def test_sizes_add_up(rule_cases: RuleCases) -> None:
    _, plan = rule_cases.planned(TIDY[1], KEYS)
    sizes = iter((3000 * _MB, 2000 * _MB))
    choice = choose_engine(plan, lambda _scan: _lake(next(sizes)), LIMITS)
    assert (choice.embedded, choice.why[:15]) == (False, "it reads 4.88GB")
    assert len(list(scans(plan))) == 2


@pytest.mark.parametrize("size", [LOCAL_BYTES, LOCAL_BYTES + 1, None])
def test_databases_beside_lakes(rule_cases: RuleCases, size: int | None) -> None:
    """What nobody knows the size of is tried, up to a limit."""
    _, plan = rule_cases.planned(TIDY[1], KEYS)
    remote = JdbcRelation("shop", "SELECT 1", (), (), size)
    for engine in ("auto", "embedded"):
        relations = iter((_lake(), remote))
        choice = choose_engine(plan, lambda _scan, found=relations: next(found), EngineLimits(engine))  # type: ignore[misc]
        assert choice.embedded is (engine == "embedded" or size != LOCAL_BYTES + 1)
        assert choice.most_sent_bytes == (LOCAL_BYTES if size is None and engine == "auto" else None)
