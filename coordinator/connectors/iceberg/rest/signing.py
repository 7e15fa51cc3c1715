"""Tables whose requests to the store are signed by the catalog's server: by whom, and with which login."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urljoin, urlsplit

from coordinator.connectors.iceberg.rest.vended_keys import VendedKeys, is_secret
from coordinator.kernels.signed_store import ADDRESS, ENABLED, TOKEN

_LOG = logging.getLogger(__name__)
_USUAL = "v1/aws/s3/sign"
_BEARER = "Bearer "


def signed(keys: VendedKeys, catalog: Mapping[str, str], uri: str, login: str | None) -> VendedKeys:
    """``keys`` with the signer in them where requests are to be signed, else as they are.

    Keys of the store, lent or in the catalog file, go before; the file's ``s3.remote-signing-enabled`` before those of
    the file. ``login`` is the header that the catalog takes: a signer is only told it at the catalog's own host, and
    only a bearer token, since whoever opens files has it then.
    """
    given = keys.storage
    asked = catalog.get(ENABLED, "").lower() == "true"
    if given.get(ENABLED, "").lower() != "true" or keys.is_vended or (not asked and any(map(is_secret, given))):
        return keys
    base = given.get("s3.signer.uri") or given.get("signer.uri") or uri
    path = given.get("s3.signer.endpoint") or given.get("signer.endpoint") or _USUAL
    address = urljoin(base.rstrip("/") + "/", path.lstrip("/"))
    if urlsplit(address)[:2] != urlsplit(uri)[:2]:
        _LOG.warning("requests are not signed by %s: it is not the catalog's own host", urlsplit(address).netloc)
        return keys
    if login is not None and not login.startswith(_BEARER):
        _LOG.warning("requests are not signed by the catalog: only its token would be passed on, not a password")
        return keys
    signer = {ADDRESS: address, TOKEN: (login or "").removeprefix(_BEARER)}
    return replace(keys, storage={**given, **signer}, is_vended=True)
