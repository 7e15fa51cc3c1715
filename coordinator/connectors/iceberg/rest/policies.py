"""Apache Polaris' policies of a table, with those that it inherits (``spec/polaris-catalog-apis/policy-apis.yaml``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field
from pyiceberg.catalog.rest import Endpoint
from requests import Response

from shared.spi.maintenance import AttachedPolicy

APPLICABLE = Endpoint.from_string("GET /polaris/v1/{prefix}/applicable-policies")
"""How a server says that it has them."""
_SEPARATOR = "\x1f"
_MOST_PAGES = 100


class _Applicable(BaseModel):
    model_config = ConfigDict(extra="ignore")

    name: str
    kind: str = Field(alias="policy-type")
    content: str | None = None
    inherited: bool = False


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore")

    policies: tuple[_Applicable, ...] = Field(alias="applicable-policies")
    following: str | None = Field(None, alias="next-page-token")


def policies_address(uri: str, prefix: str) -> str:
    """Beside ``/v1/…`` of the catalog protocol."""
    return "/".join([uri.rstrip("/"), "polaris/v1", *filter(None, [quote(prefix, safe="")]), "applicable-policies"])


def applicable_policies(
    ask: Callable[[Mapping[str, str]], Response], namespace: tuple[str, ...], table: str
) -> Iterator[AttachedPolicy]:
    """``ask`` sends a query and checks that it was answered. Raises what it raises, and pydantic's errors."""
    query = {"namespace": _SEPARATOR.join(namespace), "target-name": table}
    for _ in range(_MOST_PAGES):
        answer = _Answer.model_validate_json(ask(query).text)
        for each in answer.policies:
            yield AttachedPolicy(each.name, each.kind, each.content or "", each.inherited)
        if not answer.following:
            return
        query["pageToken"] = answer.following
