"""What is kept of answers. Executors find the text of ``shared/plan/kept.py`` in the place of this file."""

from __future__ import annotations

from shared.plan.kept import kept

__all__ = ["kept"]
