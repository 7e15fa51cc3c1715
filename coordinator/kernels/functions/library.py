"""Every function of the kernels by its Presto name."""

from __future__ import annotations

from .aggregates import AGGREGATES
from .arrays import ARRAYS
from .binary import BINARY
from .colors import COLORS
from .date_formats import DATE_FORMATS
from .dates import DATES
from .geometry import GEOMETRY
from .json_functions import JSON_FUNCTIONS
from .maps import MAPS
from .maths import MATHS
from .network import NETWORK
from .operators import OPERATORS
from .probability import PROBABILITY
from .regexp import REGEXP
from .sketches import SKETCHES
from .spherical import SPHERICAL
from .table import Table
from .text import TEXT
from .tiles import TILES
from .urls import URLS

LIBRARY: Table = {
    **OPERATORS, **TEXT, **REGEXP, **MATHS, **PROBABILITY, **DATES, **DATE_FORMATS,
    **BINARY, **URLS, **NETWORK, **ARRAYS, **MAPS,
    **JSON_FUNCTIONS,
    **SKETCHES, **AGGREGATES, **GEOMETRY, **SPHERICAL, **TILES, **COLORS,
}  # fmt: skip
