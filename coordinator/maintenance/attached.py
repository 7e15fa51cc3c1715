"""Policies that a catalog's server has for a table, Apache Polaris' for example, in the words of this service.

What the server said of inheritance holds. Its ``config`` may say anything: what is not known here, or wrong, is left
out, but never that a policy disables.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from coordinator.maintenance.policies import Policy
from shared.spi.maintenance import AttachedPolicy

_LOG = logging.getLogger(__name__)
_TYPES = (
    "system.data-compaction",
    "system.metadata-compaction",
    "system.snapshot-expiry",
    "system.orphan-file-removal",
)
_STRATEGIES = {"bin-pack": "binpack", "binpack": "binpack", "sort": "sort"}
_TOP = ("version", "enable", "max_orphan_file_age_in_days")


def policies_of(attached: Sequence[AttachedPolicy]) -> tuple[Policy, ...]:
    """Inherited ones first, so that the table's own count; those that cannot be read are logged and left out."""
    ordered = sorted(attached, key=lambda each: not each.inherited)
    return tuple(policy for each in ordered if each.kind in _TYPES and (policy := _policy(each)) is not None)


def _policy(attached: AttachedPolicy) -> Policy | None:
    try:
        said = json.loads(attached.content)
        problem = _problem(said)
        if problem is None:
            content = {name: said[name] for name in _TOP if name in said}
            config = said.get("config")
            return _made(attached, content, dict(config) if isinstance(config, dict) else {})
    except (ValueError, RecursionError) as error:
        problem = str(error)
    _LOG.warning("the policy %s of a catalog is left out: %s", attached.name, problem)
    return None


def _problem(said: object) -> str | None:
    if not isinstance(said, dict) or not isinstance(said.get("enable"), bool):
        return "it does not say whether it is enabled"
    if said["enable"] and said.get("locations"):
        return "it names locations to look for orphan files in, which are those of the table here"
    return None


def _made(attached: AttachedPolicy, content: Mapping[str, object], config: dict[str, object]) -> Policy:
    """Raises ValueError."""
    if not content["enable"]:
        config, content = {}, {"enable": False}
    strategy = config.pop("compaction_strategy", None)
    if isinstance(strategy, str) and strategy.lower() in _STRATEGIES:
        config.setdefault("strategy", _STRATEGIES[strategy.lower()])
    while True:
        entry = {"name": attached.name, attached.kind: {**content, "config": config}}
        try:
            return Policy.model_validate(entry)
        except ValidationError as error:
            wrong = {str(place[2]) for each in error.errors() if len(place := each["loc"]) > 2 and place[1] == "config"}
            if not wrong & config.keys():
                raise
            config = {name: value for name, value in config.items() if name not in wrong}
