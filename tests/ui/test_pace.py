"""Pages that refresh themselves: each at its own interval, all together within their share of the machine."""

from __future__ import annotations

import heapq

import pytest

from coordinator.server.ui.pace import REQUEST_SECONDS, SHARE, Pace


def spent(pages: int, cost: float, every: float, cores: int, seconds: float = 600.0) -> tuple[float, float]:
    """The share of the cores that ``pages`` take after the first minute, and the longest wait between two refreshes."""
    clock = [0.0]
    pace = Pace(cores, lambda: clock[0])
    due = [(every * n / pages, n) for n in range(pages)]
    heapq.heapify(due)
    total, longest = 0.0, 0.0
    while due[0][0] < seconds:
        clock[0], page = heapq.heappop(due)
        wait = every * pace.count(cost)
        if clock[0] > 60:
            total += cost + REQUEST_SECONDS
            longest = max(longest, wait)
        heapq.heappush(due, (clock[0] + wait, page))
    return total / (seconds - 60) / cores, longest


@pytest.mark.parametrize("pages", [50, 200])
def test_many_pages_stay_within_their_share(pages: int) -> None:
    share, longest = spent(pages, cost=0.005, every=3.0, cores=2)
    assert share == pytest.approx(SHARE, rel=0.15)
    assert longest < 60


def test_few_pages_keep_their_own_interval() -> None:
    share, longest = spent(3, cost=0.005, every=3.0, cores=2)
    assert (share < SHARE, longest) == (True, 3.0)


def test_a_burst_is_forgotten() -> None:
    clock = [0.0]
    pace = Pace(2, lambda: clock[0])
    for _ in range(1000):
        stretched = pace.count(0.05)
    clock[0] = 300.0
    assert stretched == 20.0
    assert pace.count(0.001) == 1.0


def test_a_refresh_is_told_how_long_to_wait(server) -> None:
    server.pages("SELECT 1")
    headers = {"Accept": "text/html", "X-Fragment": "1"}
    first = server.client.get("/ui/queries", headers=headers)
    again = server.client.get("/ui/queries", headers=headers | {"If-None-Match": first.headers["etag"]})
    assert [float(answer.headers["x-refresh-intervals"]) for answer in (first, again)] == [1.0, 1.0]
    whole = server.client.get("/ui/queries", headers={"Accept": "text/html"})
    assert "x-refresh-intervals" not in whole.headers
    for _ in range(400):
        last = server.client.get("/ui/queries", headers=headers)
    assert float(last.headers["x-refresh-intervals"]) > 1.0
