"""Functions of texts in the embedded engine's words."""

from __future__ import annotations

from coordinator.kernels.functions.text import BLANKS
from coordinator.unparser.vectorised.form import Asked, Form, Rule, known, quoted

_LONGEST = (1 << 31) - 1
_LARGE = 1 << 24


def _texts(asked: Asked, count: int) -> bool:
    """Whether the first are varchar: char has its padding, varbinary no characters."""
    return all(base == "varchar" for base in asked.bases[:count])


def _ascii(value: str) -> str:
    return f"(strlen({value}) = length({value}))"


def _length(asked: Asked) -> Form | None:
    return Form(f"length({asked.arguments[0]})") if _texts(asked, 1) else None


def _of_ascii(function: str) -> Rule:
    """Where the engine's letters outside ASCII are others."""

    def rule(asked: Asked) -> Form | None:
        (value,) = asked.arguments
        return Form(f"{function}({value})", (_ascii(value),)) if _texts(asked, 1) else None

    return rule


def _substr(asked: Asked) -> Form | None:
    _, start, *length = asked.arguments
    plain = known(asked, 1, lambda n: 1 <= n <= _LONGEST, f"({start} BETWEEN 1 AND {_LONGEST})")
    if length and plain is not None:
        cut = known(asked, 2, lambda n: 0 <= n <= _LONGEST, f"({length[0]} BETWEEN 0 AND {_LONGEST})")
        plain = None if cut is None else plain + cut
    if plain is None or not _texts(asked, 1):
        return None
    return Form(f"substring({', '.join(asked.arguments)})", plain)


def _trim(function: str, *ends: int) -> Rule:
    def rule(asked: Asked) -> Form | None:
        if len(asked.arguments) > 1 or not _texts(asked, 1):
            return None
        value = asked.arguments[0]
        # Seldom is there anything to cut.
        whole = " AND ".join(f"{value}[{at}] BETWEEN '!' AND '~'" for at in ends)
        return Form(f"CASE WHEN {whole} THEN {value} ELSE {function}({value}, {quoted(BLANKS)}) END")

    return rule


def _replace(asked: Asked) -> Form | None:
    value, search, *new = asked.arguments
    plain = known(asked, 1, bool, f"({search} <> '')")
    if plain is None or not _texts(asked, len(asked.arguments)):
        return None
    if new and not _no_longer(asked):
        # The kernels bound how long a text may become.
        plain += (f"(strlen({value}) * strlen({new[0]}) < {_LARGE})",)
    return Form(f"replace({value}, {search}, {new[0] if new else quoted('')})", plain)


def _no_longer(asked: Asked) -> bool:
    search, new = asked.constant(1), asked.constant(2)
    return isinstance(search, str) and isinstance(new, str) and len(new.encode()) <= len(search.encode())


def _split_part(asked: Asked) -> Form | None:
    value, delimiter, index = asked.arguments
    found = known(asked, 1, bool, f"({delimiter} <> '')")
    counted = known(asked, 2, lambda n: bool(n > 0), f"({index} > 0)")
    if found is None or counted is None or not _texts(asked, 2):
        return None
    return Form(f"list_extract(string_split({value}, {delimiter}), {index})", found + counted)


def _strpos(asked: Asked) -> Form | None:
    value, part, *instance = asked.arguments
    if instance or not _texts(asked, 2):
        return None
    return Form(f"strpos({value}, {part})")


def _ends_with(asked: Asked) -> Form | None:
    return Form(f"ends_with({', '.join(asked.arguments)})") if _texts(asked, 2) else None


def _pad(function: str) -> Rule:
    def rule(asked: Asked) -> Form | None:
        value, size, fill = asked.arguments
        sized = known(asked, 1, lambda n: 0 <= n <= 1 << 20, f"({size} BETWEEN 0 AND {1 << 20})")
        filled = known(asked, 2, bool, f"({fill} <> '')")
        if sized is None or filled is None or asked.bases[0] != "varchar" or asked.bases[2] != "varchar":
            return None
        return Form(f"{function}({value}, CAST({size} AS INTEGER), {fill})", sized + filled)

    return rule


def _split(asked: Asked) -> Form | None:
    delimiter = asked.constant(1)
    if len(asked.arguments) > 2 or not _texts(asked, 2) or not isinstance(delimiter, str) or not delimiter:
        return None
    return Form(f"string_split({', '.join(asked.arguments)})")


TEXTS: dict[str, Rule] = {
    "length": _length, "upper": _of_ascii("upper"), "reverse": _of_ascii("reverse"), "substr": _substr,
    "substring": _substr, "trim": _trim("trim", 1, -1), "ltrim": _trim("ltrim", 1), "rtrim": _trim("rtrim", -1),
    "replace": _replace, "split_part": _split_part, "strpos": _strpos, "ends_with": _ends_with,
    "lpad": _pad("lpad"), "rpad": _pad("rpad"), "split": _split,
}  # fmt: skip
