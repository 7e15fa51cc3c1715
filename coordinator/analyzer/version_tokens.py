"""Where the expression of ``FOR TIMESTAMP|VERSION AS OF|BEFORE …`` ends among a statement's tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot.tokens import Token, TokenType

VERSION_KINDS = frozenset(["timestamp", "version", "system_time", "system_version"])
_OPERATORS = frozenset(
    [TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.MOD, TokenType.DPIPE, TokenType.DOT]
)
_SIGNS = frozenset([TokenType.PLUS, TokenType.DASH])


def version_end(tokens: Sequence[Token], closing: Mapping[int, int], start: int) -> int:
    """The index of the last token of the expression that begins at ``start``: operands between operators.

    ``closing`` has, by index, the bracket that ends what one begins.
    """
    end = _operand_end(tokens, closing, start)
    while end + 2 < len(tokens) and tokens[end + 1].token_type in _OPERATORS:
        end = _operand_end(tokens, closing, end + 2)
    return end


def _operand_end(tokens: Sequence[Token], closing: Mapping[int, int], start: int) -> int:
    index = start
    while index + 1 < len(tokens) and tokens[index].token_type in _SIGNS:
        index += 1
    if index in closing:
        return closing[index]
    if tokens[index].token_type is TokenType.INTERVAL:
        return _interval_end(tokens, index)
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    if following is not None and following.token_type is TokenType.L_PAREN:
        return closing.get(index + 1, index)
    if following is not None and following.token_type is TokenType.STRING:
        return index + 1  # a literal after its type
    return index


def _interval_end(tokens: Sequence[Token], index: int) -> int:
    """``INTERVAL [sign] 'n' UNIT [TO UNIT]``."""
    index += 2 if index + 1 < len(tokens) and tokens[index + 1].token_type in _SIGNS else 1
    last = len(tokens) - 1
    if index + 2 <= last and str(tokens[index + 2].text).upper() == "TO":
        return min(index + 3, last)
    return min(index + 1, last)
