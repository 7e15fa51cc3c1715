"""Wrong passwords cost time: whoever guesses waits longer after each."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

_REMEMBERED = 10_000
_LONGEST_SECONDS = 60.0
_FORGOTTEN_SECONDS = 900.0


@dataclass(slots=True)
class _Failures:
    count: int = 0
    last: float = 0.0


def source_of(address: str | None) -> str | None:
    """Whom an address belongs to: whoever has one of IPv6 has the network of 64 bits that it is in."""
    try:
        parsed = ip_address((address or "").partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Address(int(parsed) >> 64 << 64))


class GuessLimit:
    """After ``free`` failures of one key in a row, 1, 2, 4 … 60 seconds pass before the next guess is looked at."""

    def __init__(self, free: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._free, self._monotonic = free, monotonic
        self._failures: OrderedDict[Hashable, _Failures] = OrderedDict()

    def seconds_to_wait(self, key: Hashable) -> float:
        """0 when a guess may be made now."""
        found = self._failures.get(key)
        if found is None or found.count < self._free:
            return 0.0
        pause = min(2.0 ** min(found.count - self._free, 10), _LONGEST_SECONDS)
        return max(0.0, found.last + pause - self._monotonic())

    def failed(self, key: Hashable) -> None:
        now = self._monotonic()
        found = self._failures.setdefault(key, _Failures())
        if now - found.last > _FORGOTTEN_SECONDS:
            found.count = 0
        found.count, found.last = found.count + 1, now
        self._failures.move_to_end(key)
        while len(self._failures) > _REMEMBERED:
            self._failures.popitem(last=False)

    def succeeded(self, key: Hashable) -> None:
        self._failures.pop(key, None)
