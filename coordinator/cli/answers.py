"""Pages of the statement protocol as a client reads them."""

from __future__ import annotations

import msgspec

from shared.protocol.statement import Location, Stats, WireWarning


class Signature(msgspec.Struct, frozen=True):
    """``typeSignature`` of a column, down to its parts."""

    rawType: str
    arguments: tuple[Argument, ...] = ()
    typeArguments: tuple[Signature, ...] = ()

    def parts(self) -> list[tuple[str | None, Signature]]:
        """The types that it is made of, with the names of a row's fields.

        Presto sends the types in ``typeArguments`` too, and as a text in those of a row; Trino does not.
        """
        found = [argument.named() for argument in self.arguments if "TYPE" in argument.kind]
        if len(self.typeArguments) == len(found):
            return [(name, part) for (name, _), part in zip(found, self.typeArguments, strict=True)]
        return found


class FieldName(msgspec.Struct, frozen=True):
    name: str


class NamedSignature(msgspec.Struct, frozen=True):
    """A field of a row; ``fieldName`` is absent for one without a name."""

    typeSignature: Signature | str
    fieldName: FieldName | None = None


class Argument(msgspec.Struct, frozen=True):
    """``value`` is a type, a named type, or a number such as the length of a varchar."""

    kind: str
    value: msgspec.Raw = msgspec.Raw(b"null")

    def named(self) -> tuple[str | None, Signature]:
        """The type with the name of its field, where it has one."""
        if not self.kind.startswith("NAMED"):
            return None, msgspec.json.decode(self.value, type=Signature)
        field = msgspec.json.decode(self.value, type=NamedSignature)
        type_ = field.typeSignature
        signature = type_ if isinstance(type_, Signature) else Signature(type_)
        return (field.fieldName.name if field.fieldName else None), signature


class Column(msgspec.Struct, frozen=True):
    name: str
    type: str = "unknown"
    typeSignature: Signature = Signature("unknown")


class Error(msgspec.Struct, frozen=True):
    message: str
    errorName: str = ""
    errorLocation: Location | None = None


class Answer(msgspec.Struct, frozen=True):
    """One page as it comes; unknown members are left out."""

    id: str
    stats: Stats
    infoUri: str = ""
    nextUri: str | None = None
    partialCancelUri: str | None = None
    columns: tuple[Column, ...] = ()
    data: tuple[tuple[object, ...], ...] = ()
    error: Error | None = None
    warnings: tuple[WireWarning, ...] = ()
    updateType: str | None = None
    updateCount: int | None = None


DECODER = msgspec.json.Decoder(Answer)
