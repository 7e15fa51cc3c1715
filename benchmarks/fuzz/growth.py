"""How time and memory of every scalar function and cast grow with hostile values.

``python -m benchmarks.fuzz.growth [--seed 1] [--random 60] [NAME…]``: each signature of the registry and each cast is
computed by the kernels over values of ``hostile.py`` in two sizes, in a child process of little memory that is ended
when one call takes too long. A JSON line for each that grows faster than its values (``steep``), takes too long
(``hangs``), ends the process (``dies``), or fails within (``fault``); the last line is the summary, and the exit code
is 1 when there were any.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import random
import resource
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from time import thread_time
from typing import Any, NamedTuple

from benchmarks.fuzz.hostile import makers
from coordinator.analyzer.registry import registry
from coordinator.kernels.errors import KernelError
from coordinator.kernels.functions.casts import caster
from coordinator.kernels.functions.library import LIBRARY
from coordinator.kernels.functions.program import Program
from coordinator.kernels.functions.zones import zone_of
from shared.plan.types import Type, parse_type

SMALL, LARGE = 16_000, 128_000
"""Sizes in characters; a large value is eight small ones."""
STEEP, NOTABLE, PATIENCE, MEMORY = 20.0, 0.02, 6.0, 3 << 30
"""The ratio of times that is too much, below which seconds nothing matters, when a call is ended, address space."""
_VARIABLES = {
    "T": "varchar",
    "E": "varchar",
    "K": "varchar",
    "V": "varchar",
    "U": "varchar",
    "R": "varchar",
    "S": "varchar",
}
_CASTS = (
    "boolean", "tinyint", "integer", "bigint", "real", "double", "decimal(10,2)", "decimal(38,0)", "varchar",
    "varchar(3)", "char(5)", "varbinary", "date", "time", "time with time zone", "timestamp",
    "timestamp with time zone", "json", "uuid", "ipaddress", "ipprefix", "array(json)", "array(bigint)",
    "array(varchar)", "map(varchar,json)", "map(varchar,double)", "row(a varchar,b bigint)",
)  # fmt: skip


class Case(NamedTuple):
    """A call: of which types, and with which values by their names."""

    function: str
    result: str
    types: tuple[str, ...]
    values: tuple[str, ...]


def _bound(type_: Type) -> Type:
    """Without variables: of types by varchar, of numbers by a length."""
    if type_.base.upper() in _VARIABLES or (len(type_.base) <= 2 and type_.base[0].isalpha() and not type_.parameters):
        return Type("varchar")
    if type_.base in ("varchar", "char", "decimal"):
        return {"varchar": Type("varchar"), "char": Type("char", (5,)), "decimal": Type("decimal", (38, 2))}[type_.base]
    return Type(type_.base, tuple(_bound(a) for a in type_.arguments)) if type_.base != "row" else type_


def signatures(names: Sequence[str]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Every scalar function that the kernels compute and, as ``cast``, every cast from a text, JSON or bytes."""
    for name, found in registry().items():
        for signature in found if name in LIBRARY and (not names or name in names) else ():
            if signature.kind == "scalar":
                yield name, str(_bound(signature.result)), tuple(str(_bound(a)) for a in signature.arguments)
    for source in ("varchar", "json", "varbinary", "array(varchar)", "map(varchar,varchar)"):
        for target in _CASTS if not names or "cast" in names else ():
            yield "cast", target, (source,)
    for name, pair in (("like", ("varchar", "likepattern")), ("$operator$equal", ("array(varchar)", "array(varchar)")),
                       ("$operator$less_than", ("array(varchar)", "array(varchar)"))):  # fmt: skip
        if not names or name in names:
            yield name, "boolean", pair


def cases(names: Sequence[str], chosen: random.Random, extra: int) -> Iterator[Case]:
    """One position varied at a time, all alike, and ``extra`` of any."""
    for name, result, types in signatures(names):
        pools = [list(makers(parse_type(t))) for t in types]
        made = {tuple(p[0] if j != i else v for j, p in enumerate(pools)) for i, pool in enumerate(pools) for v in pool}
        shared = set.intersection(*map(set, pools)) if pools else set()
        made |= {(v,) * len(types) for v in shared}
        many = extra * (4 if len([p for p in pools if len(p) > 20]) > 1 else 1)
        made |= {tuple(chosen.choice(p) for p in pools) for _ in range(many)}
        for values in sorted(made):
            yield Case(name, result, types, values)


def _seconds(case: Case, size: int) -> tuple[float, str]:
    given = [makers(parse_type(t))[v](size) for t, v in zip(case.types, case.values, strict=True)]
    if case.function == "cast":
        convert = caster(parse_type(case.types[0]), parse_type(case.result), zone_of("UTC"))

        def call() -> object:
            return convert(given[0])
    else:
        arguments = [["column", i] for i in range(len(given))]
        types = [t if not t.startswith("function") else "varchar" for t in case.types]
        call_ = ["call", case.function, case.result, list(case.types), arguments]
        program = Program(json.dumps({"zone": "UTC", "columns": types, "result": case.result, "expression": call_}))

        def call() -> object:
            return program.value(given)

    start = thread_time()
    try:
        call()
    except KernelError as error:
        fault = "Invalid argument of" in error.message and str(error.__cause__ or "")
        return thread_time() - start, f"fault {fault}" if fault else ""
    except (MemoryError, RecursionError) as error:
        return thread_time() - start, type(error).__name__
    except Exception as error:
        return thread_time() - start, f"fault {type(error).__name__}: {str(error)[:80]}"
    return thread_time() - start, ""


def _answer(connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    gc.disable()  # it visits large values by turns
    while True:
        case = connection.recv()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        small, told = _seconds(case, SMALL)
        large, told_of_large = _seconds(case, LARGE)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        gc.collect()
        connection.send((small, large, told or told_of_large, grown >> 10))


class Child:
    """A process that computes, and is made again when it was ended."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._ours, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.get_context("fork").Process(target=_answer, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def asked(self, case: Case) -> dict[str, Any] | None:
        """What is wrong with it."""
        self._ours.send(case)
        try:
            if not self._ours.poll(PATIENCE):
                return self._ended("hangs")
            small, large, told, grown = self._ours.recv()
        except (EOFError, OSError):
            return self._ended("dies")
        figures = {"small": round(small, 4), "large": round(large, 4), "grown_mb": grown}
        if told:
            return {"wrong": told, **figures}
        if large > NOTABLE and large > STEEP * small:
            return {"wrong": "steep", **figures}
        return {"wrong": "large", **figures} if grown > 300 else None

    def _ended(self, wrong: str) -> dict[str, Any]:
        self.close()
        self._start()
        return {"wrong": wrong}

    def close(self) -> None:
        self._process.kill()
        self._process.join()


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("names", nargs="*")
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--random", type=int, default=60)
    given = asked.parse_args()
    child, counts = Child(), Counter[str]()
    for case in cases(given.names, random.Random(given.seed), given.random):
        counts["cases"] += 1
        found = child.asked(case)
        if found is not None:
            counts[found["wrong"].split()[0]] += 1
            print(json.dumps({**case._asdict(), **found}), flush=True)
    child.close()
    print(json.dumps(counts))
    return int(len(counts) > 1)


if __name__ == "__main__":
    sys.exit(main())
