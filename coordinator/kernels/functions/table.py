"""How a function is declared: its Python, and what it wants to see."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from typing import Any, NamedTuple

from ..types import Type


class Function(NamedTuple):
    """``nulls``: called for NULL arguments too. ``typed``: the first argument is ``Signature``."""

    call: Callable[..., Any]
    nulls: bool = False
    typed: bool = False


class Signature(NamedTuple):
    """The types of one call; ``zone`` is the session's."""

    arguments: tuple[Type, ...]
    result: Type
    zone: tzinfo


Table = dict[str, Function]


def plain(**functions: Callable[..., object]) -> Table:
    """NULL as soon as one argument is."""
    return {name: Function(call) for name, call in functions.items()}


def nullable(**functions: Callable[..., object]) -> Table:
    """Called for NULL arguments."""
    return {name: Function(call, nulls=True) for name, call in functions.items()}


def typed(**functions: Callable[..., object]) -> Table:
    """Told the types of the call, NULL as soon as one argument is."""
    return {name: Function(call, typed=True) for name, call in functions.items()}
