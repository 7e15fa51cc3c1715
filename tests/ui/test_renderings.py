"""Live parts of pages that all who see the same share: how often they are made, for whom, and what a failure does."""

from __future__ import annotations

import asyncio

import pytest

from coordinator.server.ui.renderings import Rendering, Renderings

FRAGMENT = {"Accept": "text/html", "X-Fragment": "1"}


class Made:
    """Counts how often it is made."""

    def __init__(self, failures: int = 0) -> None:
        self.times, self._failures = 0, failures

    async def __call__(self) -> Rendering:
        self.times += 1
        number = self.times
        await asyncio.sleep(0.01)
        if number <= self._failures:
            raise ValueError(f"failure {number}")
        return Rendering(b"%d" % number, f'"{number}"', 0.001)


def test_one_is_made_for_all_who_ask_within_the_interval() -> None:
    async def ask() -> tuple[list[tuple[bytes, bool]], list[bytes], int]:
        clock = [0.0]
        shared, made = Renderings(lambda: clock[0]), Made()
        first = await asyncio.gather(*(shared.of("list", 3, None, made) for _ in range(15)))
        later = []
        for clock[0] in (2.9, 3.0, 5.9, 6.0):
            later.append((await shared.of("list", 3, None, made))[0].body)
        return [(each.body, own) for each, own in first], later, made.times

    first, later, times = asyncio.run(ask())
    assert first == [(b"1", True)] + [(b"1", False)] * 14
    assert (later, times) == ([b"1", b"2", b"2", b"3"], 3)


def test_a_page_is_the_same_as_long_as_its_stamp_is() -> None:
    async def ask() -> list[bytes]:
        clock = [0.0]
        shared, made = Renderings(lambda: clock[0]), Made()
        found = []
        for clock[0], stamp in ((0.0, "a"), (100.0, "a"), (101.0, "b"), (200.0, None), (300.0, None)):
            found.append((await shared.of("list", 3, stamp, made))[0].body)
        return found

    # Within the interval a page is kept although its stamp has changed: it is no older than its reader's last one.
    assert asyncio.run(ask()) == [b"1", b"1", b"2", b"3", b"4"]


def test_others_do_not_get_it_and_not_all_are_kept() -> None:
    async def ask() -> tuple[int, int]:
        shared, made = Renderings(lambda: 0.0), Made()
        await asyncio.gather(*(shared.of(("list", user), 3, None, made) for user in range(1000)))
        apart = made.times
        await asyncio.gather(*(shared.of(("list", user), 3, None, made) for user in range(999, 899, -1)))
        return apart, made.times

    assert asyncio.run(ask()) == (1000, 1000)


def test_a_failure_is_told_to_those_who_wait_and_tried_again_for_the_next() -> None:
    async def ask() -> tuple[list[str], bytes]:
        shared, made = Renderings(lambda: 0.0), Made(failures=1)
        waiting = [shared.of("list", 3, None, made) for _ in range(3)]
        failed = [str(each) for each in await asyncio.gather(*waiting, return_exceptions=True)]
        return failed, (await shared.of("list", 3, None, made))[0].body

    assert asyncio.run(ask()) == (["failure 1"] * 3, b"2")


def test_a_failure_that_nobody_waited_for_is_not_kept() -> None:
    async def ask() -> bytes:
        shared, made = Renderings(lambda: 0.0), Made(failures=1)
        leaving = asyncio.create_task(shared.of("list", 3, "same", made))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.sleep(0.05)
        return (await shared.of("list", 3, "same", made))[0].body

    assert asyncio.run(ask()) == b"2"


def test_who_goes_away_takes_nobody_elses_page_along() -> None:
    async def ask() -> bytes:
        shared, made = Renderings(lambda: 0.0), Made()
        leaving = asyncio.create_task(shared.of("list", 3, None, made))
        await asyncio.sleep(0)
        staying = asyncio.create_task(shared.of("list", 3, None, made))
        await asyncio.sleep(0)
        leaving.cancel()
        return (await staying)[0].body

    assert asyncio.run(ask()) == b"1"


@pytest.mark.parametrize("path", ["/ui/", "/ui/queries"])
def test_a_refresh_within_the_interval_is_shared_by_one_user_alone(start_server, path) -> None:
    with start_server() as server:

        def part(user: str) -> str:
            answer = server.client.get(path, headers=FRAGMENT | {"X-Presto-User": user})
            assert answer.status_code == 200
            return answer.text

        server.pages("SELECT 1")
        before = part("ann")
        server.pages("SELECT 2")
        assert part("ann") == before
        assert "SELECT 2" in part("bob")
        assert "SELECT 2" in server.client.get(path, headers={"Accept": "text/html", "X-Presto-User": "ann"}).text
        assert "SELECT 2" not in before


def test_what_headers_say_of_a_session_keeps_parts_apart(server) -> None:
    headers = FRAGMENT | {"X-Presto-User": "ann"}
    zone = {"X-Presto-Time-Zone": "Nowhere/City"}
    wrong = server.client.get("/ui/maintenance", headers=headers | zone)
    right = server.client.get("/ui/maintenance", headers=headers)
    assert "Time zone not supported" in wrong.text
    assert "Time zone not supported" not in right.text


def test_rows_of_a_list_say_what_they_said_without_being_kept(server) -> None:
    """A running statement's row changes while that of an ended one is written once."""
    server.pages("SELECT 1/0")
    running = server.until(server.post("SELECT slow"), "RUNNING").json()
    whole = {"Accept": "text/html"}
    texts = [server.client.get("/ui/queries", headers=whole).text for _ in range(2)]
    assert all("DIVISION_BY_ZERO" in text and ">running</span>" in text for text in texts)
    server.client.delete(running["nextUri"])
    server.wait_for(lambda: ">running</span>" not in server.client.get("/ui/queries", headers=whole).text)
