"""Tasks with vended keys: a store that refuses them is no failure yet, since keys may have ended on the way.

Such a task tells that it was refused, and is run again with the keys of that moment.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from .errors import KernelError
from .storage import VendedStorage

_OF_STORES = frozenset({"ICEBERG_CANNOT_OPEN_SPLIT", "ICEBERG_FILESYSTEM_ERROR"})
_REFUSED = re.compile(
    r"ACCESS.?DENIED|Forbidden|Unauthori[sz]ed|Expired|Invalid.?(?:Access.?Key|Token|Client)|TokenRefresh|"
    r"\b(?:status|code):? ?(?:400|401|403)\b|\bAWS Error \[code 15\]|"
    r"PERMISSION_DENIED|UNAUTHENTICATED|\bAzure Error: \[\w*\] 40[13]\b",
    re.IGNORECASE,
)
_IDLE_ROUNDS = 2
"""So often tasks are sent once more when none of them came to its end."""
KERNEL = "vended:run"


def is_refused(name: str, text: str) -> bool:
    """Whether a failure, by its error code's name and its text, is a store's that does not take the keys."""
    return name in _OF_STORES and is_refused_by_store(text)


def is_refused_by_store(text: str) -> bool:
    """Whether a store's error, by its text, is about the keys that it was given."""
    return _REFUSED.search(text) is not None


def run(payload: bytes) -> bytes:
    """Runs the kernel that the payload's first line names, and tells the task's number before the answer."""
    head, _, inner = payload.partition(b"\n")
    head_line = json.loads(head)
    module, function = head_line["kernel"].split(":")
    call: Any = getattr(importlib.import_module(f"{__package__}.{module}"), function)
    refused, body = False, b""
    try:
        body = call(inner)
    except KernelError as error:
        if not is_refused(error.name, f"{error.message} {error.__cause__}"):
            raise
        refused = True
    return json.dumps({"number": head_line["number"], "refused": refused}).encode() + b"\n" + body


def dispatch(kernel: str, workers: Any, tasks: Sequence[Any], encode: Any, description: str) -> Iterator[bytes]:
    """The answers of all tasks. One that stores refuse with the newest keys too fails as it does without us."""
    waiting = dict(enumerate(tasks))
    idle = 0
    while waiting:
        vended = {number: vended_storage(task) for number, task in waiting.items()}
        sent = {number: {} if storage is None else storage.fresh() for number, storage in vended.items()}
        payloads = [_payload(kernel, number, encode(task)) for number, task in waiting.items()]
        refused: list[int] = []
        for raw in workers.run_tasks(KERNEL, payloads, description=description):
            head, _, body = raw.partition(b"\n")
            head_line = json.loads(head)
            if head_line["refused"]:
                refused.append(head_line["number"])
            else:
                yield body
        idle = 0 if len(refused) < len(waiting) else idle + 1
        waiting = {number: waiting[number] for number in refused}
        if waiting and (idle > _IDLE_ROUNDS or not all(_is_newer(vended[number], sent[number]) for number in refused)):
            yield from workers.run_tasks(kernel, [encode(task) for task in waiting.values()], description=description)
            return


def vended_storage(task: object) -> VendedStorage | None:
    """The vended keys of a task, or of the task inside of it; None where there are none."""
    found = getattr(task, "storage", None)
    if isinstance(found, VendedStorage):
        return found if found.is_vended else None
    inner = getattr(task, "task", None)
    return None if inner is None else vended_storage(inner)


def _is_newer(vended: VendedStorage | None, sent: dict[str, str]) -> bool:
    return vended is not None and vended.renewed_after(sent) != sent


def _payload(kernel: str, number: int, task: bytes) -> bytes:
    return json.dumps({"kernel": kernel, "number": number}).encode() + b"\n" + task
