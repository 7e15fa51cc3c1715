"""Timestamps as texts by whole columns: patterns of parts that stand in ``2024-02-29 12:34:56.789``."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from .column_values import Mask
from .date_formats import joda_tokens
from .zone_offsets import Micros

Piece = tuple[int, int] | str
"""From where to where in the whole text, or a text of its own."""
WHOLE: Piece = (0, 23)
_MYSQL: dict[str, Piece] = {
    "Y": (0, 4), "m": (5, 7), "d": (8, 10), "H": (11, 13), "i": (14, 16), "s": (17, 19), "S": (17, 19),
}  # fmt: skip
_JODA: dict[str, Piece] = {
    "yyyy": (0, 4), "MM": (5, 7), "dd": (8, 10), "HH": (11, 13), "mm": (14, 16), "ss": (17, 19), "SSS": (20, 23),
}  # fmt: skip
_BETWEEN = {4: "-", 7: "-", 10: " ", 13: ":", 16: ":", 19: "."}


def mysql_pieces(pattern: str) -> tuple[Piece, ...] | None:
    """Of a pattern of ``date_format``; None where it shows other parts."""
    letters = pattern.split("%")
    made: list[Piece | None] = [letters[0]]
    for each in letters[1:]:
        made += [_MYSQL.get(each[:1]), each[1:]]
    return _joined(made)


def joda_pieces(pattern: str) -> tuple[Piece, ...] | None:
    """Of a pattern of ``format_datetime``; None where it shows other parts."""
    return _joined([_JODA.get(text) if letters else text for letters, text in joda_tokens(pattern)])


def _joined(pieces: list[Piece | None]) -> tuple[Piece, ...] | None:
    """With what stands in the whole text as it is written here as one piece."""
    made: list[Piece] = []
    for piece in pieces:
        if piece is None:
            return None
        match made, piece:
            case _, "":
                pass
            case [*_, (int(start), int(end)), str(between)], (int(following), int(last)) if (
                following == end + 1 and between == _BETWEEN[end]
            ):
                made[-2:] = [(start, last)]
            case _:
                made.append(piece)
    return tuple(made)


def shown_walls(walls: Micros, null: Mask, pieces: tuple[Piece, ...]) -> pa.Array:
    """The text of each; NULL where there is none."""
    whole = pa.array(walls // 1000, mask=null).cast(pa.timestamp("ms")).cast(pa.string())
    if all(isinstance(piece, str) for piece in pieces):
        return pc.if_else(whole.is_null(), None, "".join(map(str, pieces)))
    texts = [piece if isinstance(piece, str) else pc.utf8_slice_codeunits(whole, *piece) for piece in pieces]
    return pc.binary_join_element_wise(*texts, "")
