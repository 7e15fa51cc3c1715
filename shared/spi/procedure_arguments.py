"""The arguments of a procedure as one frozen record: each field is an argument, and its annotation declares it.

A record is a dataclass of keyword-only fields, ``name: Annotated[str | None, Declared("varchar", "What it means.")]``.
A field without a default is a required argument; one whose default is None may be NULL, all others never are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from typing import TypeVar, get_type_hints

from shared.spi.procedure import Argument, Arguments

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Declared:
    """What a declaration says of a field: Presto type text, its meaning, and ``Argument.choices``."""

    type: str
    doc: str
    choices: tuple[str, ...] = ()


def declared_arguments(record: type) -> tuple[Argument, ...]:
    """The arguments that a record declares, in the order of its fields; raises TypeError for a bare field."""
    hints = get_type_hints(record, include_extras=True)
    return tuple(_argument(field.name, hints[field.name], field.default) for field in fields(record))


def record_of(record: Callable[..., A], arguments: Arguments) -> A:
    """The bound arguments of a call as the record that declares them."""
    return record(**arguments)


def _argument(name: str, hint: object, default: object) -> Argument:
    said = next((m for m in getattr(hint, "__metadata__", ()) if isinstance(m, Declared)), None)
    if said is None:
        raise TypeError(f"{name} is not Annotated with Declared")
    required = default is MISSING
    return Argument(name, said.type, said.doc, required, None if required else default, said.choices)
