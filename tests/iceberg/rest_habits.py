"""What REST catalogs do differently: which of it the small server plays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.table import Table

Credentials = list[dict[str, Any]]


@dataclass
class Habits:
    """``vend`` gives a table's ``config`` and ``storage-credentials``. Lists are of what the server was asked.

    ``failures`` are status codes that the next commits are answered with; ``lands`` says whether they land all the
    same.
    """

    vend: Callable[[Table], tuple[dict[str, str], Credentials]] = lambda _table: ({}, [])
    has_credentials_path: bool = True
    etags: bool = False
    prefix: str = ""
    separator: str = "%1F"
    page_size: int | None = None
    defaults: dict[str, str] = field(default_factory=dict)
    overrides: dict[str, str] = field(default_factory=dict)
    idempotency: bool = False
    failures: list[int] = field(default_factory=list)
    lands: bool = False
    renewal_failures: list[int] = field(default_factory=list)
    empty_renewals: int = 0
    policies: Callable[[str, str], list[dict[str, Any]]] | None = None
    """Polaris' applicable policies by namespace (its parts with a dot between them) and table; None: it has none."""
    admits: Callable[[str | None], bool] = lambda _authorization: True
    """Whether a login is good, by its header; others are answered with 401."""
    token: Callable[[dict[str, list[str]]], str] | None = None
    """The token for a form that was sent to ``oauth/tokens``."""
    sign: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """The answer to a request that is to be signed, at ``aws/s3/sign``; it may raise RefusedError."""
    plans: Callable[[Table, str, str, dict[str, Any]], Any] | None = None
    """Answers method, path below the table's and body of what is asked of its planning; None: tables are for clients
    to plan."""
    asked: list[str] = field(default_factory=list)
    """Method and path of every request, with 304 where nothing was sent."""
    authorizations: list[tuple[str, str | None]] = field(default_factory=list)
    traces: list[tuple[str, str | None]] = field(default_factory=list)
    """The path and the W3C trace context of every request."""
    keys: list[str | None] = field(default_factory=list)
    """The Idempotency-Key of every commit."""
    replays: dict[str, tuple[int, Any]] = field(default_factory=dict)

    def count(self, text: str) -> int:
        return sum(text in line for line in self.asked)
