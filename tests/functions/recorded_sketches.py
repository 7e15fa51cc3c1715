"""Sketches of a real Presto 0.296, as bytes and as estimates, and ours to the same statements.

``tests/data/presto_sketches_recorded.jsonl.gz``: a statement a line with ``columns`` and ``rows``, or with ``error``
and ``message``. Each was asked twice; where ``stable`` is false, Presto's own second answer was another (``rows2``):
its t-digests take centroids in a random order, and rows of a UNION ALL arrive in any. Arrays and maps are JSON text.
Long sketches are told by MD5 and length. ``presto_sketches_exceptions.json`` names, by reason, what we answer
otherwise.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from tests.functions.recorded import Answer

_DATA = Path(__file__).parents[1] / "data"
_NESTED = ("array", "map", "row")


def recorded() -> list[dict[str, Any]]:
    """Every recorded statement with Presto's answer."""
    with gzip.open(_DATA / "presto_sketches_recorded.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def exceptions() -> dict[str, str]:
    """The statements that we answer otherwise, each with its reason."""
    reasons = json.loads((_DATA / "presto_sketches_exceptions.json").read_text(encoding="utf-8"))
    return {sql: reason for reason, statements in reasons.items() for sql in statements}


def alike(ours: Answer, theirs: dict[str, Any]) -> bool:
    """The same rows, to the last bit, or the same error; of what no two runs of Presto answer alike either answer."""
    if "error" in theirs or "error" in ours:
        return ours.get("error", [None, None])[:2] == [theirs.get("error"), theirs.get("message")]
    if ours["columns"] != theirs["columns"]:
        return False
    kinds = [kind for _, kind in theirs["columns"]]
    answers = [theirs["rows"], theirs.get("rows2", theirs["rows"])]
    return any(json.dumps(ours["data"]) == json.dumps(_read(rows, kinds)) for rows in answers)


def _read(rows: list[list[Any]], kinds: list[str]) -> list[list[Any]]:
    return [[_cell(v) if k.startswith(_NESTED) else v for v, k in zip(row, kinds, strict=True)] for row in rows]


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("[", "{"):
        return _cell(json.loads(value))
    return [_cell(v) for v in value] if isinstance(value, list) else value
