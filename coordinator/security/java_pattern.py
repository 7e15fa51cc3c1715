"""Regular expressions as configuration files of Java programs write them."""

from __future__ import annotations

import re

_NAMED_GROUP = re.compile(r"\(\?<(?=[A-Za-z])")


def java_pattern(text: str) -> re.Pattern[str]:
    """``(?<name>…)`` is Python's ``(?P<name>…)``; what else is used in practice is the same. Raises re.error.

    >>> java_pattern("(?<team>[a-z]+)-.*").fullmatch("etl-1")["team"]
    'etl'
    """
    return re.compile(_NAMED_GROUP.sub("(?P<", text))
