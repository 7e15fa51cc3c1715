"""Text to statements: our own statement layer over sqlglot's tokenizer and its query parser."""
