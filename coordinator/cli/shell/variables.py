"""Variables of a shell in statements, as psql writes them: ``:name``, ``:'name'`` and ``:"name"``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from coordinator.cli.shell.splitter import code_pieces

_USE = re.compile(r"(?<![:\w]):([A-Za-z_]\w*)\b")
_QUOTED_USE = re.compile(r"(?<![:\w]):$")
_NAME = re.compile(r"[A-Za-z_]\w*")


def is_name(text: str) -> bool:
    """Whether a variable may be called so."""
    return _NAME.fullmatch(text) is not None


def substituted(text: str, values: Mapping[str, str]) -> str:
    """The statement with the variables that are set; what is not set, quoted or a comment stays as it is."""
    if not values:
        return text
    made: list[str] = []
    for piece, is_code in code_pieces(text):
        if is_code:
            made.append(_USE.sub(lambda use: values.get(use[1], use[0]), piece))
            continue
        name = piece[1:-1]
        if piece[0] in "'\"" and name in values and made and _QUOTED_USE.search(made[-1]):
            quote = piece[0]
            made[-1] = made[-1][:-1]
            made.append(quote + values[name].replace(quote, quote * 2) + quote)
        else:
            made.append(piece)
    return "".join(made)
