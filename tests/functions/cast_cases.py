"""Casts of texts, and what Presto makes of some of them (VarcharOperators, DecimalCasts, UuidOperators)."""

from __future__ import annotations

TEXTS = (
    "5", " 5 ", " 5", "5\t", "\u00a05", "+5", "-5", "--5", "+-5", "00012", "-0", "-0.0", "", "  ", "1_000", "1,000",
    "1 000", "\u0663", "\uff15", "1.5", "+1.5", ".5", "5.", ".", "1e3", "1E3", "1e-3", "1e400", "0x10", "0x1p3",
    "0x.8p1D", "1d", "1F", "inf", "Inf", "-inf", "nan", "NaN", "+NaN", "Infinity", "-Infinity", "INFINITY", " NaN ",
    "128",
    "2147483648", "9223372036854775808", "12345678901234567890", "true", "TRUE", "t", "T", "0", "1", " true", "yes",
    "2020-01-02", "2020-1-2", " 2020-01-02 ", "2020-01-02 03:04", "2020-01-02 03:04:05.123456789",
    "2020-01-02T03:04:05", "2020-01-02 03:04:05 UTC", "2020-01-02 03:04:05 +01:00", "2020-01-02 03:04:05+01:00",
    "2020-01-02 03:04:05 Europe/Berlin", "2020-02-30", "03:04", "3:4:5", "03:04:05.1234", "03:04:05 +01:00", "24:00",
    "123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000",
    "{123e4567-e89b-12d3-a456-426614174000}", "123e4567e89b12d3a456426614174000", "1-2-3-4-5",
    "urn:uuid:123e4567-e89b-12d3-a456-426614174000", "1.2.3.4", "::1", "::ffff:1.2.3.4", "1.2.3.4/24", "1.2.3",
)  # fmt: skip

TYPES = (
    "tinyint", "smallint", "integer", "bigint", "double", "real", "boolean", "decimal(5,2)", "decimal(38,10)",
    "varchar(3)", "char(3)", "date", "timestamp", "timestamp with time zone", "time", "time with time zone", "uuid",
    "ipaddress", "ipprefix", "varbinary", "json",
)  # fmt: skip

ANSWERS: tuple[tuple[str, str, object], ...] = (
    (" 5 ", "bigint", 5),
    ("5\t", "tinyint", 5),
    ("\u00a05", "bigint", "Cannot cast '\u00a05' to BIGINT"),
    ("\u0663", "bigint", 3),
    ("\u0663", "decimal(5,2)", "3.00"),
    ("\u0663", "double", "Cannot cast '\u0663' to DOUBLE"),
    ("1_000", "bigint", "Cannot cast '1_000' to BIGINT"),
    ("1_000", "integer", "Cannot cast '1_000' to INT"),
    ("1_000", "double", "Cannot cast '1_000' to DOUBLE"),
    ("1_000", "decimal(5,2)", "Cannot cast VARCHAR '1_000' to DECIMAL(5, 2). Value is not a number."),
    (" 5 ", "decimal(5,2)", "Cannot cast VARCHAR ' 5 ' to DECIMAL(5, 2). Value is not a number."),
    ("NaN", "decimal(5,2)", "Cannot cast VARCHAR 'NaN' to DECIMAL(5, 2). Value is not a number."),
    ("1e3", "decimal(5,2)", "Cannot cast VARCHAR '1e3' to DECIMAL(5, 2). Value too large."),
    ("1e3", "decimal(38,10)", "1000.0000000000"),
    ("inf", "double", "Cannot cast 'inf' to DOUBLE"),
    ("INFINITY", "real", "Cannot cast 'INFINITY' to REAL"),
    (" NaN ", "double", "NaN"),
    ("-Infinity", "real", "-Infinity"),
    ("1e400", "double", "Infinity"),
    ("0x10", "double", "Cannot cast '0x10' to DOUBLE"),
    ("0x1p3", "double", 8.0),
    ("0x.8p1D", "double", 1.0),
    ("1F", "double", 1.0),
    (".", "double", "Cannot cast '.' to DOUBLE"),
    ("128", "tinyint", "Cannot cast '128' to TINYINT"),
    (" true", "boolean", "Cannot cast ' true' to BOOLEAN"),
    ("123E4567-E89B-12D3-A456-426614174000", "uuid", "123e4567-e89b-12d3-a456-426614174000"),
    (
        "{123e4567-e89b-12d3-a456-426614174000}",
        "uuid",
        "Cannot cast value to UUID: {123e4567-e89b-12d3-a456-426614174000}",
    ),
    ("123e4567e89b12d3a456426614174000", "uuid", "Cannot cast value to UUID: 123e4567e89b12d3a456426614174000"),
    ("1-2-3-4-5", "uuid", "Invalid UUID string length: 9"),
    ("1.2.3.4/24", "ipaddress", "Cannot cast value to IPADDRESS: 1.2.3.4/24"),
    ("::ffff:1.2.3.4", "ipaddress", "1.2.3.4"),
    ("2020-02-30", "date", "Value cannot be cast to date: 2020-02-30"),
    (" 2020-01-02 ", "date", "2020-01-02"),
)
"""Text, type and the cell; errors by their message."""
