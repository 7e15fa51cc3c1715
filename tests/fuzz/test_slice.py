"""A slice of the fuzz (``make bench NAME=fuzz``) over the shared service, and that it would find something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from benchmarks.fuzz import catalog, requests
from benchmarks.fuzz.choices import Choices, shrink
from benchmarks.fuzz.client import StatementClient
from benchmarks.fuzz.comparison import differ
from benchmarks.fuzz.statements import Statements, statement
from benchmarks.fuzz.tables import make_tables, oracle
from tests.e2e.service import Service


@pytest.fixture(scope="module")
def client(quiet_service: Service) -> Iterator[StatementClient]:
    make_tables(quiet_service, "fuzz")
    quiet_service.lake().create_namespace_if_not_exists("fuzz_made")
    made = StatementClient(quiet_service.url, "fuzz", "engine=EMBEDDED")
    yield made
    made.close()


def test_statements_have_no_internal_errors_and_duckdbs_rows(client: StatementClient) -> None:
    statements = Statements(client, oracle(), "fuzz")
    assert list(statements.run(20261122, range(60))) == []
    assert statements.tally.counts["compared"] > 15
    assert statements.tally.counts["user_errors"] < 25


def test_broken_tables_are_refused_or_answered(quiet_service: Service, client: StatementClient) -> None:
    broken = StatementClient(quiet_service.url, catalog.SCHEMA, "engine=EMBEDDED")
    found = catalog.run(quiet_service, broken, 20261122, range(12), Counter(), catalog.OF_METADATA)
    assert list(found) == []
    broken.close()


def test_odd_requests_are_refused(quiet_service: Service) -> None:
    counts: Counter[str] = Counter()
    assert list(requests.run(quiet_service.url, 20261122, range(80), counts)) == []
    assert counts["http_200"] > 0


def test_a_number_is_always_the_same_statement() -> None:
    texts = {statement(Choices(number), "fuzz", 20).text for number in range(200)}
    assert len(texts) > 190
    assert texts == {statement(Choices(number), "fuzz", 20).text for number in range(200)}


def test_what_fails_is_made_smaller() -> None:
    def fails(taken: object) -> bool:
        return "many" in statement(Choices(played=taken), "fuzz", 0).text  # type: ignore[arg-type]

    choices = Choices(5)
    whole = statement(choices, "fuzz", 0).text
    small = statement(Choices(played=shrink(choices.taken, fails)), "fuzz", 0).text
    assert "many" in small
    assert len(small) < len(whole) / 2


def test_other_rows_are_seen() -> None:
    types = ("bigint", "double", "decimal(4,2)", "array(bigint)")
    row = (1, 0.1 + 0.2, "1.50", [1, None])
    assert not differ([row], types, [(1, 0.3, 1.5, [1, None])], ordered=True)
    assert differ([row], types, [(1, 0.3, 1.5, [1, 2])], ordered=True)
    assert differ([row], types, [row, row], ordered=False)
    assert not differ([row, (None, None, None, None)], types, [(None, None, None, None), row], ordered=False)
