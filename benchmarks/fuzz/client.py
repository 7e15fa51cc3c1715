"""A client of the statement protocol that looks at everything that comes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True)
class Answer:
    """``status`` is the worst of all requests; ``error`` is the name, the type and the message."""

    status: int
    rows: tuple[tuple[Any, ...], ...] = ()
    types: tuple[str, ...] = ()
    error: tuple[str, str, str] | None = None
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def internal(self) -> bool:
        """An error of the service's own; that there is no Spark for what the embedded engine could not do is none."""
        if self.error is not None and self.error[0] in {"NO_NODES_AVAILABLE", "REMOTE_HOST_GONE"}:
            return False
        return self.status >= 500 or (self.error is not None and self.error[1] == "INTERNAL_ERROR")


class StatementClient:
    """Statements of one user over one connection."""

    def __init__(self, url: str, schema: str, session: str = "", limit: float = 60) -> None:
        headers = {"X-Presto-User": "fuzz", "X-Presto-Catalog": "iceberg", "X-Presto-Schema": schema}
        if session:
            headers["X-Presto-Session"] = session
        self._http = httpx.Client(base_url=url, headers=headers, timeout=limit)
        self._limit = limit

    def ask(self, sql: str) -> Answer:
        """All pages of a statement; one that takes longer than the limit is an internal error of its own kind."""
        started = time.monotonic()
        try:
            return self._ask(sql, started)
        except (httpx.HTTPError, ValueError) as error:
            told = (type(error).__name__, "INTERNAL_ERROR", str(error))
            return Answer(599, error=told, seconds=time.monotonic() - started)

    def _ask(self, sql: str, started: float) -> Answer:
        response = self._http.post("/v1/statement", content=sql.encode())
        rows: list[tuple[Any, ...]] = []
        types: tuple[str, ...] = ()
        worst = response.status_code
        while response.status_code == 200:
            page = response.json()
            rows += [tuple(row) for row in page.get("data", ())]
            types = tuple(column["type"] for column in page.get("columns") or ()) or types
            if "nextUri" not in page:
                return _answer(worst, rows, types, page, time.monotonic() - started)
            if time.monotonic() - started > self._limit:
                self._http.delete(page["nextUri"])
                raise httpx.ReadTimeout(f"no end after {self._limit} s")
            response = self._http.get(page["nextUri"])
            worst = max(worst, response.status_code)
        told = ("HTTP", "HTTP", response.text[:300])
        return Answer(worst, error=told, seconds=time.monotonic() - started)

    def close(self) -> None:
        self._http.close()


def _answer(worst: int, rows: list[Any], types: tuple[str, ...], page: Any, seconds: float) -> Answer:
    error = page.get("error")
    told = None if error is None else (error["errorName"], error["errorType"], error["message"])
    warnings = tuple(warning["message"] for warning in page.get("warnings", ()))
    return Answer(worst, tuple(rows), types, told, warnings, seconds)
