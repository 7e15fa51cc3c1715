"""Policies of a catalog's server, as Apache Polaris answers: over HTTP, and in what is decided."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from coordinator.connectors.iceberg.connector import IcebergConnector
from coordinator.maintenance.attached import policies_of
from coordinator.maintenance.policies import policy_of
from coordinator.maintenance.records import TableKey
from shared.errors import ProcessionError
from shared.spi.maintenance import AttachedPolicy
from tests.iceberg.conftest import Lake
from tests.iceberg.rest_catalog import RefusedError, serving
from tests.iceberg.rest_habits import Habits
from tests.iceberg.test_rest_catalog import over_rest
from tests.maintenance.test_policies import compaction, policies
from tests.maintenance.test_service import Case

Answers = Callable[[Habits], IcebergConnector]


def said(name: str, kind: str, content: object, *, inherited: bool = False) -> dict[str, Any]:
    """One policy of the answer, with what Polaris tells beside."""
    return {
        "name": name,
        "policy-type": f"system.{kind}",
        "inheritable": True,
        "version": 3,
        "namespace": ["rules"],
        "inherited": inherited,
        "content": json.dumps(content),
    }


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    made = Lake(tmp_path)
    made.create("t", [pa.table({"id": [1]})])
    yield made
    made.connector.close()


@pytest.fixture
def answering(lake: Lake) -> Iterator[Answers]:
    running = []

    def connect(habits: Habits) -> IcebergConnector:
        server = serving(lake.other, habits)
        address = server.__enter__()
        connector = over_rest(lake, address)
        running.append((server, connector))
        return connector

    yield connect
    for server, connector in running:
        connector.close()
        server.__exit__(None, None, None)


@pytest.mark.parametrize("prefix", ["", "a lake"])
def test_a_server_is_asked_page_by_page(answering: Answers, prefix: str) -> None:
    kinds = ["data-compaction", "snapshot-expiry", "orphan-file-removal"]
    told = [said(kind, kind, {"enable": True}, inherited=kind == kinds[1]) for kind in kinds]
    asked = []

    def answer(namespace: str, table: str) -> list[dict[str, Any]]:
        asked.append((namespace, table))
        return told

    connector = answering(Habits(policies=answer, page_size=2, prefix=prefix))
    found = connector.attached_policies("db", "t")
    assert [(each.name, each.inherited) for each in found] == [(kind, kind == kinds[1]) for kind in kinds]
    assert json.loads(found[0].content) == {"enable": True}
    connector.attached_policies("a.b", "it's t")
    assert asked == [("db", "t")] * 2 + [("a.b", "it's t")] * 2


def test_a_server_without_policies_is_not_asked(answering: Answers, lake: Lake) -> None:
    habits = Habits()
    assert answering(habits).attached_policies("db", "t") == ()
    assert habits.count("polaris") == 0
    assert lake.connector.attached_policies("db", "t") == ()


def refuse(_namespace: str, _table: str) -> list[dict[str, Any]]:
    raise RefusedError(403)


@pytest.mark.parametrize("answer", [refuse, lambda _namespace, _table: [{"name": "x"}]])
def test_what_cannot_be_read_is_an_error(answering: Answers, answer: Any) -> None:
    connector = answering(Habits(policies=answer))
    with pytest.raises(ProcessionError, match=r"db\.t: its policies"):
        connector.attached_policies("db", "t")


def attached(name: str, kind: str, content: object, *, inherited: bool = False) -> AttachedPolicy:
    return AttachedPolicy(name, f"system.{kind}", json.dumps(content), inherited)


def test_the_examples_of_polaris_are_understood_and_its_freedom_is_no_error() -> None:
    config = {
        "target_file_size_bytes": 134217728,
        "compaction_strategy": "bin-pack",
        "max-concurrent-file-group-rewrites": 5,
    }
    given = (
        attached("files", "data-compaction", {"version": "2025-02-03", "enable": True, "config": config}),
        attached("snapshots", "snapshot-expiry", {"enable": True, "config": {
            "min_snapshot_to_keep": 1, "max_snapshot_age_days": 2, "max_ref_age_days": 3}}),
        attached("orphans", "orphan-file-removal", {"enable": True, "max_orphan_file_age_in_days": 30,
                                                    "config": {"prefix_mismatch_mode": "error"}}),
        attached("of another service", "something", {"enable": True}),
    )  # fmt: skip
    found = policy_of((), "lake", "db", "t", policies_of(given))
    assert found.compaction.config.target_file_size_bytes == 134217728
    assert found.compaction.config.strategy == "binpack"
    assert (found.expiry.config.max_snapshot_age_days, found.expiry.config.min_snapshot_to_keep) == (2, 1)
    assert (found.orphans.enable, found.orphans.max_orphan_file_age_in_days) == (True, 30)
    assert found.sources == {
        "compaction": "files", "metadata": "default", "expiry": "snapshots", "orphans": "orphans",
        "statistics": "default", "partitions": "default",
    }  # fmt: skip


@pytest.mark.parametrize(
    "content",
    [
        {"enable": True, "config": {"max_snapshot_age_days": -1, "min_snapshot_to_keep": 4}},
        {"enable": True, "config": {"max_snapshot_age_days": "soon", "min_snapshot_to_keep": 4}},
    ],
)
def test_a_wrong_word_alone_is_left_out(content: object) -> None:
    found = policy_of((), "lake", "db", "t", policies_of([attached("p", "snapshot-expiry", content)]))
    assert (found.expiry.config.max_snapshot_age_days, found.expiry.config.min_snapshot_to_keep) == (None, 4)


@pytest.mark.parametrize(
    "content",
    ["{", "[]", "{}", '{"enable": "yes"}', '{"enable": true, "locations": ["s3://x"]}',
     '{"enable": true, "max_orphan_file_age_in_days": 0}', "[" * 100_000],
)  # fmt: skip
def test_a_policy_that_cannot_be_followed_is_left_out(content: str) -> None:
    assert policies_of([AttachedPolicy("p", "system.orphan-file-removal", content)]) == ()


def test_attached_policies_go_before_the_file_and_disabling_before_all(tmp_path: Path) -> None:
    file = policies(tmp_path, compaction("exact", "lake.db.t", 7), compaction("off", "lake.db.u", enable=False))
    on = [
        attached("own", "data-compaction", {"enable": True, "config": {"min-input-files": 3}}),
        attached("from above", "data-compaction", {"enable": True, "config": {"min-input-files": 4}}, inherited=True),
    ]
    found = policy_of(file, "lake", "db", "t", policies_of(on))
    assert (found.compaction.config.min_input_files, found.sources["compaction"]) == (3, "own")
    assert policy_of(file, "lake", "db", "u", policies_of(on)).sources["compaction"] == "off"
    broken = attached("not now", "data-compaction", {"enable": False, "config": {"min-input-files": "?"}})
    found = policy_of(file, "lake", "db", "t", policies_of([broken, *on]))
    assert (found.compaction.enable, found.sources["compaction"]) == (False, "not now")


def test_the_service_follows_what_a_look_found(tmp_path: Path) -> None:
    lake = Case(tmp_path)
    stays, goes = lake.states.add("stays"), lake.states.add("goes")
    lake.states.policies[stays] = policies_of([attached("keep", "data-compaction", {"enable": False})])
    lake.work()
    assert {job.key for job in lake.store.jobs(10)} == {goes}
    assert lake.inspector.policy(stays).sources["compaction"] == "keep"
    assert [(str(key), policy.name) for key, policy in lake.inspector.attached()] == [("lake.db.stays", "keep")]
    assert set(lake.inspector.gone([], frozenset({"lake"}))) == {goes, stays}
    assert lake.inspector.attached() == []


def test_policies_of_catalogs_can_be_switched_off(tmp_path: Path) -> None:
    lake = Case(tmp_path, **{"maintenance.catalog-policies": False})
    key = lake.states.add("t")
    lake.states.policies[key] = policies_of([attached("keep", "data-compaction", {"enable": False})])
    lake.work()
    assert [each.key for each in lake.store.jobs(10)] == [TableKey("lake", "db", "t")]
