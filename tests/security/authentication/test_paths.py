"""Every path with odd parameters and headers: no failure, no trace, nothing of another user's."""

from __future__ import annotations

import json
from collections import Counter

from benchmarks.fuzz import paths
from tests.security.authentication.secured import PASSWORD, Secured, basic


def test_paths_and_headers_of_the_coordinator(secured: Secured) -> None:
    marker = "secret word of alice"
    posted = secured.get("/v1/statement", method="POST", content=f"SELECT '{marker}'", headers=basic("alice", PASSWORD))
    query = posted.json()["id"]
    slug = posted.json()["nextUri"].partition("slug=")[2]
    target = paths.Target(
        secured.url,
        paths.operations(secured.get("/openapi.json", headers=basic("bob", PASSWORD)).json()),
        secured.context(),
        basic("bob", PASSWORD),
        known=(query, slug, "alice", "global"),
        hidden=(marker,),
    )
    counts: Counter[str] = Counter()
    found = list(paths.run(target, 20261123, range(250), counts))
    assert found == [], json.dumps(found, indent=1)
    assert {"http_200", "http_400", "http_403", "http_404"} <= set(counts), counts
    later = secured.get(f"/v1/query/{query}", headers=basic("alice", PASSWORD))
    assert marker in later.text
    assert later.json()["state"] not in ("FAILED", "CANCELED"), "nobody else ended it"
