"""PyIceberg's client of a REST catalog, with what it lacks.

Lent keys are renewed, a table that did not change costs one 304, the token of a table goes with its own requests
alone, and the outcomes of commits are told apart.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

from pyiceberg.catalog.rest import (
    Capability,
    Endpoints,
    LoadCredentialsResponse,
    RegisterTableRequest,
    RestCatalog,
    TableResponse,
)
from pyiceberg.catalog.rest.auth import AuthManager, AuthManagerAdapter, NoopAuthManager
from pyiceberg.catalog.rest.response import _handle_non_200_response
from pyiceberg.exceptions import NoSuchTableError, RESTError, TableAlreadyExistsError
from pyiceberg.io import FileIO
from pyiceberg.table import CommitTableRequest, CommitTableResponse, StagedTable, Table, TableIdentifier
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from requests import HTTPError, PreparedRequest, Request, Response, Session
from requests.auth import AuthBase

from coordinator.connectors.iceberg.opaque_types import parse, parse_schema
from coordinator.connectors.iceberg.rest.commits import check_kept, committed
from coordinator.connectors.iceberg.rest.deadlines import with_deadlines
from coordinator.connectors.iceberg.rest.plan_messages import ScanTasks
from coordinator.connectors.iceberg.rest.policies import APPLICABLE, applicable_policies, policies_address
from coordinator.connectors.iceberg.rest.scan_planning import bounded_text, planned_scan
from coordinator.connectors.iceberg.rest.signing import signed
from coordinator.connectors.iceberg.rest.table_keys import TableKeys
from coordinator.connectors.iceberg.rest.token_exchange import ExchangedToken, end_of
from coordinator.connectors.iceberg.rest.vended_file_io import VendedFileIO
from coordinator.connectors.iceberg.rest.vended_keys import VendedKeys, is_key, is_secret, vended_keys
from coordinator.connectors.iceberg.storage import EXACT_FILE_IO
from coordinator.connectors.iceberg.table_words import KNOWN_FILE_IO, names_code
from coordinator.kernels.signed_store import ENABLED
from coordinator.kernels.storage import is_local
from coordinator.vocabulary.trace_context import outgoing_headers
from shared.spi.maintenance import AttachedPolicy

_KEPT_TABLES = 256
_OF_ARROW = frozenset({EXACT_FILE_IO, "pyiceberg.io.pyarrow.PyArrowFileIO"})
_RENEWAL = ("client.refresh-credentials", "gcs.oauth2.refresh-credentials", "adls.refresh-credentials")
_EXPIRED = (401, 419)
_NO_SUCH_PATH = (400, 404, 405, 406, 501)
_MOST_AHEAD = 2.0
"""Seconds that a server's clock may differ by before its moments are shifted: its answers take as long."""


class TableToken(AuthBase):
    """The token that the catalog gave for one table; nothing where it gave none."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class ServedCatalog(RestCatalog):
    """``given`` is what the catalog file says; a server's words choose among PyIceberg's classes, and no other code."""

    def __init__(self, name: str, **given: Any) -> None:
        self.idempotent = False
        self._clock_ahead = 0.0
        self._answers: OrderedDict[Identifier, tuple[str, TableResponse]] = OrderedDict()
        self._keys: OrderedDict[Identifier, TableKeys] = OrderedDict()
        self._configs: dict[Identifier, Properties] = {}
        self._kept = threading.Lock()
        super().__init__(name, **given)
        for key in [k for k in self.properties if names_code(k)]:  # what the server put among them
            if self.properties[key] not in KNOWN_FILE_IO | {given.get(key)}:
                self.properties.pop(key)
                self.properties |= {key: given[key]} if key in given else {}

    def load_table(self, identifier: str | Identifier) -> Table:
        """The table as it is now; one that did not change since it was loaded last is not sent again."""
        name = self.identifier_to_tuple(identifier)
        answer, is_new = self._loaded(name)
        return self._table(name, answer, is_new=is_new)

    def forget(self) -> int:
        """Ask for every table anew; how many answers were kept."""
        with self._kept:
            count = len(self._answers)
            self._answers.clear()
        return count

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        self._check_endpoint(Capability.V1_UPDATE_TABLE)
        name = table.name()
        identifier = TableIdentifier(namespace=name[:-1], name=name[-1])
        request = CommitTableRequest(identifier=identifier, requirements=requirements, updates=updates)
        url = self.url(Endpoints.update_table, prefixed=True, **self._split_identifier_for_path(identifier))
        body = _with_last_column(table, request.model_dump_json())
        answer = committed(
            lambda headers: self._asked("POST", url, table.config, data=body, headers=headers), self.idempotent
        )
        check_kept(updates, answer)
        return answer

    def register_table(self, identifier: str | Identifier, metadata_location: str, overwrite: bool = False) -> Table:
        """As PyIceberg's, and also of a table that has columns of types that PyIceberg does not know."""
        self._check_endpoint(Capability.V1_REGISTER_TABLE)
        name = self._identifier_to_validated_tuple(identifier)
        request = RegisterTableRequest(name=name[-1], metadata_location=metadata_location, overwrite=overwrite)
        url = self.url(Endpoints.register_table, namespace=self._split_identifier_for_path(name)["namespace"])
        _check(self._asked("POST", url, EMPTY_DICT, data=request.model_dump_json().encode()), 409)
        return self.load_table(name)

    def planned(self, table: Table, asked: Mapping[str, object], most: int) -> tuple[Table, tuple[ScanTasks, ...]]:
        """The server's plan of a scan, and the table with the keys that came with it. Raises as ``planned_scan``."""
        if Capability.V1_SUBMIT_TABLE_SCAN_PLAN not in self._supported_endpoints:
            raise RESTError("the table is to be planned by the catalog's server, which names no endpoint for that")
        name = table.name()
        base = self.url(Endpoints.load_table, prefixed=True, **self._split_identifier_for_path(name))

        def ask(method: str, path: str, body: Mapping[str, object] | None) -> str:
            data = None if body is None else json.dumps(body).encode()
            answer = self._asked(method, f"{base}/{path}", table.config, data=data, stream=True)
            _check(answer)
            return bounded_text(answer.iter_content(1 << 20))

        found = planned_scan(ask, asked, most)
        if not found.credentials:
            return table, found.parts
        vended = self._vended(table.config, list(found.credentials))
        keys = TableKeys(".".join(name), vended, lambda: self._renewed(name, found.plan_id))
        io = VendedFileIO({**self.properties, **keys.shown()}, keys)
        return Table(name, table.metadata, table.metadata_location, io, self, table.config), found.parts

    def applicable_policies(self, name: Identifier) -> tuple[AttachedPolicy, ...]:
        """Polaris' policies of a table; none of a server that has no policies. Raises requests' errors."""
        if APPLICABLE not in self._supported_endpoints:
            return ()
        url = policies_address(self.uri, self.properties.get("prefix", ""))

        def ask(query: Mapping[str, str]) -> Response:
            answer = self._asked("GET", url, EMPTY_DICT, params=query)
            _check(answer)
            return answer

        return tuple(applicable_policies(ask, name[:-1], name[-1]))

    def alone_reads(self, location: str) -> bool:
        """Whether only the server has keys for a location that is no table's yet: it lends none for such."""
        return not is_local(location) and not any(is_secret(key) for key in self.properties)

    def register_unread(self, name: Identifier, metadata_file: str, check: Callable[[TableMetadata], None]) -> Table:
        """Register a metadata file that the server reads; a table that ``check`` then refuses is forgotten again."""
        table = self.register_table(name, metadata_file)
        try:
            check(table.metadata)
        except BaseException:
            self.drop_table(name)
            raise
        return table

    def _load_file_io(self, properties: Properties = EMPTY_DICT, location: str | None = None) -> FileIO:
        return super()._load_file_io(_without_code(properties), location)

    def _response_to_table(self, identifier_tuple: tuple[str, ...], table_response: TableResponse) -> Table:
        return self._table(identifier_tuple, table_response, is_new=True)

    def _response_to_staged_table(
        self, identifier_tuple: tuple[str, ...], table_response: TableResponse
    ) -> StagedTable:
        table = self._table(identifier_tuple, table_response, is_new=True)
        return StagedTable(identifier_tuple, table.metadata, table.metadata_location, table.io, self)

    def _table(self, name: Identifier, answer: TableResponse, *, is_new: bool) -> Table:
        place: Any = answer.metadata_location
        return Table(name, answer.metadata, place, self._io_of(name, answer, is_new=is_new), self, answer.config)

    def _create_session(self) -> Session:
        session = with_deadlines(super()._create_session(), self.properties)
        session.hooks["response"].append(self._heard)
        prepare = session.prepare_request

        def prepared(request: Request) -> PreparedRequest:
            """With the context of the statement's trace, which is another one each time."""
            answer = prepare(request)
            answer.headers.update(outgoing_headers())
            return answer

        session.prepare_request = prepared  # type: ignore[method-assign]
        return session

    def _create_legacy_oauth2_auth_manager(self, session: Session) -> AuthManager:
        """Nothing is sent as a login where there is none: PyIceberg sends "Bearer None"."""
        if self.properties.get("credential") is None and self.properties.get("token") is None:
            return NoopAuthManager()
        token, enabled = self.properties.get("token"), self.properties.get("token-exchange-enabled", "true")
        if token is not None and end_of(token) is not None and enabled.lower() == "true":
            own, optional = self.properties.get("oauth2-server-uri"), self._extract_optional_oauth_params()
            uri = own or self.url(Endpoints.get_token, prefixed=False)
            return ExchangedToken(session, uri, token, self.properties.get("credential"), optional)
        return super()._create_legacy_oauth2_auth_manager(session)

    def _heard(self, response: Response, **_: object) -> None:
        """What every answer tells beside its own: the server's clock, and once what it can do."""
        if (date := response.headers.get("Date")) is not None:
            ahead = _epoch_seconds(date) - time.time()
            self._clock_ahead = ahead if abs(ahead) > _MOST_AHEAD else 0.0
        if urlsplit(response.url).path.endswith("/v1/config") and response.ok:
            told_config = response.json()
            self.idempotent = isinstance(told_config, dict) and "idempotency-key-lifetime" in told_config

    def _loaded(self, name: Identifier, *, anew: bool = False) -> tuple[TableResponse, bool]:
        """The server's answer, and whether it is a new one; ``anew`` asks for one with keys, which a 304 has not."""
        self._check_endpoint(Capability.V1_LOAD_TABLE)
        with self._kept:
            known = None if anew else self._answers.get(name)
        headers = {} if known is None else {"If-None-Match": known[0]}
        url = self.url(Endpoints.load_table, prefixed=True, **self._split_identifier_for_path(name))
        answer = self._asked("GET", url, EMPTY_DICT, headers=headers)
        if answer.status_code == 304 and known is not None:
            return known[1], False
        _check(answer)
        found = parse(answer.text, TableResponse.model_validate, TableResponse.model_validate_json)
        with self._kept:
            self._answers.pop(name, None)
            if etag := answer.headers.get("ETag"):
                self._answers[name] = (etag, found)
                while len(self._answers) > _KEPT_TABLES:
                    self._answers.popitem(last=False)
        return found, True

    def compared_location(self, name: Identifier) -> str | None:
        """Where a table's newest metadata is, if the server can tell whether they are those that are here.

        None where they are not here or have no ETag, or where there is no such table. What comes of a table that
        changed is not kept: whoever loads it needs its keys with it.
        """
        with self._kept:
            known = self._answers.get(name)
        if known is None:
            return None
        url = self.url(Endpoints.load_table, prefixed=True, **self._split_identifier_for_path(name))
        answer = self._asked("GET", url, EMPTY_DICT, headers={"If-None-Match": known[0]})
        if answer.status_code == 304:
            return known[1].metadata_location
        if answer.status_code == 404:
            return None
        _check(answer)
        location: str | None = answer.json().get("metadata-location")
        return location

    def _io_of(self, name: Identifier, answer: TableResponse, *, is_new: bool) -> FileIO:
        implementation = {**self.properties, **_without_code(answer.config)}.get("py-io-impl", EXACT_FILE_IO)
        if implementation not in _OF_ARROW:
            found = self._resolve_storage_credentials(answer.storage_credentials, answer.metadata_location)
            return self._load_file_io({**answer.config, **found}, answer.metadata_location)
        keys = self._keys_of(name, answer, is_new=is_new)
        return VendedFileIO({**self.properties, **keys.shown()}, keys)

    def _keys_of(self, name: Identifier, answer: TableResponse, *, is_new: bool) -> TableKeys:
        """The keys of a table of this name, which all that read and write it share."""
        with self._kept:
            known = self._keys.get(name)
            if known is not None and not is_new:
                return known
            vended = self._vended(answer.config, answer.storage_credentials)
            self._configs[name] = answer.config
            if known is not None:
                known.take(vended)
                return known
            keys = self._keys[name] = TableKeys(".".join(name), vended, lambda: self._renewed(name))
            while len(self._keys) > _KEPT_TABLES:
                gone, _ = self._keys.popitem(last=False)
                self._configs.pop(gone, None)
            return keys

    def _vended(self, config: Mapping[str, str], credentials: list[Any]) -> VendedKeys:
        listed = [(one.prefix, _without_code(one.config)) for one in credentials]
        found = vended_keys(self.properties, _without_code(config), listed, time.time(), self._clock_ahead)
        return signed(found, self.properties, self.uri, self._login(config.get("token")))

    def _login(self, token: str | None) -> str | None:
        """The header that the catalog's own requests have; ``token`` is of one table."""
        if token is not None:
            return f"Bearer {token}"
        auth = self._session.auth
        return auth.auth_manager.auth_header() if isinstance(auth, AuthManagerAdapter) else None

    def _renewed(self, name: Identifier, plan_id: str | None = None) -> VendedKeys | None:
        """New keys, of a plan's files if need be, from the path for them.

        Where the server has no such path they come with the table itself.
        """
        config = self._configs.get(name, EMPTY_DICT)
        if any(config.get(f"{way}-enabled", "true").lower() == "false" for way in _RENEWAL):
            return None
        signs = config.get(ENABLED, "").lower() == "true"
        url = None if signs else self._renewal_path(name, config)
        if url is not None:
            answer = self._asked("GET", url, config, params={} if plan_id is None else {"planId": plan_id})
            if answer.ok:
                credentials = LoadCredentialsResponse.model_validate_json(answer.text).storage_credentials
                return self._vended(_without_keys(config), credentials)
            if answer.status_code not in _NO_SUCH_PATH:
                _check(answer)
        found, _ = self._loaded(name, anew=True)
        self._configs[name] = found.config
        return self._vended(found.config, found.storage_credentials)

    def _renewal_path(self, name: Identifier, config: Properties) -> str | None:
        """Where new keys are asked for: at the catalog's own host, whatever the table's answer says."""
        found = next((config[f"{way}-endpoint"] for way in _RENEWAL if f"{way}-endpoint" in config), None)
        if found is not None:
            path: str = found if urlsplit(found).scheme else urljoin(self.uri.rstrip("/") + "/", found.lstrip("/"))
            if urlsplit(path)[:2] == urlsplit(self.uri)[:2]:
                return path
        if Capability.V1_LOAD_CREDENTIALS not in self._supported_endpoints:
            return None
        usual: str = self.url(Endpoints.load_credentials, prefixed=True, **self._split_identifier_for_path(name))
        return usual

    def _asked(self, method: str, url: str, config: Properties, **request: Any) -> Response:
        """The answer, asked for once more when a login had ended: with the catalog's own. Raises requests' errors."""
        token = config.get("token")
        auth = None if token is None else TableToken(token)
        answer = self._session.request(method, url, auth=auth, **request)
        if answer.status_code in _EXPIRED:
            self._refresh_token()
            answer = self._session.request(method, url, **request)
        return answer


def _with_last_column(table: Table, body: str) -> bytes:
    """Said with every new schema, as Iceberg's Java client does: Nessie 0.99 answers 400 without it."""
    if '"add-schema"' not in body:
        return body.encode()
    request = json.loads(body)
    last = table.metadata.last_column_id
    for update in request["updates"]:
        if update["action"] == "add-schema":
            last = max(last, parse_schema(json.dumps(update["schema"])).highest_field_id)
            update["last-column-id"] = last
    return json.dumps(request).encode()


def _check(answer: Response, conflict: int = 0) -> None:
    try:
        answer.raise_for_status()
    except HTTPError as error:
        _handle_non_200_response(error, {404: NoSuchTableError, conflict: TableAlreadyExistsError})


def _without_code(properties: Mapping[str, str]) -> dict[str, str]:
    """A server chooses among PyIceberg's classes, but names no other code, and no way to log in."""
    return {
        name: value
        for name, value in properties.items()
        if not name.startswith("auth.") and (not names_code(name) or value in KNOWN_FILE_IO)
    }


def _without_keys(config: Mapping[str, str]) -> dict[str, str]:
    """What a table's answer says of its store beside keys: those have gone out of date."""
    return {k: v for k, v in config.items() if not is_key(k)}


def _epoch_seconds(date: str) -> float:
    try:
        return parsedate_to_datetime(date).timestamp()
    except ValueError:
        return time.time()
