"""A REST server that holds a commit and carries it out later, or never: its files stay as long as it may."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from pyiceberg.exceptions import CommitFailedException

from coordinator.connectors.iceberg.failures import CommitOutcomeUnknownError
from coordinator.connectors.iceberg.rewrite.committing import unknown_outcomes
from coordinator.connectors.iceberg.rewrite.committing.fencing import refuse_late
from tests.iceberg.rest_catalog import RefusedError, serving
from tests.iceberg.test_rest_catalog import over_rest
from tests.iceberg.test_rewrite import numbers

FENCE = "procession.recovered-commit"


@dataclass
class Held:
    """The lake's connector is over a server that answers 504 to the next commit and keeps it."""

    lake: Any
    address: str
    commit: Callable[..., Any]
    requests: list[tuple[Any, ...]] = field(default_factory=list)
    refusals: int = 1

    def take(self, table: Any, *request: Any) -> Any:
        if self.refusals:
            self.refusals -= 1
            self.requests.append(request)
            raise RefusedError(504)
        return self.commit(table, *request)

    def carry_out(self) -> None:
        self.commit(self.lake.table("t"), *self.requests[0])

    def lost_rewrite(self) -> str:
        """A rewrite whose answer is lost; its call."""
        with pytest.raises(CommitOutcomeUnknownError):
            self.lake.rewrite("t", {"rewrite-all": "true"})
        (entry,) = self.lake.connector.journal.open_entries("lab")
        return str(entry.call_id)

    def fences(self) -> int:
        snapshots = self.lake.table("t").snapshots()
        return sum(FENCE in snapshot.summary.additional_properties for snapshot in snapshots)

    def wait_for(self, quiet: float) -> None:
        tables = self.lake.connector.tables_of
        tables.settings = replace(tables.settings, unfinished_quiet_time=quiet)


@pytest.fixture
def held(lake: Any, monkeypatch: pytest.MonkeyPatch, looked_for_soon: None) -> Iterator[Held]:
    lake.create("t", [numbers(i * 50) for i in range(6)])
    with serving(lake.other) as address:
        lake.connector = over_rest(lake, address)
        found = Held(lake, address, lake.other.commit_table)
        monkeypatch.setattr(lake.other, "commit_table", found.take)
        monkeypatch.setattr(unknown_outcomes, "_PAUSE_SECONDS", 0.1)
        yield found
        lake.connector.close()


def settled(lake: Any, call_id: str) -> str:
    deadline = time.monotonic() + 60
    while (state := lake.connector.journal.entry(call_id).state) == "COMMITTING":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return str(state)


def of_call(lake: Any, call_id: str) -> set[str]:
    return {file for file in lake.files("t") if call_id in file}


def test_a_commit_that_is_carried_out_late_is_found(held: Held) -> None:
    rows = held.lake.rows("t")
    call_id = held.lost_rewrite()
    time.sleep(0.4)
    assert held.lake.connector.journal.entry(call_id).state == "COMMITTING"
    assert of_call(held.lake, call_id), "files that it needs are kept"
    held.carry_out()
    assert settled(held.lake, call_id) == "COMMITTED"
    assert held.lake.rows("t") == rows
    assert len(held.lake.table("t").inspect.data_files()) == 1
    assert (held.lake.orphans("t"), held.fences()) == (set(), 0)


def test_one_that_was_not_carried_out_in_time_is_refused(held: Held) -> None:
    rows = held.lake.rows("t")
    call_id = held.lost_rewrite()
    held.wait_for(0)
    assert settled(held.lake, call_id) == "ABORTED"
    assert of_call(held.lake, call_id) == set()
    assert held.fences() == 1
    with pytest.raises(CommitFailedException):
        held.carry_out()
    assert held.lake.rows("t") == rows
    assert len(held.lake.table("t").inspect.data_files()) == 6
    assert held.lake.orphans("t") == set()
    held.lake.rewrite("t", {"rewrite-all": "true"})
    assert held.lake.rows("t") == rows


def test_a_refusal_that_is_lost_as_well_is_sent_again(held: Held) -> None:
    rows = held.lake.rows("t")
    held.refusals = 3
    call_id = held.lost_rewrite()
    held.wait_for(0)
    assert settled(held.lake, call_id) == "ABORTED"
    with pytest.raises(CommitFailedException):
        held.carry_out()
    assert held.lake.rows("t") == rows


def test_a_start_refuses_what_an_earlier_one_sent(held: Held) -> None:
    """It waits for nothing: the request of a coordinator that was killed is refused at once."""
    rows = held.lake.rows("t")
    call_id = held.lost_rewrite()
    held.lake.connector.close()
    held.lake.connector = over_rest(held.lake, held.address)
    assert [each.outcome for each in held.lake.connector.recover()] == ["ABORTED"]
    assert of_call(held.lake, call_id) == set()
    with pytest.raises(CommitFailedException):
        held.carry_out()
    assert held.lake.rows("t") == rows


def test_of_a_table_that_was_dropped_at_the_server_the_files_stay(held: Held) -> None:
    """Nobody but the server knows whether its metadata is in use elsewhere."""
    call_id = held.lost_rewrite()
    held.carry_out()
    location = held.lake.table("t").metadata_location
    rows = held.lake.rows("t")
    held.lake.other.drop_table("db.t")
    assert settled(held.lake, call_id) == "COMMITTED"
    held.lake.other.register_table("db.t", location)
    assert held.lake.rows("t") == rows


@pytest.mark.parametrize("version", ["1", "2"])
def test_the_head_moves_and_no_row_does(lake: Any, version: str) -> None:
    """Read by PyIceberg, over a server."""
    lake.create("t", [numbers(0), numbers(50)], properties={"format-version": version})
    rows, before = lake.rows("t"), lake.table("t").metadata.current_snapshot_id
    with serving(lake.other) as address:
        connector = over_rest(lake, address)
        refuse_late(connector.tables_of.open("db", "t"), "some-call")
        connector.close()
    snapshot = lake.table("t").current_snapshot()
    assert snapshot.parent_snapshot_id == before
    assert snapshot.summary.operation.value == "replace"
    assert snapshot.summary.additional_properties["total-records"] == "100"
    assert snapshot.summary.additional_properties[FENCE] == "some-call"
    assert lake.rows("t") == rows
    assert lake.orphans("t") == set()


def test_a_table_without_a_head_needs_no_other(lake: Any) -> None:
    lake.other.create_table("db.t", schema=numbers(0).schema)
    with serving(lake.other) as address:
        connector = over_rest(lake, address)
        refuse_late(connector.tables_of.open("db", "t"), "some-call")
        connector.close()
    assert lake.table("t").snapshots() == []
