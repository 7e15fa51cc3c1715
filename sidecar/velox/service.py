"""What a converter process does with one request body: decode, convert, compile, render."""

from __future__ import annotations

import re

import msgspec

from shared.plan.expressions import Call, SqlFunctionHandle, Variable
from shared.plan.fragment import UNGROUPED_EXECUTION, SimplePlanFragment, encode_fragment
from shared.plan.nodes import (
    NODE_TYPES,
    Assignments,
    Partitioning,
    PartitioningHandle,
    PartitioningScheme,
    ProjectNode,
    ValuesNode,
)
from shared.protocol.sidecar import Failure, PlanConversionResponse
from sidecar.messages import Format, Options, PlanRequest, Reply
from sidecar.velox import compile_check, convert, culprit, render, runtime
from sidecar.velox.depth_limit import check_depth
from sidecar.velox.foreign_functions import without_foreign
from sidecar.velox.functions import velox_name
from sidecar.velox.pieces import pieces
from sidecar.velox.refusal import STD, RefusalError, user_error
from sidecar.velox.types import Json

_SINGLE = PartitioningHandle(connectorHandle={"@type": "$remote", "partitioning": "SINGLE", "function": "SINGLE"})
_DECODER = msgspec.json.Decoder(SimplePlanFragment)
_BAD_TAG = re.compile(r"^Invalid value '(?P<tag>[^']*)'")
_A = Variable(name="a", type="varchar")
_WARM_UP = encode_fragment(
    SimplePlanFragment(
        id="0",
        root=ProjectNode(
            id="1",
            source=ValuesNode(id="0", outputVariables=(_A,), rows=()),
            assignments=Assignments(
                assignments={
                    "n<bigint>": Call(
                        displayName="length",
                        functionHandle=SqlFunctionHandle(functionId="native.default.length;varchar", version="1"),
                        returnType="bigint",
                        arguments=(_A,),
                    )
                }
            ),
        ),
        variables=(),
        partitioning=_SINGLE,
        tableScanSchedulingOrder=(),
        partitioningScheme=PartitioningScheme(partitioning=Partitioning(handle=_SINGLE, arguments=()), outputLayout=()),
        stageExecutionDescriptor=UNGROUPED_EXECUTION,
        outputTableWriterFragment=False,
    )
)
_DEFAULTS = Options()
_ACCEPTED = msgspec.json.encode(PlanConversionResponse())


def answer(request: PlanRequest, options: Options = _DEFAULTS) -> Reply:
    """Never raises: whatever is wrong with the fragment becomes a failure."""
    try:
        return Reply(ok=True, body=_convert(request, options))
    except RefusalError as e:
        return refused(e.failure())
    except RecursionError:
        return refused(user_error("Plan fragment is nested too deeply").failure())
    except Exception as e:
        # A hole in our own checks: the client learns the kind of it, the message carries no trace.
        return refused(RefusalError(f"Conversion failed: {type(e).__name__}: {e}"[:500], kind=STD).failure())


def warm_up() -> None:
    """Converts, compiles and refuses once: the first of each costs tens of milliseconds."""
    answer(PlanRequest(body=_WARM_UP, format=Format.TEXT, compile_check=True))
    answer(PlanRequest(body=_WARM_UP.replace(b"varchar", b"bigint"), format=Format.TEXT, compile_check=True))


def refused(failure: Failure) -> Reply:
    """A refusal's answer."""
    return Reply(ok=False, body=msgspec.json.encode(PlanConversionResponse(failures=(failure,))))


def _convert(request: PlanRequest, options: Options) -> bytes:
    fragment = decode(request.body)
    check_depth(fragment, request.body, options.max_depth)
    converted = convert.convert(fragment, resolve=request.compile_check)
    plan = converted.root.node
    columns = {relation.node["id"]: dict(relation.columns) for relation in converted.relations.values()}
    parsed: list[tuple[Json, object]] = [(piece, runtime.to_plan(piece)) for piece in pieces(plan, columns)]
    if request.compile_check:
        foreign = frozenset(velox_name(name) for name in options.worker_functions)
        _compile([without_foreign(piece, foreign) for piece, _ in parsed], request.body)
    match request.format:
        case Format.NONE:
            return _ACCEPTED
        case Format.TEXT:
            return render.text(parsed, converted.values).encode()
        case Format.JSON:
            return render.json(parsed)
        case Format.GRAPHVIZ:
            return render.graphviz(parsed, converted.values, f"fragment {fragment.id}").encode()


def _compile(found: list[Json], body: bytes) -> None:
    """Velox names the function that it refuses, the fragment knows where in the statement its call stands."""
    try:
        for piece in found:
            compile_check.compile_check(piece)
    except RefusalError as e:
        if name := culprit.function_of(e.message):
            e.locate(*culprit.call_of(name, body))
        raise


def decode(body: bytes) -> SimplePlanFragment:
    """Raises RefusalError for what is no fragment; an unknown node is named as Presto C++ names it."""
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as e:
        raise RefusalError(f"Plan fragment is not JSON: {e}", kind=STD) from e


def _decode(body: bytes) -> SimplePlanFragment:
    try:
        return _DECODER.decode(body)
    except msgspec.ValidationError as e:
        # Behind the place that is wrong there may be what is no JSON.
        tag = _BAD_TAG.match(str(e))
        if tag and (unknown := _unknown_node(body)):
            raise convert.unknown_node(unknown) from e
        raise RefusalError(f"Malformed plan fragment: {e}", kind=STD) from e


def _unknown_node(body: bytes) -> str | None:
    """The first ``@type`` in the tree of plan nodes that is none of Presto's."""
    plan = msgspec.json.decode(body)
    pending = [plan.get("root")] if isinstance(plan, dict) else []
    while pending:
        node = pending.pop()
        if not isinstance(node, dict):
            continue
        tag = node.get("@type")
        if isinstance(tag, str) and tag not in NODE_TYPES:
            return tag
        for key in ("source", "left", "right", "filteringSource", "probeSource", "indexSource"):
            pending.append(node.get(key))
        if isinstance(node.get("sources"), list):
            pending.extend(node["sources"])
    return None
