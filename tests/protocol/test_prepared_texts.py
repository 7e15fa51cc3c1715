"""Prepared statements come again with every request: each is read once, and long ones are left to the planner."""

from __future__ import annotations

import pytest

from coordinator.server.prepared_texts import PreparedTexts
from shared.errors import ErrorCode, ProcessionError


def test_texts_are_read_once_and_only_so_many_characters():
    read = []

    def parse(text):
        read.append(text)
        if text.startswith("no"):
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, "no statement")

    texts = PreparedTexts(parse)
    texts.check(["SELECT 1", "SELECT 2"])
    texts.check(["SELECT 1", "SELECT 3"])
    assert read == ["SELECT 1", "SELECT 2", "SELECT 3"]
    for _ in range(2):
        with pytest.raises(ProcessionError, match="no statement"):
            texts.check(["SELECT 1", "no"])
    read.clear()
    texts.check(["x" * 5000, "y" * 3000, "z" * 900])
    assert read == []
    texts.check(["y" * 3000, "z" * 900])
    assert [text[0] for text in read] == ["y", "z"]
    for number in range(1500):
        texts.check([f"SELECT {number}"])
    read.clear()
    texts.check(["SELECT 1", "SELECT 1400"])
    assert read == ["SELECT 1"], "the oldest are forgotten"
