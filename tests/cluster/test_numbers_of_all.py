"""Numbers of the overview and of ``/v1/cluster`` are those of all coordinators."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import count

import msgspec
import pytest

from coordinator.dispatch.totals import percentile
from coordinator.server.peer_queries import SILENT_HEADER
from coordinator.server.ui.activity import Sample
from coordinator.server.ui.figures import Figures, together
from coordinator.server.ui.overview import Newest
from tests.cluster.conftest import two_servers
from tests.cluster.test_lists_of_queries import PAGE, made
from tests.cluster.test_owner_forwarding import USER, closed_address
from tests.protocol.conftest import Server

_NUMBERS = count(1)


def running(server: Server) -> str:
    return str(server.until(server.post("SELECT slow"), "RUNNING").json()["id"])


def shown(server: Server) -> dict[str, str]:
    """The cards of the overview by their titles."""
    text = server.client.get("/ui/", headers=PAGE).text
    found = re.findall(r"<h2>(?:<a [^>]*>)?([^<]+)(?:</a>)?</h2>\s*<p class=\"figure\">([^<]+)</p>", text)
    notes = re.findall(r'<p class="note">(\d+) ended since the start', text)
    return dict(found) | {"ended": notes[0]}


def test_either_counts_what_runs_on_both() -> None:
    with two_servers() as pair:
        for server in (pair.first, pair.second, pair.second):
            running(server)
        made(pair.first)
        made(pair.second)
        for server, own in ((pair.first, 1), (pair.second, 2)):
            assert server.client.get("/v1/cluster", headers=USER).json()["runningQueries"] == 3
            alone = server.client.get("/v1/cluster?includeLocalInfoOnly=true", headers=USER).json()
            assert (alone["runningQueries"], alone["activeWorkers"]) == (own, 1)
            cards = shown(server)
            assert (cards["Running"], cards["ended"]) == ("3", "2")
            assert "Memory of the coordinators" in cards
            page = server.client.get("/ui/", headers=PAGE).text
            assert "numbers and statements are those of all coordinators" in page
        pair.gone("aaaaa", alive=True, address=closed_address())
        answer = pair.second.client.get("/v1/cluster", headers=USER)
        assert (answer.json()["runningQueries"], answer.headers[SILENT_HEADER]) == (2, "node-a")
        assert shown(pair.second)["Running"] == "2"


def sample(running: int, rate: float, median: float) -> Sample:
    return Sample(datetime(2026, 1, 1, tzinfo=UTC), running, 1, rate, 0.5, median, median * 2, 100)


def figures(*past: Sample, times: tuple[float, ...]) -> Figures:
    numbers = {"CompletedQueries": next(_NUMBERS), "FailedQueries": 1}
    return Figures(sample(len(past), 1.0, percentile(list(times), 0.5)), past, times, numbers, numbers)


def test_latencies_of_now_are_those_of_all_statements_and_older_ones_are_weighed() -> None:
    one = figures(sample(1, 9.0, 1.0), sample(2, 0.0, 0.0), times=(1.0, 2.0, 9.0))
    two = figures(sample(3, 1.0, 11.0), times=(3.0, 4.0))
    both = together([one, two])
    assert (both.now.running, both.now.queued, both.now.memory) == (3, 2, 200)
    assert (both.now.median, both.now.slow) == (3.0, 9.0)
    # The younger coordinator has no sample of the first interval.
    assert [(each.running, each.rate, each.median) for each in both.past] == [(1, 9.0, 1.0), (5, 1.0, 11.0)]
    assert both.ever["CompletedQueries"] == one.ever["CompletedQueries"] + two.ever["CompletedQueries"]
    weighed = together([figures(sample(0, 3.0, 1.0), times=()), figures(sample(0, 1.0, 5.0), times=())])
    assert weighed.past[0].median == pytest.approx(2.0)
    assert together([one]) is one


def test_a_coordinator_of_an_older_version_says_no_numbers() -> None:
    said = msgspec.json.decode(b'{"active":[],"failed":[],"recent":[]}', type=Newest)
    assert (said.figures, said.parts) == (None, ())
