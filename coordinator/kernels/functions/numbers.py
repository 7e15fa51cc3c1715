"""Numeric types, and how Java prints and reads floating-point numbers."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal

import numpy as np

_DECIMAL = re.compile(r"[+-]?(NaN|Infinity|([0-9]++(\.[0-9]*+)?|\.[0-9]++)([eE][+-]?[0-9]++)?[fFdD]?)")
_HEX = re.compile(r"[+-]?0[xX]([0-9a-fA-F]++(\.[0-9a-fA-F]*+)?|\.[0-9a-fA-F]++)[pP][+-]?[0-9]++[fFdD]?")
NUMBERS = ("tinyint", "smallint", "integer", "bigint", "real", "double", "decimal")
BLANKS = "".join(map(chr, range(33)))
"""What Java's ``trim`` takes away."""


def _shown(value: float, digits: str) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1.0, value) < 0 else "0.0"
    exact = Decimal(digits).normalize()
    if 1e-3 <= abs(value) < 1e7:
        text = f"{exact:f}"
        return text if "." in text else text + ".0"
    mantissa = f"{exact.scaleb(-exact.adjusted()):f}"
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{exact.adjusted()}"


def java_double(value: float) -> str:
    """``Double.toString``: ``1.0E10``, ``0.1``, ``NaN``."""
    return _shown(value, repr(float(value)))


def java_float(value: float) -> str:
    """``Float.toString``."""
    return _shown(value, str(np.float32(value)))


def parse_double(text: str) -> float:
    """``Double.parseDouble``; raises ValueError."""
    trimmed = text.strip(BLANKS)
    if _DECIMAL.fullmatch(trimmed):
        return float(trimmed if trimmed.endswith(("NaN", "Infinity")) else trimmed.rstrip("fFdD"))
    if _HEX.fullmatch(trimmed):
        try:
            return float.fromhex(trimmed.rstrip("fFdD"))
        except OverflowError:
            return float("-inf" if trimmed.startswith("-") else "inf")
    raise ValueError(text)


def single(value: float) -> float:
    """Rounded to the four bytes of a real."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
