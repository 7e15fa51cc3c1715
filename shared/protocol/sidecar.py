"""The sidecar's HTTP wire: paths, media types and the failure answer of ``POST /v1/velox/plan``.

Source: presto_cpp ``PlanConversionResponse`` as a Presto 0.296 coordinator reads it: ``type``,
``suppressed`` and ``stack`` must be there; unknown fields are ignored, so ours may stay.
"""

from __future__ import annotations

import msgspec

PLAN_PATH = "/v1/velox/plan"
EXPRESSIONS_PATH = "/v1/expressions"
FUNCTIONS_PATH = "/v1/functions"
SESSION_PROPERTIES_PATH = "/v1/properties/session"
INFO_PATH = "/v1/info"
STATE_PATH = "/v1/info/state"
STATUS_PATH = "/v1/status"

TEXT = "text/plain"
JSON = "application/json"
GRAPHVIZ = "text/vnd.graphviz"
GRAPHVIZ_ALIAS = "application/graphviz"


class FailureErrorCode(msgspec.Struct, frozen=True, kw_only=True):
    """Presto's error code as failures carry it."""

    code: int
    name: str
    type: str
    retriable: bool = False
    catchableByTry: bool = False


class FailureLocation(msgspec.Struct, frozen=True, kw_only=True):
    """Where in the statement the refused node or expression comes from, counted from 1."""

    lineNumber: int
    columnNumber: int


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a fragment was refused; ``type`` is VeloxUserError, VeloxRuntimeError or std::exception."""

    type: str
    message: str | None = None
    suppressed: tuple[Failure, ...] = ()
    stack: tuple[str, ...] = ()
    errorCode: FailureErrorCode | None = None
    errorLocation: FailureLocation | msgspec.UnsetType = msgspec.UNSET
    planNodeId: str | msgspec.UnsetType = msgspec.UNSET


class PlanConversionResponse(msgspec.Struct, frozen=True, kw_only=True):
    """Body of every answer but a converted plan; an accepted fragment has no failures."""

    failures: tuple[Failure, ...] = ()


def decode_response(body: bytes) -> PlanConversionResponse:
    """Raises msgspec.DecodeError for a body that is not a failure answer."""
    return msgspec.json.decode(body, type=PlanConversionResponse)
