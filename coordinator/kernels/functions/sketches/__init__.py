"""Sketches: small summaries of many values."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ..column_folds import ColumnFold, of_rows
from ..table import Signature, Table, plain, typed
from . import khyperloglog, set_digest, sfm
from .hyperloglog import from_bytes
from .hyperloglog_functions import HYPERLOGLOG, HYPERLOGLOG_FOLDS, merge_hyperloglogs
from .own import OWN, OWN_AGGREGATES
from .qdigest_functions import QDIGEST_FOLDS, QDIGESTS, merge_qdigests
from .tdigest_functions import TDIGEST_FOLDS, TDIGESTS, merge_tdigests

_MERGES: dict[str, ColumnFold] = {
    "hyperloglog": merge_hyperloglogs,
    "qdigest": merge_qdigests,
    "tdigest": merge_tdigests,
    "setdigest": set_digest.merge_set_digests,
    "khyperloglog": khyperloglog.merge_khyperloglogs,
    "sfmsketch": sfm.merge_sfms,
}


def _merge(signature: Signature, rows: object) -> object:
    return of_rows(_MERGES[signature.result.base])(signature, rows)


def _cardinality(signature: Signature, value: bytes | Collection[object]) -> int:
    if not isinstance(value, bytes):
        return len(value)
    match signature.arguments[0].base:
        case "khyperloglog":
            return khyperloglog.cardinality(value)
        case "setdigest":
            return set_digest.cardinality(value)
        case "sfmsketch":
            return sfm.cardinality(value)
        case _:
            return from_bytes(value).cardinality()


def _jaccard_index(signature: Signature, a: bytes, b: bytes) -> float:
    of_keys = signature.arguments[0].base == "khyperloglog"
    return khyperloglog.jaccard_index(a, b) if of_keys else set_digest.jaccard_index(a, b)


def _intersection_cardinality(signature: Signature, a: bytes, b: bytes) -> int:
    of_keys = signature.arguments[0].base == "khyperloglog"
    return khyperloglog.intersection_cardinality(a, b) if of_keys else set_digest.intersection_cardinality(a, b)


SKETCH_FOLDS: dict[str, ColumnFold] = {
    **HYPERLOGLOG_FOLDS,
    **QDIGEST_FOLDS,
    **TDIGEST_FOLDS,
    **set_digest.SET_DIGEST_FOLDS,
    **khyperloglog.KHYPERLOGLOG_FOLDS,
    **sfm.SFM_FOLDS,
}
SKETCH_AGGREGATES: dict[str, Callable[..., object]] = {**OWN_AGGREGATES, "merge": _merge}
_OF_SETS: Table = {
    **typed(cardinality=_cardinality, jaccard_index=_jaccard_index, intersection_cardinality=_intersection_cardinality),
    **plain(
        hash_counts=set_digest.hash_counts,
        merge_khll=khyperloglog.merge_khll,
        uniqueness_distribution=khyperloglog.uniqueness_distribution,
        reidentification_potential=khyperloglog.reidentification_potential,
    ),
}
SKETCHES: Table = {**HYPERLOGLOG, **QDIGESTS, **TDIGESTS, **OWN, **sfm.SFMS, **_OF_SETS}
