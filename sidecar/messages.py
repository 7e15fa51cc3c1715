"""What the service and its converter processes say to each other: msgpack in length-prefixed frames."""

from __future__ import annotations

import struct
from enum import Enum

import msgspec

LENGTH = struct.Struct("<I")


class Format(Enum):
    """The form of a converted plan that a request asks for; NONE: only whether it converts."""

    NONE = "none"
    TEXT = "text"
    JSON = "json"
    GRAPHVIZ = "graphviz"


class Options(msgspec.Struct, frozen=True):
    """What holds for every fragment. ``worker_functions``: Presto's names of what workers have beyond this Velox."""

    max_depth: int = 500
    worker_functions: tuple[str, ...] = ()
    char_as_varchar: bool = False


class PlanRequest(msgspec.Struct, frozen=True, tag="plan", array_like=True):
    """One fragment to convert."""

    body: bytes
    format: Format
    compile_check: bool


class ExpressionsRequest(msgspec.Struct, frozen=True, tag="expressions", array_like=True):
    """Expressions to fold; ``strict`` makes a failing evaluation a failure."""

    body: bytes
    strict: bool


class FunctionsRequest(msgspec.Struct, frozen=True, tag="functions", array_like=True):
    """The function registry."""


class CrashRequest(msgspec.Struct, frozen=True, tag="crash", array_like=True):
    """Ends the process at once, or never answers: how tests see a native crash or a hang."""

    hang: bool = False


Request = PlanRequest | ExpressionsRequest | FunctionsRequest | CrashRequest


class Reply(msgspec.Struct, frozen=True, array_like=True):
    """``ok`` tells an answer from a refusal; ``body`` is what the client gets."""

    ok: bool
    body: bytes
