"""Questions to an Open Policy Agent: one POST each, within a deadline. Whatever is no clear answer refuses."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping

import structlog

from shared.errors import ErrorCode, ProcessionError

_log = structlog.get_logger(__name__)
_MOST_BYTES = 64 << 20


class OpaClient:
    """Blocks. Proxies of the environment are not used."""

    def __init__(self, timeout: float, *, log_requests: bool = False, log_responses: bool = False) -> None:
        self._timeout, self._log_requests, self._log_responses = timeout, log_requests, log_responses
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects())

    def ask(self, uri: str, question: Mapping[str, object]) -> object:
        """``result`` of the answer; None where the policy gives none. Raises ProcessionError."""
        body = json.dumps({"input": question}).encode()
        if self._log_requests:
            _log.info("asking OPA", uri=uri, input=question)
        headers = {"Content-Type": "application/json; charset=utf-8", "Accept": "application/json"}
        request = urllib.request.Request(uri, body, headers)  # noqa: S310 - http or https, as the settings say
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                answer = json.loads(response.read(_MOST_BYTES))
        except urllib.error.HTTPError as error:
            missing = "OPA policy was not found" if error.code == 404 else f"OPA answered with status {error.code}"
            raise _failure(f"{missing}: {uri}") from error
        except (OSError, ValueError) as error:
            raise _failure(f"OPA cannot be asked: {uri}: {error}") from error
        if self._log_responses:
            _log.info("OPA answered", uri=uri, answer=answer)
        if not isinstance(answer, dict):
            raise _failure(f"OPA's answer is no object: {uri}")
        return answer.get("result")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_given: object, **_named: object) -> None:
        return None


def _failure(problem: str) -> ProcessionError:
    _log.error("an authorization could not be had", problem=problem)
    return ProcessionError(ErrorCode.PERMISSION_DENIED, "Access Denied: the authorization server cannot be asked")
