"""The one door to pyvelox: boot, plans from JSON, errors.

The wheel's import forgets five registrations; the library exports them, so ctypes calls them. A missing symbol
(another build) is skipped: plans that need it are then refused by Velox itself.
"""

from __future__ import annotations

import ctypes
import importlib.util
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from pyvelox import legacy
from pyvelox.plan_builder import PlanBuilder, deserialize_plan
from pyvelox.runner import LocalRunner, register_hive

from shared.errors import ErrorCode
from sidecar.velox.refusal import RUNTIME, STD, USER, RefusalError
from sidecar.velox.types import Json

_NAMESPACE = "_ZN8facebook5velox"
_REGISTRATIONS = (
    "4exec30registerPartitionFunctionSerDeEv",
    "9connector4hive34registerHivePartitionFunctionSerDeEv",
    "9connector4hive27HiveInsertFileNameGenerator13registerSerDeEv",
    "20registerGeometryTypeEv",
)
_WINDOWS = "6window9prestosql26registerAllWindowFunctionsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
_FIELDS = ("Exception", "Error Code", "Reason", "Expression", "Error Source", "Retriable", "Function", "Context")
_MAX_REASON = 600
_TRACES = ("velox_exception_user_stacktrace_enabled", "velox_exception_system_stacktrace_enabled")


class _StdString(ctypes.Structure):
    """libstdc++'s std::string of fewer than 16 bytes."""

    _fields_ = (("pointer", ctypes.c_void_p), ("size", ctypes.c_size_t), ("inline", ctypes.c_char * 16))


def boot() -> None:
    """Registers what plans need, and switches stack traces off (an error costs 0.2 ms without, 80 ms with)."""
    register_hive("hive")
    spec = importlib.util.find_spec("pyvelox")
    assert spec is not None and spec.origin is not None
    library = ctypes.CDLL(str(Path(spec.origin).parent / "libvelox.so"))
    for flag in _TRACES:
        name = f"FLAGS_{flag}"
        with suppress(ValueError):
            ctypes.c_bool.in_dll(library, f"_ZN3fLB{len(name)}{name}E").value = False
    for symbol in _REGISTRATIONS:
        with suppress(AttributeError):
            function = getattr(library, _NAMESPACE + symbol)
            function.restype, function.argtypes = None, []
            function()
    with suppress(AttributeError):
        windows = getattr(library, _NAMESPACE + _WINDOWS)
        windows.restype, windows.argtypes = None, [ctypes.c_void_p]
        prefix = _StdString()
        prefix.pointer = ctypes.addressof(prefix) + _StdString.inline.offset
        windows(ctypes.addressof(prefix))


def to_plan(plan: Json) -> object:
    """Velox's own plan node of a JSON plan; raises RefusalError with Velox's reason."""
    try:
        return deserialize_plan(msgspec.json.encode(plan).decode())
    except Exception as e:
        raise refusal(e) from e


def to_text(plan: Any) -> str:
    """Velox's detailed, recursive text."""
    try:
        return str(plan.to_string())
    except Exception as e:
        raise refusal(e) from e


def to_json(plan: Any) -> str | None:
    """Velox's own JSON, or None for the few plans that it cannot write (NaN constants)."""
    try:
        return str(plan.serialize())
    except Exception:
        return None


def compile_plan(plan: Json) -> None:
    """Runs a plan whose leaves are empty: Velox resolves every function, type, lambda and window on the way."""
    try:
        wrapped = (
            PlanBuilder().sorted_merge(["ok"], [deserialize_plan(msgspec.json.encode(plan).decode())]).get_plan_node()
        )
        for _ in LocalRunner(wrapped).execute():
            pass
    except StopIteration:
        return
    except Exception as e:
        raise refusal(e) from e


def run_plan(plan: Json) -> list[Any]:
    """The vectors that a plan with one column named ``ok`` gives."""
    try:
        wrapped = (
            PlanBuilder().sorted_merge(["ok"], [deserialize_plan(msgspec.json.encode(plan).decode())]).get_plan_node()
        )
        return list(LocalRunner(wrapped).execute())
    except Exception as e:
        raise refusal(e) from e


def signatures() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Scalar and aggregate signatures by function name, as Velox writes them."""
    scalar = {name: [str(s) for s in found] for name, found in legacy.get_function_signatures().items()}
    aggregate = {name: [str(s) for s in found] for name, found in legacy.get_aggregate_function_signatures().items()}
    return scalar, aggregate


def refusal(error: Exception) -> RefusalError:
    """A pyvelox exception as Presto C++ reports it: ``<failing expression> <reason>``, no trace."""
    parts: dict[str, str] = {}
    lines = str(error).splitlines()
    current = ""
    for line in lines:
        key, separator, value = line.partition(": ")
        if separator and key in _FIELDS:
            current = key
            parts.setdefault(key, value)
        elif current == "Reason" and len(parts["Reason"]) < _MAX_REASON:
            parts["Reason"] += " " + line.strip()
    kind = parts.get("Exception")
    if kind not in (USER, RUNTIME):
        text = lines[0] if lines else type(error).__name__
        return RefusalError(text[:2000], kind=STD)
    message = " ".join(p for p in (parts.get("Expression"), parts.get("Reason")) if p) or "Velox gave no reason"
    if kind == RUNTIME:
        return RefusalError(message)
    unsupported = parts.get("Error Code") == "UNSUPPORTED"
    code = ErrorCode.NOT_SUPPORTED if unsupported else ErrorCode.GENERIC_USER_ERROR
    return RefusalError(message, kind=USER, code=code)
