"""What a call of ``rewrite_data_files`` asks for, checked as far as it can be without the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from coordinator.connectors.iceberg.rewrite.asked.options import RewriteOptions, Rewriter, parse_options
from coordinator.connectors.iceberg.rewrite.asked.sorted_by import SortedBy, parse_sorted_by
from shared.errors import ErrorCode
from shared.spi.procedure import ArgumentError

Strategy = Literal["binpack", "sort"]


@dataclass(frozen=True, slots=True)
class RewriteArguments:
    """``sorted_by`` is None for binpack and for the table's own order."""

    strategy: Strategy
    sorted_by: SortedBy | None
    options: Mapping[str, str] | None
    dry_run: bool
    branch: str | None = None

    @classmethod
    def of(
        cls,
        strategy: str,
        sorted_by: Sequence[str] | None,
        options: Mapping[str, str] | None,
        *,
        dry_run: bool,
        branch: str | None = None,
    ) -> RewriteArguments:
        """Checked; raises ArgumentError for strategies and sort columns that cannot be."""
        found = _strategy(strategy)
        if found == "binpack" and sorted_by:
            message = "Cannot use binpack strategy with sorted_by option. Use sort strategy when specifying sort order."
            raise ArgumentError("sorted_by", message, ErrorCode.NOT_SUPPORTED)
        named = None if branch == "main" else branch
        return cls(found, parse_sorted_by(sorted_by) if sorted_by else None, options, dry_run, named)

    @property
    def rewriter(self) -> Rewriter:
        """Iceberg's name for the method."""
        if self.strategy == "binpack":
            return "BIN-PACK"
        return "Z-ORDER" if self.sorted_by is not None and self.sorted_by.curve is not None else "SORT"

    def parsed_options(self, properties: Mapping[str, str] | None = None) -> RewriteOptions:
        """The options over a table's properties; raises ArgumentError."""
        return parse_options(self.options, properties or {}, self.rewriter)


def _strategy(text: str) -> Strategy:
    match text.lower():
        case "binpack":
            return "binpack"
        case "sort":
            return "sort"
    message = f"Invalid rewrite strategy: {text}. Valid values are 'sort' or 'binpack'."
    raise ArgumentError("strategy", message, ErrorCode.NOT_SUPPORTED)
