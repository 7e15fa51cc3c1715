"""Cases by number in a process of their own, so that one which ends it, stalls or swells is told and the rest go on."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

STALLED_SECONDS = 60.0
"""Of a machine with much else to do: a case takes some milliseconds."""
MOST_BYTES = 6 << 30
MOST_DEATHS = 20
"""More, and it is the fuzz that is wrong."""

Case = Callable[[int], Iterator[dict[str, Any]]]
Make = Callable[[Counter[str]], Case]
"""Called in the new process, with what it counts into: what is made there is not shared."""


@dataclass
class Told:
    """What the cases said: ``counts`` of answers, and how large the process was."""

    counts: Counter[str] = field(default_factory=Counter)
    done: int = 0
    megabytes: list[int] = field(default_factory=list)


def run_apart(make: Make, numbers: Sequence[int], told: Told) -> Iterator[dict[str, Any]]:
    """What is wrong in these cases, those among it that ended their process or did not end themselves."""
    left, deaths = list(numbers), 0
    while left:
        at: int | None = None
        for line in _lines(make, left):
            match line:
                case {"begun": number}:
                    at = number
                case {"counts": counts, "megabytes": megabytes}:
                    told.counts.update(counts)
                    told.megabytes.append(megabytes)
                case {"ended": reason}:
                    yield {"number": at, "what": "died", "error": reason}
                case found:
                    yield found
        if at is None:
            return
        done = left.index(at) + 1
        deaths += done < len(left)
        if deaths > MOST_DEATHS:
            return
        told.done += done
        left = left[done:]


def _lines(make: Make, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Until all are done, or the process is."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _work(make, numbers, writer)
    os.close(writer)
    whole, ended = False, ""
    try:
        for line in _read(reader):
            whole = whole or "counts" in line
            ended = str(line.get("ended", ended))
            yield line
    finally:
        if not whole:
            os.kill(pid, signal.SIGKILL if ended else signal.SIGCONT)
        _, status = os.waitpid(pid, 0)
    if not whole and not ended:
        yield {"ended": signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit {status >> 8}"}


def _read(reader: int) -> Iterator[dict[str, Any]]:
    with os.fdopen(reader, "rb", buffering=0) as answers:
        kept = b""
        while True:
            if not select.select([answers], [], [], STALLED_SECONDS)[0]:
                yield {"ended": f"nothing for {STALLED_SECONDS:g} s"}
                return
            if not (read := answers.read(1 << 16)):
                return
            *lines, kept = (kept + read).split(b"\n")
            yield from map(json.loads, lines)


def _work(make: Make, numbers: Sequence[int], writer: int) -> None:
    """In the new process; never returns."""
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
        counts: Counter[str] = Counter()
        case = make(counts)
        with os.fdopen(writer, "wb") as out:

            def tell(line: dict[str, Any]) -> None:
                out.write(json.dumps(line, default=str).encode() + b"\n")
                out.flush()

            for number in numbers:
                tell({"begun": number})
                for found in case(number):
                    tell(found)
            tell({"counts": counts, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10})
        code = 0
    except BaseException:
        traceback.print_exc(file=sys.stderr)
    finally:
        os._exit(code)
