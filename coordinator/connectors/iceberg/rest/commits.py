"""One commit over the REST protocol: sent until its outcome is known, or told to be unknown."""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Callable

from pyiceberg.catalog.rest.response import _handle_non_200_response
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException, NoSuchTableError
from pyiceberg.table import CommitTableResponse
from pyiceberg.table.update import SetSnapshotRefUpdate, TableUpdate
from requests import HTTPError, Response
from requests.exceptions import ConnectTimeout, RequestException
from urllib3.exceptions import MaxRetryError, NewConnectionError

from coordinator.connectors.iceberg.opaque_types import parse
from shared.errors import ErrorCode, ProcessionError

_UNKNOWN = (500, 502, 504)
_LATER = (429, 503)
"""Nothing was committed; the server asks to come again."""
_TRIES = 4
_PAUSE, _MOST_PAUSE = 0.5, 10.0


def committed(send: Callable[[dict[str, str]], Response], idempotent: bool) -> CommitTableResponse:
    """The answer of a commit that landed.

    Raises CommitFailedException when it did not, CommitStateUnknownException when nobody can say. ``idempotent``: the
    server keeps answers by a key of ours, so that what got lost is asked for again.
    """
    headers = {"Idempotency-Key": str(_uuid_seven())} if idempotent else {}
    tries = 0
    while True:
        tries += 1
        answer, error = _sent(send, headers)
        unknown = answer is None or answer.status_code in _UNKNOWN
        later = answer is not None and answer.status_code in _LATER
        if tries < _TRIES and (later or (unknown and idempotent)):
            time.sleep(_pause(answer, tries))
            continue
        if answer is None:
            raise CommitStateUnknownException(f"The catalog's answer was lost: {type(error).__name__}") from error
        return _table_response(answer)


def check_kept(updates: tuple[TableUpdate, ...], answer: CommitTableResponse) -> None:
    """Raises ProcessionError for a branch or tag that the server took and left out, as Nessie does."""
    for update in updates:
        if isinstance(update, SetSnapshotRefUpdate) and update.ref_name not in answer.metadata.refs:
            message = f"The catalog's server does not keep the {update.type} '{update.ref_name}' of a table"
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)


def _sent(
    send: Callable[[dict[str, str]], Response], headers: dict[str, str]
) -> tuple[Response | None, Exception | None]:
    """The answer, or how it got lost on the way; raises what happened before anything was sent."""
    try:
        return send(headers), None
    except ConnectTimeout:
        raise
    except RequestException as error:
        if _never_sent(error):
            raise
        return None, error


def _never_sent(error: RequestException) -> bool:
    reason = error.args[0] if error.args else None
    return isinstance(reason, MaxRetryError) and isinstance(reason.reason, NewConnectionError)


def _table_response(answer: Response) -> CommitTableResponse:
    try:
        answer.raise_for_status()
    except HTTPError as error:
        unknown = dict.fromkeys(_UNKNOWN, CommitStateUnknownException)
        _handle_non_200_response(error, {404: NoSuchTableError, 409: CommitFailedException, **unknown})
    return parse(answer.text, CommitTableResponse.model_validate, CommitTableResponse.model_validate_json)


def _pause(answer: Response | None, tries: int) -> float:
    retry_after = "" if answer is None else answer.headers.get("Retry-After", "")
    return min(_MOST_PAUSE, float(retry_after) if retry_after.isdigit() else _PAUSE * 2**tries)


def _uuid_seven() -> uuid.UUID:
    """A UUID that begins with the time (RFC 9562), as the protocol asks for."""
    bits = (int(time.time() * 1000) & ((1 << 48) - 1)) << 80 | secrets.randbits(80)
    return uuid.UUID(int=bits & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62)
