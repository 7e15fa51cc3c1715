"""Texts of prepared statements, which clients send again with every request: read once, and only short ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

ParseStatement = Callable[[str], object]
"""Raises ProcessionError for text that is no statement."""

_READ = 4_000
"""Characters of one request. Reading is done on the event loop, 5 us a character; what is beyond is read by the planner
when it is executed, which tells the same."""
_KNOWN = 1_000


class PreparedTexts:
    """Reads texts that it does not know yet. Of one event loop."""

    def __init__(self, parse_statement: ParseStatement) -> None:
        self._parse_statement = parse_statement
        self._known: OrderedDict[int, None] = OrderedDict()

    def check(self, texts: Iterable[str]) -> None:
        """Raises the ProcessionError of the first text that is no statement."""
        left = _READ
        for text in texts:
            key = hash(text)
            if key in self._known:
                self._known.move_to_end(key)
                continue
            left -= len(text)
            if left < 0:
                continue
            self._parse_statement(text)
            self._known[key] = None
            if len(self._known) > _KNOWN:
                self._known.popitem(last=False)
