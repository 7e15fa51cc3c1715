"""The sidecar's HTTP: one endpoint that converts, a few that describe. It does no work of its own."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec
from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from shared.errors import ErrorCode
from shared.protocol.sidecar import (
    EXPRESSIONS_PATH,
    FUNCTIONS_PATH,
    INFO_PATH,
    JSON,
    PLAN_PATH,
    SESSION_PROPERTIES_PATH,
    STATE_PATH,
    STATUS_PATH,
    Failure,
    FailureErrorCode,
    PlanConversionResponse,
)
from sidecar.accept import OFFERED, choose
from sidecar.internal_guard import InternalGuard
from sidecar.messages import ExpressionsRequest, FunctionsRequest, Options, PlanRequest, Reply
from sidecar.node import NodeState, info, load, status
from sidecar.pool import CrashedError, DeadlineError, Pool, PoolError
from sidecar.session_properties import session_properties
from sidecar.settings import SidecarSettings

_CHARSET = "; charset=utf-8"
_STD = "std::exception"
_LEVELS = ("SERIALIZABLE", "OPTIMIZED", "EVALUATED")


@dataclass(slots=True)
class _Service:
    """What the routes share."""

    settings: SidecarSettings
    pool: Pool
    node: NodeState
    functions: bytes | None = None


def create_app(settings: SidecarSettings) -> FastAPI:
    """The service; its pool of converter processes lives with the app's lifespan, as ``app.state.pool``."""
    options = Options(settings.max_depth, settings.worker_functions, settings.char_n_to_varchar_implicit_cast)
    pool = Pool(
        settings.workers,
        deadline_seconds=settings.deadline_seconds,
        max_waiting=settings.max_waiting,
        options=options,
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        pool.start()
        try:
            yield
        finally:
            await pool.stop()

    app = FastAPI(title="Procession sidecar", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.pool = pool
    app.state.service = _Service(settings, pool, NodeState(settings, time.monotonic()))
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected)
    if settings.shared_secret is not None:
        app.add_middleware(InternalGuard, secret=settings.shared_secret, refusal=_stranger())
    for path, methods, route in _ROUTES:
        app.add_api_route(path, route, methods=list(methods))
    return app


def _service(request: Request) -> _Service:
    service: _Service = request.app.state.service
    return service


async def _plan(request: Request) -> Response:
    service = _service(request)
    settings = service.settings
    if not _is_json(request.headers.get("content-type")):
        return _not_json()
    chosen = choose(request.headers.get("accept"))
    if chosen is None:
        offered = ", ".join(media for media, _ in OFFERED)
        return failure_response(406, ErrorCode.NOT_SUPPORTED, f"Acceptable forms of a plan are: {offered}")
    media, plan_format = chosen
    body = await _body(request, settings.max_body_bytes)
    if body is None:
        return _too_large(settings)
    check = _flag(request.query_params.get("compileCheck"), settings.compile_check)
    reply = await _ask(service, PlanRequest(body=body, format=plan_format, compile_check=check))
    if isinstance(reply, Response):
        return reply
    if not reply.ok:
        return Response(reply.body, settings.refusal_status, media_type=JSON)
    content_type = media if media == JSON else media + _CHARSET
    return Response(reply.body, 200, headers={"content-type": content_type, "vary": "Accept"})


async def _expressions(request: Request) -> Response:
    service = _service(request)
    if not _is_json(request.headers.get("content-type")):
        return _not_json()
    level = request.headers.get("x-presto-expression-optimizer-level", "OPTIMIZED").upper()
    if level not in _LEVELS:
        message = f"Optimizer level {level} is none of {', '.join(_LEVELS)}"
        return failure_response(400, ErrorCode.INVALID_ARGUMENTS, message)
    body = await _body(request, service.settings.max_body_bytes)
    if body is None:
        return _too_large(service.settings)
    reply = await _ask(service, ExpressionsRequest(body=body, strict=level == "EVALUATED"))
    if isinstance(reply, Response):
        return reply
    return Response(reply.body, 200 if reply.ok else 400, media_type=JSON)


async def _functions(request: Request) -> Response:
    # The registry never changes in a process's life.
    service = _service(request)
    catalog = request.path_params.get("catalog")
    if catalog is not None and catalog not in service.settings.function_catalogs:
        return Response(b"{}", media_type=JSON)
    if service.functions is None:
        reply = await _ask(service, FunctionsRequest())
        if isinstance(reply, Response):
            return reply
        service.functions = reply.body
    return Response(service.functions, media_type=JSON)


async def _info(request: Request) -> Response:
    service = _service(request)
    return _json(info(service.node, starting=not service.pool.ready))


async def _state(request: Request) -> Response:
    return _json(_service(request).node.state)


async def _put_state(request: Request) -> Response:
    body = await _body(request, 64)
    if body is None or body.strip().strip(b'"') != b"SHUTTING_DOWN":
        return failure_response(400, ErrorCode.INVALID_ARGUMENTS, "The only state to ask for is SHUTTING_DOWN")
    node = _service(request).node
    node.state = "SHUTTING_DOWN"
    return _json(node.state)


async def _stats(request: Request) -> Response:
    return _json(load(_service(request).node))


async def _status(request: Request) -> Response:
    return _json(status(_service(request).node))


async def _session_properties(request: Request) -> Response:
    return _json(session_properties(compile_check=_service(request).settings.compile_check))


_ROUTES: tuple[tuple[str, tuple[str, ...], Callable[[Request], Awaitable[Response]]], ...] = (
    (PLAN_PATH, ("POST",), _plan),
    (EXPRESSIONS_PATH, ("POST",), _expressions),
    (FUNCTIONS_PATH, ("GET",), _functions),
    (FUNCTIONS_PATH + "/{catalog}", ("GET",), _functions),
    (INFO_PATH, ("GET", "HEAD"), _info),
    (STATE_PATH, ("GET", "HEAD"), _state),
    (STATE_PATH, ("PUT",), _put_state),
    (INFO_PATH + "/stats", ("GET",), _stats),
    (STATUS_PATH, ("GET", "HEAD"), _status),
    (SESSION_PROPERTIES_PATH, ("GET",), _session_properties),
)


async def _ask(service: _Service, request: PlanRequest | ExpressionsRequest | FunctionsRequest) -> Reply | Response:
    refusal = service.settings.refusal_status
    try:
        return await service.pool.ask(request)
    except CrashedError as e:
        return failure_response(refusal, ErrorCode.GENERIC_INTERNAL_ERROR, str(e))
    except DeadlineError as e:
        return failure_response(refusal, ErrorCode.EXCEEDED_TIME_LIMIT, str(e))
    except PoolError as e:
        response = failure_response(503, ErrorCode.GENERIC_INSUFFICIENT_RESOURCES, str(e))
        response.headers["retry-after"] = "1"
        return response


def _not_json() -> Response:
    return failure_response(415, ErrorCode.NOT_SUPPORTED, "Content-Type must be application/json")


def failure_response(http_status: int, code: ErrorCode, message: str) -> Response:
    """An error with the failures body that a Presto coordinator can read."""
    wire = FailureErrorCode(code=code.code, name=code.name, type=code.type, retriable=code.retriable)
    failures = PlanConversionResponse(failures=(Failure(type=_STD, message=message, errorCode=wire),))
    return Response(msgspec.json.encode(failures), http_status, media_type=JSON)


async def _http_error(_: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    response = failure_response(error.status_code, ErrorCode.GENERIC_USER_ERROR, str(error.detail))
    response.headers.update(error.headers or {})
    return response


async def _unexpected(_: Request, error: Exception) -> Response:
    return failure_response(500, ErrorCode.GENERIC_INTERNAL_ERROR, f"Internal error: {type(error).__name__}")


def _stranger() -> Response:
    return failure_response(401, ErrorCode.PERMISSION_DENIED, "Access Denied: Invalid internal authentication")


def _too_large(settings: SidecarSettings) -> Response:
    limit = settings.max_body_bytes
    return failure_response(413, ErrorCode.QUERY_TEXT_TOO_LARGE, f"Plan fragment is larger than {limit} bytes")


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type=JSON)


def _flag(value: str | None, default: bool) -> bool:
    return default if value is None else value.lower() not in ("false", "0", "no")


def _is_json(content_type: str | None) -> bool:
    """A missing type counts as JSON; parameters and any case are fine."""
    if content_type is None:
        return True
    media = content_type.partition(";")[0].strip().lower()
    return media == JSON or (media.startswith("application/") and media.endswith("+json"))


async def _body(request: Request, limit: int) -> bytes | None:
    """The body, or None as soon as it is known to be longer than ``limit``."""
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > limit:
        return None
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            return None
    return bytes(body)
