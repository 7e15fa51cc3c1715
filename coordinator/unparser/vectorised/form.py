"""An expression in the SQL of the embedded engine, and for which rows that is Presto's answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from coordinator.expressions.builders import typed, value_of
from shared.plan.expressions import Call, Constant
from shared.plan.types import Type

INTEGERS = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64}
FLOATS = ("double", "real")


def wall_of_utc(instant: str) -> str:
    """What the clocks in UTC show: by the number, as the engine looks every zone up in a calendar."""
    return f"make_timestamp(epoch_us({instant}))"


def instant_of_utc(wall: str) -> str:
    """The instant at which the clocks in UTC show this."""
    return f"make_timestamptz(epoch_us({wall}))"


@dataclass(frozen=True, slots=True)
class Form:
    """``value`` is Presto's where each of ``plain`` is true; the other rows are left to the program.

    It is NULL where one of ``reads`` is, the arguments below all calls within each other, and it never fails. All are
    text: arguments stand in them more than once.
    """

    value: str
    plain: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """A call, and its arguments as SQL."""

    node: Call
    arguments: Sequence[str]

    @property
    def kinds(self) -> list[Type]:
        """Types of the arguments."""
        return [typed(a) for a in self.node.arguments]

    @property
    def bases(self) -> list[str]:
        """Their names."""
        return [k.base for k in self.kinds]

    @property
    def result(self) -> Type:
        """The call's type."""
        return typed(self.node)

    def constant(self, position: int) -> Any:
        """The value of an argument that is a literal; None for others and for NULL."""
        node = self.node.arguments[position]
        return value_of(node) if isinstance(node, Constant) else None


Rule = Callable[[Asked], Form | None]
"""None where the call has no such form."""


def quoted(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def double(text: str) -> str:
    """A number as a double of SQL."""
    return f"CAST('{text}' AS DOUBLE)"


def known(asked: Asked, position: int, test: Callable[[Any], bool], condition: str) -> tuple[str, ...] | None:
    """What ``test`` says of a literal at once, and ``condition`` of each row otherwise; None where it says no."""
    if not isinstance(asked.node.arguments[position], Constant):
        return (condition,)
    value = asked.constant(position)
    return () if value is not None and test(value) else None
