"""Text to statements: a lexer, the grammar that builds the syntax tree, and the statements around it."""
