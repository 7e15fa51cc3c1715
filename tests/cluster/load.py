"""Clients of several coordinators: pages by turns from each, and statements all the time while some of them end."""

from __future__ import annotations

import threading
import time
from typing import Any

import httpx

from tests.e2e.service import Service


def by_turns(services: list[Service], sql: str) -> list[list[object]]:
    user = {"X-Presto-User": "tester", "X-Presto-Catalog": "tpch", "X-Presto-Schema": "tiny"}
    with httpx.Client(timeout=60) as client:
        page = client.post(services[0].url + "/v1/statement", content=sql, headers=user).json()
        rows: list[list[object]] = []
        turn = 0
        while "nextUri" in page:
            turn += 1
            path = httpx.URL(page["nextUri"]).raw_path.decode()
            page = client.get(services[turn % 2].url + path).raise_for_status().json()
            rows += page.get("data", [])
        assert "error" not in page, page["error"]
        return rows


class Load:
    """Statements all the time, by a client that knows only addresses, some of which do not answer for a while."""

    def __init__(self, urls: list[str]) -> None:
        self.urls = urls
        self.done, self.wrong = 0, list[str]()
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(3)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join(60)

    def _run(self, number: int) -> None:
        turn = number
        while not self._stopped.is_set():
            turn += 1
            try:
                rows = self._rows(turn, f"SELECT {turn} + count(*) FROM tpch.tiny.nation")
                self.done += 1
                if rows != [[turn + 25]]:
                    self.wrong.append(f"{turn}: {rows}")
            except Exception as error:
                self.wrong.append(repr(error))

    def _rows(self, turn: int, sql: str) -> list[list[object]]:
        page = self._asked(turn, "POST", "/v1/statement", sql)
        rows: list[list[object]] = []
        while "nextUri" in page:
            turn += 1
            page = self._asked(turn, "GET", httpx.URL(page["nextUri"]).raw_path.decode(), "")
            rows += page.get("data", [])
        assert "error" not in page, page["error"]
        return rows

    def _asked(self, turn: int, method: str, path: str, body: str) -> dict[str, Any]:
        """As load balancers and clients do: another address where none is listening, and patience for 503."""
        limit = time.monotonic() + 60
        while True:
            turn += 1
            url = self.urls[turn % len(self.urls)]
            try:
                answer = httpx.request(method, url + path, content=body, headers={"X-Presto-User": "load"}, timeout=60)
            except httpx.ConnectError:
                continue
            except httpx.TransportError:
                if method == "GET":  # which may be repeated
                    continue
                raise
            if answer.status_code != 503:
                found: dict[str, Any] = answer.raise_for_status().json()
                return found
            assert time.monotonic() < limit
            time.sleep(0.05)
