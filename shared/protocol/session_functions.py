"""Temporary functions in headers: the JSON of an id and of the function, as Presto writes and reads them.

Source: Presto's ``SqlFunctionId``, ``SqlInvokedFunction``, ``Signature`` and ``RoutineCharacteristics``.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from shared.spi.session_function import NAMESPACE, FunctionParameter, SessionFunction

_MOST_PARAMETERS = 100


class Parameter(msgspec.Struct, frozen=True):
    name: str
    type: str


class Characteristics(msgspec.Struct, frozen=True, kw_only=True):
    """``routineCharacteristics``."""

    language: str = "SQL"
    determinism: Literal["DETERMINISTIC", "NOT_DETERMINISTIC"] = "NOT_DETERMINISTIC"
    nullCallClause: Literal["RETURNS_NULL_ON_NULL_INPUT", "CALLED_ON_NULL_INPUT"] = "CALLED_ON_NULL_INPUT"


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kind: Literal["SCALAR"] = "SCALAR"
    typeVariableConstraints: tuple[()] = ()
    longVariableConstraints: tuple[()] = ()
    returnType: str
    argumentTypes: tuple[str, ...]
    variableArity: Literal[False] = False


class InvokedFunction(msgspec.Struct, frozen=True, kw_only=True):
    """Presto's SqlInvokedFunction."""

    parameters: tuple[Parameter, ...]
    description: str = ""
    routineCharacteristics: Characteristics
    body: str
    signature: Signature
    functionId: str


_DECODER = msgspec.json.Decoder(InvokedFunction)


def encode_id(function_id: str) -> str:
    """The JSON of a function's id."""
    return msgspec.json.encode(function_id).decode()


def encode_function(function: SessionFunction) -> str:
    """The JSON of a function."""
    made = InvokedFunction(
        parameters=tuple(Parameter(each.name, each.type) for each in function.parameters),
        description=function.comment,
        routineCharacteristics=Characteristics(
            determinism="DETERMINISTIC" if function.deterministic else "NOT_DETERMINISTIC",
            nullCallClause="RETURNS_NULL_ON_NULL_INPUT" if function.null_on_null else "CALLED_ON_NULL_INPUT",
        ),
        body=function.body,
        signature=Signature(
            name=NAMESPACE + function.name,
            returnType=function.result,
            argumentTypes=tuple(each.type for each in function.parameters),
        ),
        functionId=function.id,
    )
    return msgspec.json.encode(made).decode()


def decode_function(function_id: str, text: str) -> SessionFunction:
    """The function of a pair of a header; raises ValueError for what is no temporary SQL function of that id."""
    found = _DECODER.decode(text)
    characteristics = found.routineCharacteristics
    name = found.signature.name.removeprefix(NAMESPACE)
    if name == found.signature.name or not name:
        raise ValueError(f"not a temporary function: {found.signature.name}")
    if characteristics.language.upper() != "SQL":
        raise ValueError(f"language {characteristics.language}")
    function = SessionFunction(
        name=name,
        parameters=tuple(FunctionParameter(each.name.lower(), each.type) for each in found.parameters),
        result=found.signature.returnType,
        body=found.body,
        comment=found.description,
        deterministic=characteristics.determinism == "DETERMINISTIC",
        null_on_null=characteristics.nullCallClause == "RETURNS_NULL_ON_NULL_INPUT",
    )
    given = (function_id, found.functionId, encode_id(function.id))
    if given[0] != given[2] or given[1] != function.id:
        raise ValueError(f"the id of {name} is not that of its parameters")
    names = [each.name for each in function.parameters]
    if len(set(names)) < len(names) or len(names) > _MOST_PARAMETERS:
        raise ValueError(f"parameters of {name}")
    return function
