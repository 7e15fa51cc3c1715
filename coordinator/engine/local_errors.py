"""DuckDB's run-time errors as Presto's: the same code, name and text where Presto has them."""

from __future__ import annotations

import re
from collections.abc import Callable

from coordinator.vocabulary.nesting import too_deep
from shared.errors import ErrorCode, ProcessionError

_TYPES = {
    "INT8": "TINYINT", "INT16": "SMALLINT", "INT32": "INTEGER", "INT64": "BIGINT", "DOUBLE": "DOUBLE", "FLOAT": "REAL",
    "BOOL": "BOOLEAN",
}  # fmt: skip
_WORDS = {"addition": "+", "subtraction": "-", "multiplication": "*"}
_NO_MEMORY = re.compile(r"Out of Memory|MemoryError|std::bad_alloc|(?:m|re)alloc of size \d+ failed")
_TOO_DEEP = ("Max expression depth limit", "Maximum tree depth", "Recursion level in ArrowSchema")
"""More blocks within each other than its stack holds (hundreds of windows, or of INTERSECTs, all different), and more
types than Arrow takes."""
_Make = Callable[[re.Match[str]], tuple[ErrorCode, str]]


def _overflow(match: re.Match[str]) -> tuple[ErrorCode, str]:
    kind = _TYPES.get(match[2], match[2]).lower()
    return ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE, f"{kind} {match[1]} overflow: {match[3]}"


def _cast(match: re.Match[str]) -> tuple[ErrorCode, str]:
    return ErrorCode.INVALID_CAST_ARGUMENT, f"Cannot cast '{match[1]}' to {_TYPES.get(match[2], match[2])}"


def _range(match: re.Match[str]) -> tuple[ErrorCode, str]:
    kind = _TYPES.get(match[2], match[2]).lower()
    return ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE, f"Out of range for {kind}: {match[1]}"


def _decimal(match: re.Match[str]) -> tuple[ErrorCode, str]:
    kind = match[2].replace(",", ", ")
    return ErrorCode.INVALID_CAST_ARGUMENT, f"Cannot cast DECIMAL '{match[1]}' to {kind}"


_PATTERNS: tuple[tuple[str, _Make], ...] = (
    (r"Overflow in (\w+) of (\w+) \((.*?)\)!", _overflow),
    # Of decimals alone: sums of whole numbers are cast, and programs count the rest.
    (r"Overflow in HUGEINT addition\b", lambda _: (ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE, "Decimal overflow")),
    (r"Overflow in \w+ of DECIMAL\b", lambda _: (ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE, "Decimal overflow")),
    (r"Could not convert string '(.*?)' to (\w+)", _cast),
    (r"with value (\S+) can't be cast because the value is out of range for the destination type (\w+)", _range),
    (r"Casting value \"(.*?)\" to type (DECIMAL\(.*?\)) failed: value is out of range", _decimal),
    (r"Division by zero in expression", lambda _: (ErrorCode.DIVISION_BY_ZERO, "/ by zero")),
    (r"^Invalid Input Error: Division by zero$", lambda _: (ErrorCode.DIVISION_BY_ZERO, "Division by zero")),
    (r"No files found that match the pattern \"(.*?)\"",
     lambda m: (ErrorCode.ICEBERG_MISSING_DATA, f"File is missing from storage: {m[1]}")),
    (r"Invalid escape string",
     lambda _: (ErrorCode.INVALID_FUNCTION_ARGUMENT, "Escape string must be a single character")),
    (r"Scalar sub-query has returned multiple rows",
     lambda m: (ErrorCode.SUBQUERY_MULTIPLE_ROWS, m[0])),
    (r"Window frame offset value must not be negative or null", lambda m: (ErrorCode.GENERIC_USER_ERROR, m[0])),
    (r"(?:date|timestamp) field value out of range: \"(.*?)\"",
     lambda m: (ErrorCode.INVALID_CAST_ARGUMENT, f"Value cannot be cast to date: {m[1]}")),
    (r"invalid (?:date|timestamp) field format: \"(.*?)\"",
     lambda m: (ErrorCode.INVALID_CAST_ARGUMENT, f"Value cannot be cast to date: {m[1]}")),
    (r"(?s)Invalid Input Error: (.*)", lambda m: (ErrorCode.INVALID_FUNCTION_ARGUMENT, m[1])),
)  # fmt: skip


def presto_error(error: Exception) -> ProcessionError:
    """The user's error behind an exception of DuckDB or of its Arrow stream."""
    text = str(error)
    kernel = re.search(r"KernelError: ([A-Z_]+): (.*)", text, re.DOTALL)
    if kernel is not None and kernel[1] in ErrorCode.__members__:
        return ProcessionError(ErrorCode[kernel[1]], kernel[2].strip("\n"))
    if isinstance(error, MemoryError) or _NO_MEMORY.search(text):
        return ProcessionError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, "Query exceeded the local engine's memory limit")
    if "Python exception occurred" in text:
        return ProcessionError(ErrorCode.GENERIC_INTERNAL_ERROR, "The local engine failed in a function")
    if any(words in text for words in _TOO_DEEP):
        return too_deep()
    if "INTERRUPT" in text:
        return ProcessionError(ErrorCode.USER_CANCELED, "Query was canceled")
    first = text.split("\n\n")[0].strip()
    for pattern, make in _PATTERNS:
        match = re.search(pattern, first)
        if match is not None:
            code, message = make(match)
            return ProcessionError(code, message)
    if "Conversion Error" in first:
        return ProcessionError(ErrorCode.INVALID_CAST_ARGUMENT, first.partition(": ")[2] or first)
    if "Out of Range" in first:
        return ProcessionError(ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE, first.partition(": ")[2] or first)
    return ProcessionError(ErrorCode.GENERIC_INTERNAL_ERROR, f"The local engine failed: {first}")
