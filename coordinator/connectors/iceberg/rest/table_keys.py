"""The keys of one table, renewed before they end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator

from coordinator.connectors.iceberg.rest.vended_keys import VendedKeys, is_shown
from coordinator.kernels.storage import VendedStorage

_LOG = logging.getLogger(__name__)
_MARGIN, _SHARE = 300.0, 0.3
"""Keys are renewed five minutes before they end, those of a short life when three tenths of it are left."""
_UNKNOWN_LIFE = 3600.0
"""Of keys whose server does not tell their end: renewed after half of it."""
_PAUSE, _PAUSE_SHARE, _WAIT = 30.0, 0.1, 10.0
"""Seconds until a renewal that failed is tried again (at most that share of a life), and for which those wait who need
keys that have ended."""
_FRESH = 0.5
"""What is sent away has at least this share of its life before it."""


class TableKeys(VendedStorage):
    """What opens the files of one table at the moment; thread-safe.

    ``renew`` asks the catalog and may raise anything: the old keys are kept then, and it is asked again after a while.
    """

    def __init__(self, name: str, keys: VendedKeys, renew: Callable[[], VendedKeys | None]) -> None:
        self._name = name
        self._keys = keys
        self._renew = renew
        self._lock = threading.Lock()
        self._not_before = 0.0

    def take(self, keys: VendedKeys) -> None:
        """Keys that came with a table that was loaded anew; those without a secret replace none."""
        if keys.is_vended or not self._keys.is_vended:
            self._keys = keys

    @property
    def is_vended(self) -> bool:
        return self._keys.is_vended

    def shown(self) -> dict[str, str]:
        """What is no secret of it."""
        return {k: v for k, v in self._keys.storage.items() if " " not in k and is_shown(k)}

    def current(self) -> dict[str, str]:
        keys = self._keys
        life = _UNKNOWN_LIFE if keys.life is None else keys.life
        return self._renewed(min(_MARGIN, life * _SHARE) if keys.life is not None else life / 2)

    def fresh(self) -> dict[str, str]:
        life = self._keys.life
        return self._renewed((_UNKNOWN_LIFE if life is None else life) * _FRESH)

    def renewed_after(self, refused: dict[str, str]) -> dict[str, str]:
        if self._keys.is_vended and dict(self._keys.storage) == refused:
            with self._lock:
                if dict(self._keys.storage) == refused:
                    self._ask()
        return dict(self._keys.storage)

    def _renewed(self, margin: float) -> dict[str, str]:
        """The keys, asked for anew when no more than ``margin`` seconds of them are left."""
        left = self._left()
        now = time.time()
        if left > margin or now < self._not_before:
            return dict(self._keys.storage)
        # Whoever has keys that still hold does not wait for the one who renews them.
        if self._lock.acquire(timeout=_WAIT if left <= 0 else 0):
            try:
                if self._left() <= margin and time.time() >= self._not_before:
                    self._ask()
            finally:
                self._lock.release()
        return dict(self._keys.storage)

    def _left(self) -> float:
        keys = self._keys
        if not keys.is_vended:
            return float("inf")
        end = keys.made_at + _UNKNOWN_LIFE if keys.ends_at is None else keys.ends_at
        return end - time.time()

    def _ask(self) -> None:
        life = self._keys.life
        self._not_before = time.time() + min(_PAUSE, (_UNKNOWN_LIFE if life is None else life) * _PAUSE_SHARE)
        try:
            found = self._renew()
        except Exception as error:  # the catalog's client, its network, its answers
            _LOG.warning("keys of %s could not be renewed, the old ones are kept: %s", self._name, type(error).__name__)
            return
        if found is None or not found.is_vended:
            _LOG.warning("keys of %s could not be renewed, the old ones are kept: the catalog sent none", self._name)
            return
        self._keys, self._not_before = found, 0.0

    def __getitem__(self, name: str) -> str:
        return self.current()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.current())

    def __len__(self) -> int:
        return len(self.current())
