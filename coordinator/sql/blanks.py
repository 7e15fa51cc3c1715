"""White space and comments, for patterns that look at a statement before it is parsed.

There is one way to read each text, and none is tried twice: patterns with it run over texts of strangers.
"""

BLANKS = r"(?>(?:\s|--[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)*)"
