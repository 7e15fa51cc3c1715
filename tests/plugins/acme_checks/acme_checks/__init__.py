"""A plan checker package of another house: knows Procession only by its SPI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shared.errors import ErrorCode, ProcessionError
from shared.plan.fragment import SimplePlanFragment
from shared.plan.nodes import PlanNode, ValuesNode
from shared.plan.traversal import walk
from shared.properties import ConfigurationError
from shared.spi.plan_checker import PlanChecker, PrestoWarning, WarningCollector
from shared.spi.session import Session


class AcmeChecker:
    name = "acme"

    def __init__(self, max_rows: int) -> None:
        self.max_rows = max_rows

    def validate_intermediate(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None:
        warn(PrestoWarning(900, "ACME_SAW", f"plan of {session.user}"))

    def validate_final(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None:
        for node in walk(plan):
            if isinstance(node, ValuesNode) and len(node.rows) > self.max_rows:
                raise ProcessionError(ErrorCode.QUERY_REJECTED, f"Acme allows {self.max_rows} inline rows")

    async def validate_fragment(self, fragment: SimplePlanFragment, session: Session, warn: WarningCollector) -> None:
        return


class AcmeProvider:
    name = "acme"

    def create(self, properties: Mapping[str, str]) -> Sequence[PlanChecker]:
        rest = dict(properties)
        value = rest.pop("acme.max-rows", "10")
        if rest:
            raise ConfigurationError(f"unknown property '{next(iter(rest))}'")
        if not value.isdigit():
            raise ConfigurationError(f"invalid value '{value}' for 'acme.max-rows'")
        return (AcmeChecker(int(value)),)
