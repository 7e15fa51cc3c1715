"""The sample configurations that no test runs are at least what their programs read: YAML with the right endpoints."""

from pathlib import Path

import yaml

GATEWAY = Path(__file__).parents[2] / "etc" / "gateway"


def test_trino_gateway_asks_our_endpoint() -> None:
    document = yaml.safe_load((GATEWAY / "trino-gateway.yaml").read_text())
    rules = document["routingRules"]
    assert (rules["rulesEngineEnabled"], rules["rulesType"]) == (True, "EXTERNAL")
    assert rules["rulesExternalConfiguration"]["urlPath"].endswith("/v1/routing-group")
    assert document["requestAnalyzerConfig"]["analyzeRequest"] is True


def test_envoy_sends_the_body_to_our_endpoint() -> None:
    document = yaml.safe_load((GATEWAY / "envoy.yaml").read_text())
    manager = document["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    authorization, router = (each["typed_config"] for each in manager["http_filters"])
    assert authorization["http_service"]["path_prefix"].startswith("/v1/precheck?")
    assert authorization["with_request_body"]["allow_partial_message"] is False
    assert router["@type"].endswith(".Router")
    clusters = {cluster["name"] for cluster in document["static_resources"]["clusters"]}
    assert authorization["http_service"]["server_uri"]["cluster"] in clusters
