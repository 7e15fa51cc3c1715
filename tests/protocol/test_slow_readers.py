"""Clients that stop reading: what they cost the memory, and the statements of others."""

import asyncio
import json
import os

import pytest

from coordinator.dispatch.result_space import ResultFile
from coordinator.dispatch.settings import DispatchSettings
from coordinator.resource_groups.specification import global_group

pytestmark = pytest.mark.slow

ONE_SLOT = global_group(hard_concurrency_limit=1, max_queued=20)


def rows_of(server, page):
    rows = list(page.get("data", ()))
    while "nextUri" in page:
        page = server.client.get(page["nextUri"]).json()
        rows += page.get("data", ())
    assert page["stats"]["state"] == "FINISHED"
    return rows


def first_page(server, sql):
    return server.client.get(server.post(sql).json()["nextUri"]).json()


def files_in(folder):
    return [file for file in folder.glob("*") if file.is_file()]


@pytest.fixture
def medium(number_answer):
    """Some 23 MB of JSON."""
    return {"SELECT medium": lambda: number_answer(100_000, width=220)}


def test_rows_wait_in_files_once_memory_has_no_room_and_come_back_in_order(start_server, tmp_path, medium):
    settings = DispatchSettings(max_buffered=1 << 20, sweep_interval=0.05, keep_free=0)
    with start_server(medium, settings, group=ONE_SLOT, results_folder=tmp_path / "results") as server:
        first = first_page(server, "SELECT medium")
        query = server.dispatcher.registry.get(first["id"])
        server.wait_for(lambda: query.state.value == "FINISHED")
        space = server.dispatcher.results
        assert space.used("memory") <= 1 << 20
        assert space.used("files") > 15 << 20
        files = files_in(tmp_path / "results")
        assert sum(file.stat().st_size for file in files) == space.used("files")
        assert {file.stat().st_mode & 0o077 for file in files} == {0}
        assert [row[0] for row in rows_of(server, first)] == list(range(100_000))
        assert (space.used("memory"), space.used("files")) == (0, 0)
        assert files_in(tmp_path / "results") == []


def test_a_statement_that_has_ended_leaves_its_slot_to_others(start_server, tmp_path, medium):
    """Three clients that read nothing but their first page, in a group with one slot."""
    settings = DispatchSettings(max_buffered=1 << 20, sweep_interval=0.05, keep_free=0)
    with start_server(medium, settings, group=ONE_SLOT, results_folder=tmp_path / "results") as server:
        stalled = [first_page(server, "SELECT medium") for _ in range(3)]
        assert server.pages("SELECT 1")[-1].json()["data"] == [[1]]
        server.clock.advance(301)
        server.wait_for(lambda: server.dispatcher.results.used("files") == 0)
        assert files_in(tmp_path / "results") == []
        assert {server.client.get(page["nextUri"]).status_code for page in stalled} == {410}


def test_an_engine_that_waits_for_its_client_lends_its_slot(start_server, medium):
    """No files: the engine cannot end. It goes on when its client does."""
    settings = DispatchSettings(max_buffered=1 << 20, sweep_interval=0.05, stalled_after=0.1)
    with start_server(medium, settings, group=ONE_SLOT) as server:
        first = first_page(server, "SELECT medium")
        query = server.dispatcher.registry.get(first["id"])
        for _ in range(3):
            assert server.pages("SELECT 1")[-1].json()["data"] == [[1]]
        assert query.state.value == "RUNNING"
        assert server.dispatcher.results.used("memory") < 2 << 20
        assert len(rows_of(server, first)) == 100_000
        server.wait_for(lambda: server.dispatcher.groups.roots[0].running_total == 0)
        assert not server.dispatcher.groups.roots[0].queued_total


def test_a_full_disk_makes_the_engine_wait_and_loses_nothing(start_server, tmp_path, medium):
    settings = DispatchSettings(max_buffered=1 << 20, sweep_interval=0.05, keep_free=1 << 60)
    with start_server(medium, settings, results_folder=tmp_path / "results") as server:
        first = first_page(server, "SELECT medium")
        query = server.dispatcher.registry.get(first["id"])
        server.wait_for(lambda: query.buffer.waiting_seconds > 0.3)
        assert server.dispatcher.results.used("files") == 0
        assert len(rows_of(server, first)) == 100_000


def test_results_that_somebody_removed_fail_the_page_and_nothing_else(start_server, tmp_path, medium):
    settings = DispatchSettings(max_buffered=1 << 20, sweep_interval=0.05, keep_free=0)
    with start_server(medium, settings, results_folder=tmp_path / "results") as server:
        page = first_page(server, "SELECT medium")
        query = server.dispatcher.registry.get(page["id"])
        server.wait_for(lambda: query.state.value == "FINISHED")
        for file in files_in(tmp_path / "results"):
            os.truncate(file, 10)
        response = None
        while response is None or response.status_code == 200:
            response = server.client.get(page["nextUri"])
            page = response.json() if response.status_code == 200 else page
        assert response.status_code == 410
        assert files_in(tmp_path / "results") == []
        assert server.pages("SELECT 1")[-1].json()["data"] == [[1]]


def in_a_loop():
    try:
        return asyncio.get_running_loop() is not None
    except RuntimeError:
        return False


def test_last_pages_of_slow_readers_go_to_files_and_are_still_sent_again(start_server, tmp_path, medium, monkeypatch):
    writers = []
    append = ResultFile.append
    monkeypatch.setattr(ResultFile, "append", lambda *given: (writers.append(in_a_loop()), append(*given))[1])
    settings = DispatchSettings(max_replay_size=1, sweep_interval=100, keep_free=0)
    with start_server(medium, settings, results_folder=tmp_path / "results") as server:
        asked = []
        for _ in range(3):
            uri = server.post("SELECT medium").json()["nextUri"]
            uri = server.client.get(uri).json()["nextUri"]
            asked.append((uri, server.client.get(uri).content))
        server.sweep(next(iter(server.dispatcher.registry)))
        pages = [file for file in files_in(tmp_path / "results") if ".page" in file.name]
        assert len(pages) == 2, "the newest stays in memory"
        assert writers == [False, False]
        for uri, content in asked:
            again = server.client.get(uri)
            assert again.json()["data"] == json.loads(content)["data"]
        for uri, _ in asked:
            rows_of(server, server.client.get(uri).json())
        assert [file for file in files_in(tmp_path / "results") if ".page" in file.name] == []


def test_what_an_earlier_process_left_is_removed_at_the_start(start_server, tmp_path):
    left = tmp_path / "results" / "20260101_000000_00001_abcde.1"
    left.parent.mkdir()
    left.write_bytes(b"[1]")
    with start_server(results_folder=tmp_path / "results") as server:
        assert server.pages("SELECT 1")[-1].json()["data"] == [[1]]
        assert not left.exists()
