"""What a failed query leaves of its segments: forgotten at once, and its files removed elsewhere than on the loop."""

from __future__ import annotations

import asyncio
import threading

from coordinator.dispatch.clock import SystemClock
from coordinator.dispatch.pages import Chunk
from coordinator.dispatch.result_space import ResultFile, ResultSpace
from coordinator.dispatch.segments import SpooledSegments
from coordinator.dispatch.settings import DispatchSettings


def test_files_of_dropped_segments_go_on_a_thread(tmp_path, monkeypatch):
    removed_by, remove = list[str](), ResultFile.remove

    def noted(file):
        removed_by.append(threading.current_thread().name)
        remove(file)

    monkeypatch.setattr(ResultFile, "remove", noted)
    settings = DispatchSettings(spooling=True, inlined_size=10, inlined_rows=1)
    space = ResultSpace(1 << 20, 1 << 20, tmp_path / "results", keep_free=0)

    async def scenario():
        segments = SpooledSegments(settings, space, SystemClock())
        made = [(await segments.made("q", [Chunk(b"[1],[2]", 2)], "json", 0))[0] for _ in range(3)]
        assert len(list(tmp_path.glob("results/*"))) == 3
        segments.drop("q")
        assert await segments.fetched("q", made[0].secret) is None
        async with asyncio.timeout(60):
            while list(tmp_path.glob("results/*")):
                await asyncio.sleep(0.01)

    asyncio.run(scenario())
    assert (len(removed_by), threading.main_thread().name in removed_by) == (3, False)
    assert space.used("files") == 0
