"""Presto's types. Executors find the text of ``shared/plan/types.py`` in the place of this file."""

from __future__ import annotations

from shared.plan.types import Field, Type, parse_type

__all__ = ["Field", "Type", "parse_type"]
