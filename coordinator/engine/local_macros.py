"""What DuckDB lacks of Presto's functions, as macros of the local engine's database."""

from __future__ import annotations

MACROS = (
    # Double.toString: scientific below 1e-3 and from 1e7, always with a point.
    """CREATE MACRO java_digits(t) AS rtrim(ltrim(replace(split_part(t, 'e', 1), '.', ''), '0'), '0')""",
    """CREATE MACRO java_exponent(t) AS CASE
        WHEN contains(t, 'e') THEN CAST(split_part(t, 'e', 2) AS INTEGER)
        WHEN starts_with(t, '0.') THEN
            length(ltrim(split_part(t, '.', 2), '0')) - length(split_part(t, '.', 2)) - 1
        ELSE length(split_part(t, '.', 1)) - 1 END""",
    """CREATE MACRO java_scientific(t) AS substr(java_digits(t), 1, 1) || '.'
        || coalesce(nullif(substr(java_digits(t), 2), ''), '0') || 'E' || java_exponent(t)""",
    "CREATE MACRO finite_or_null(x) AS CASE WHEN isfinite(x) THEN x END",
    """CREATE MACRO java_double(x) AS CASE
        WHEN x IS NULL THEN NULL
        WHEN isnan(x) THEN 'NaN'
        WHEN isinf(x) THEN CASE WHEN x > 0 THEN 'Infinity' ELSE '-Infinity' END
        WHEN x = 0 OR (abs(x) >= 1e-3 AND abs(x) < 1e7) THEN CAST(x AS VARCHAR)
        ELSE CASE WHEN x < 0 THEN '-' ELSE '' END || java_scientific(CAST(abs(x) AS VARCHAR)) END""",
)
_NAMES = ("java_double(", "finite_or_null(")
"""Those that stand in statements; the others are theirs."""


def macros_of(sql: str) -> tuple[str, ...]:
    """What a statement needs: they take longer to make than most statements to run."""
    return MACROS if any(name in sql.lower() for name in _NAMES) else ()
