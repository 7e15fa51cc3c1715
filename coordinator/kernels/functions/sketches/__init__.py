"""Sketches: small summaries of many values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..column_folds import ColumnFold, of_rows
from ..table import Signature, Table
from .hyperloglog_functions import HYPERLOGLOG, HYPERLOGLOG_FOLDS, merge_hyperloglogs
from .own import OWN, OWN_AGGREGATES, merge_own
from .qdigest_functions import QDIGEST_FOLDS, QDIGESTS, merge_qdigests
from .tdigest_functions import TDIGEST_FOLDS, TDIGESTS, merge_tdigests

_MERGES: dict[str, ColumnFold] = {
    "hyperloglog": merge_hyperloglogs,
    "qdigest": merge_qdigests,
    "tdigest": merge_tdigests,
}


def _merge(signature: Signature, rows: Any) -> bytes | None:
    fold = _MERGES.get(signature.result.base)
    made: bytes | None = merge_own(signature, rows) if fold is None else of_rows(fold)(signature, rows)
    return made


SKETCH_FOLDS: dict[str, ColumnFold] = {**HYPERLOGLOG_FOLDS, **QDIGEST_FOLDS, **TDIGEST_FOLDS}
SKETCH_AGGREGATES: dict[str, Callable[..., Any]] = {**OWN_AGGREGATES, "merge": _merge}
SKETCHES: Table = {**HYPERLOGLOG, **QDIGESTS, **TDIGESTS, **OWN}
