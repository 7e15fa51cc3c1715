"""Presto's durations (``1.50m``) and data sizes (``10MB``), as airlift's ``io.airlift.units`` reads and writes them."""

from __future__ import annotations

import re

_DURATION_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE_BYTES = {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40, "PB": 1 << 50}
_QUANTITY = re.compile(r"\s*(\d{1,100}(?:\.\d{1,100})?)\s*([a-zA-Z]{1,2})\s*")
"""As far as a double reaches, whatever the unit."""


def parse_duration(text: str) -> float:
    """Seconds of ``text`` such as ``10s`` or ``1.5h``; raises ValueError."""
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in _DURATION_SECONDS:
        raise ValueError(f"duration is not a valid data duration string: {text}")
    return float(match[1]) * _DURATION_SECONDS[match[2]]


def format_duration(seconds: float) -> str:
    """``seconds`` in the largest unit in which it is at least one, with two decimals."""
    for unit in ("d", "h", "m", "s", "ms", "us"):
        if seconds >= _DURATION_SECONDS[unit]:
            return f"{seconds / _DURATION_SECONDS[unit]:.2f}{unit}"
    return f"{seconds * 1e9:.2f}ns"


def parse_data_size(text: str) -> int:
    """Bytes of ``text`` such as ``1MB``; raises ValueError."""
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in _SIZE_BYTES:
        raise ValueError(f"size is not a valid data size string: {text}")
    return int(float(match[1]) * _SIZE_BYTES[match[2]])


def format_data_size(size: int) -> str:
    """``size`` bytes in the largest unit in which it is at least one; whole numbers carry no decimals."""
    for unit in ("PB", "TB", "GB", "MB", "kB"):
        if size >= _SIZE_BYTES[unit]:
            return f"{size / _SIZE_BYTES[unit]:.2f}".removesuffix(".00") + unit
    return f"{size}B"
