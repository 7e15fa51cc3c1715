"""A statement as it comes to the dispatcher."""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.dispatch.arrow_chunks import Compression
from coordinator.dispatch.query import ResultFormat
from coordinator.dispatch.segments import Encoding
from coordinator.engine.execution import SentRows
from shared.errors import ProcessionError
from shared.spi.session import Session


@dataclass(frozen=True, slots=True)
class Submission:
    """A statement as received. ``length`` counts its characters, also those beyond ``text`` when it was cut.

    ``placeholder``: a gateway's reserve, see Query. ``segments``: how its client wants the rows of a page, if apart.
    ``compression``: of an Arrow stream, where its client says it beside the session.
    ``sent_rows``: what its client sends along with it.
    ``error`` is what receiving found wrong: the query is registered and fails with it when it starts.
    """

    text: str
    session: Session
    length: int
    query_id: str | None = None
    slug: str | None = None
    retry_url: str | None = None
    retry_seconds: float = 0.0
    placeholder: bool = False
    result_format: ResultFormat = "json"
    compression: Compression | None = None
    segments: Encoding | None = None
    error: ProcessionError | None = None
    received_at: float | None = None
    sent_rows: SentRows | None = None
