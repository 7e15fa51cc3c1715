"""Keys of object stores that a REST catalog lends with a table: which hold for a file, and until when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from coordinator.kernels import azure_store
from coordinator.kernels.storage import over, scoped

_STORES = ("s3.", "client.", "gcs.", "adls.", "hdfs.", "oss.", "signer.")
"""How the names begin of what opens files; a server's other words are not for readers."""
_SECRETS = ("s3.access-key-id", "s3.session-token", "client.access-key-id", "gcs.oauth2.token", *azure_store.KEYS)
_ENDS = ("s3.session-token-expires-at-ms", "gcs.oauth2.token-expires-at", "adls.sas-token-expires-at-ms")


@dataclass(frozen=True, slots=True)
class VendedKeys:
    """What one answer of the catalog lends. ``storage`` opens files, as ``kernels/storage.py`` reads it.

    Moments are seconds of this machine's clock; ``ends_at`` is None where the server does not tell.
    """

    storage: Mapping[str, str]
    made_at: float
    ends_at: float | None
    is_vended: bool

    @property
    def life(self) -> float | None:
        return None if self.ends_at is None else max(0.0, self.ends_at - self.made_at)


def is_key(name: str) -> bool:
    """Whether what a property of the name holds opens a store, or says until when."""
    return any(word in name for word in ("key", "token", "secret"))


def is_shown(name: str) -> bool:
    """Whether everybody may see what a property holds; Azure's texts for accounts have addresses and keys in one."""
    return not is_key(name) and "connection-string" not in name


def vended_keys(
    catalog: Mapping[str, str],
    config: Mapping[str, str],
    credentials: Iterable[tuple[str, Mapping[str, str]]],
    now: float,
    clock_ahead: float = 0.0,
) -> VendedKeys:
    """The keys of one answer over what the catalog's file says.

    ``credentials`` are the answer's by prefix, which count before its ``config``. ``clock_ahead`` is by how much the
    server's clock is ahead of ours.
    """
    listed = [(prefix, _of_stores(keys)) for prefix, keys in credentials]
    own = _of_stores(config)
    storage = over(_of_stores(catalog), own)
    for prefix, keys in listed:
        storage |= scoped(prefix, keys)
    vended = [keys for keys in (own, *(keys for _, keys in listed)) if _is_secret(keys)]
    # Words of the server that prefixed keys stand before may have ended long ago.
    ends = [end for keys in ([t for _, t in listed if _is_secret(t)] or vended) for end in _ends(keys)]
    return VendedKeys(storage, now, min(ends) - clock_ahead if ends else None, bool(vended))


def _of_stores(properties: Mapping[str, str]) -> dict[str, str]:
    return {k: str(v) for k, v in properties.items() if k.startswith(_STORES) and " " not in k}


def is_secret(name: str) -> bool:
    """Whether a property of the name opens a store."""
    return name.startswith(_SECRETS) and not name.startswith(_ENDS)


def _is_secret(properties: Mapping[str, str]) -> bool:
    return any(is_secret(name) for name in properties)


def _ends(properties: Mapping[str, str]) -> list[float]:
    """When keys end, in seconds; what is no number is as if it were not told."""
    keys = [value for name, value in properties.items() if name.startswith(_ENDS)]
    return [int(value) / 1000 for value in keys if value.isdigit()]
