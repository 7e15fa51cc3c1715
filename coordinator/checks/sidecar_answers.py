"""What the sidecar's answers mean, without the HTTP by which they come: planner processes know the one alone."""

from __future__ import annotations

from dataclasses import dataclass

from shared.errors import ErrorCode, ErrorLocation, ProcessionError, WireErrorCode
from shared.protocol.sidecar import Failure, decode_response


class SidecarUnavailableError(ProcessionError):
    """No verdict could be had: nobody answered, or the answer came from something that is broken."""


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    content_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What the sidecar said: ``failure`` is None for an accepted fragment."""

    body: bytes
    content_type: str
    failure: Failure | None = None


def read(response: Response) -> Answer:
    """The verdict in a response. Status decides, as in Presto: a 2xx is an acceptance whatever its body says.

    Raises SidecarUnavailableError for what is no verdict: no failure in it, or a server error.
    """
    if 200 <= response.status < 300:
        return Answer(response.body, response.content_type)
    if response.status == 401:
        raise SidecarUnavailableError(
            ErrorCode.NATIVEPLANCHECKER_CONNECTION_ERROR,
            "Error from native plan checker: it does not take our internal-communication.shared-secret",
        )
    try:
        failures = decode_response(response.body).failures
    except ValueError as error:
        raise SidecarUnavailableError(
            ErrorCode.GENERIC_INTERNAL_ERROR,
            f"Invalid JSON bytes for PlanConversionResponse from native plan checker with code: {response.status}",
        ) from error
    if not failures:
        raise SidecarUnavailableError(
            ErrorCode.NATIVEPLANCHECKER_UNKNOWN_CONVERSION_FAILURE,
            f"Error response without failure from native plan checker with code: {response.status}",
        )
    if response.status >= 500:
        refusal = refusal_error(failures[0])
        raise SidecarUnavailableError(refusal.code, refusal.message)
    return Answer(response.body, response.content_type, failures[0])


def refusal_error(failure: Failure, location: ErrorLocation | None = None) -> ProcessionError:
    """A failure in Presto's words: its own error code, and GENERIC_INTERNAL_ERROR when it has none."""
    message = "Internal error" if failure.message is None else failure.message
    return ProcessionError(_code(failure), f"Error from native plan checker: {message}", location=location)


def _code(failure: Failure) -> ErrorCode | WireErrorCode:
    sent = failure.errorCode
    if sent is None:
        return ErrorCode.GENERIC_INTERNAL_ERROR
    known = ErrorCode.__members__.get(sent.name)
    if known is not None and known.code == sent.code:
        return known
    return WireErrorCode(sent.name, sent.code, sent.type, sent.retriable)
