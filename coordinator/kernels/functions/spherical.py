"""Geographies: shapes on a sphere, whose functions share names with those of shapes on a plane.

Values are the same texts; what is computed is chosen by the type of the first argument. Source of the arithmetic:
Presto's SphericalGeoFunctions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from .failures import check
from .geometry import EARTH_KM, GEOMETRY, great_circle, read_shape, shown_shape, upper_words
from .table import Function, Signature, Table, plain

_Point = tuple[float, float]
"""Longitude and latitude, in degrees."""


def _geography(text: str) -> str:
    shape = read_shape(text)
    if not shape.is_empty:
        west, south, east, north = shape.bounds
        check(south >= -90 and north <= 90, "Latitude must be between -90 and 90")
        check(west >= -180 and east <= 180, "Longitude must be between -180 and 180")
    check(not shape.has_z, "Cannot convert 3D geometry to a spherical geography")
    return text


def _is_empty(function: str, text: str, *kinds: str) -> bool:
    """Raises INVALID_FUNCTION_ARGUMENT for a shape of another kind that is not empty."""
    shape = read_shape(text)
    if shape.is_empty:
        return True
    only, found = " or ".join(map(upper_words, kinds)), upper_words(shape.geom_type)
    message = f"When applied to SphericalGeography inputs, {function} only supports {only}. Input type is: {found}"
    check(shape.geom_type in kinds, message)
    return False


def _distance(a: str, b: str) -> float | None:
    if read_shape(a).is_empty or read_shape(b).is_empty or any(_is_empty("ST_Distance", t, "Point") for t in (a, b)):
        return None
    first, second = read_shape(a), read_shape(b)
    return great_circle(first.y, first.x, second.y, second.x) * 1000


def _length(text: str) -> float | None:
    if _is_empty("ST_Length", text, "LineString", "MultiLineString"):
        return None
    lines = getattr(read_shape(text), "geoms", [read_shape(text)])
    pairs = (pair for line in lines for pair in pairwise(line.coords))
    return sum(great_circle(a[1], a[0], b[1], b[0]) for a, b in pairs) * 1000


def _area(text: str) -> float | None:
    if _is_empty("ST_Area", text, "Polygon", "MultiPolygon"):
        return None
    excess, radius = 0.0, EARTH_KM * 1000.0
    for polygon in getattr(read_shape(text), "geoms", [read_shape(text)]):
        excess += abs(_excess(polygon.exterior.coords[:-1])) - sum(
            abs(_excess(h.coords[:-1])) for h in polygon.interiors
        )
    return abs(excess * radius * radius)


def _excess(ring: Sequence[_Point]) -> float:
    """How much the angles of a ring without its closing point exceed those on a plane, in radians.

    That is the ring's area on a sphere of radius 1.
    """
    check(len(ring) >= 3, "Polygon is not valid: a loop contains less then 3 vertices.")
    points = [(math.radians(x), math.radians(y)) for x, y in ring]
    excess = 0.0
    bearings: list[tuple[float, float]] = []
    for before, point in pairwise([points[-1], *points]):
        check(before != point, "Polygon is not valid: it has two identical consecutive vertices")
        tangents = math.tan(before[1] / 2), math.tan(point[1] / 2)
        half = math.tan((point[0] - before[0]) / 2)
        excess += 2 * math.atan2(half * sum(tangents), 1 + tangents[0] * tangents[1])
        bearings.append(_bearings(before, point))
    turns = sum(_turn(final - first) for first, final in bearings)
    turns += sum(_turn(after[0] - bearing[1]) for bearing, after in pairwise([*bearings, bearings[0]]))
    # Once around, or not at all where a pole is inside.
    return abs(excess) - 2 * math.pi if abs(turns) < math.pi / 4 else excess


def _bearings(a: _Point, b: _Point) -> tuple[float, float]:
    """Of the great circle from ``a`` to ``b``, at its beginning and its end."""
    gap = b[0] - a[0]
    sines, cosines = (math.sin(a[1]), math.sin(b[1])), (math.cos(a[1]), math.cos(b[1]))
    first = math.atan2(math.sin(gap) * cosines[1], cosines[0] * sines[1] - sines[0] * cosines[1] * math.cos(gap))
    back = math.atan2(-math.sin(gap) * cosines[0], sines[0] * cosines[1] - cosines[0] * sines[1] * math.cos(gap))
    return first % (2 * math.pi), (back + math.pi) % (2 * math.pi)


def _turn(angle: float) -> float:
    return math.fmod(angle + 3 * math.pi, 2 * math.pi) - math.pi


def _centroid(text: str) -> str | None:
    if _is_empty("ST_Centroid", text, "Point", "MultiPoint"):
        return None
    shape = read_shape(text)
    if shape.geom_type == "Point":
        return text
    points = [(p.x, p.y) for p in shape.geoms]
    if len(points) == 1:
        return shown_shape(shape.geoms[0])
    x, y, z = (sum(part) for part in zip(*map(_cartesian, points), strict=True))
    length = math.sqrt(x * x + y * y + z * z)
    check(length != 0.0, f"Unexpected error. Average vector length adds to zero ({x:f}, {y:f}, {z:f})")
    x, y, z = x / length, y / length, z / length
    latitude = 90 - math.degrees(math.atan2(math.sqrt(x * x + y * y), z))
    return shown_shape(type(shape.geoms[0])(math.degrees(math.atan2(y, x)), latitude))


def _cartesian(point: _Point) -> tuple[float, float, float]:
    phi, theta = math.radians(90 - point[1]), math.radians(point[0])
    flat = EARTH_KM * math.sin(phi)
    return flat * math.cos(theta), flat * math.sin(theta), EARTH_KM * math.cos(phi)


def _by_type(planar: Callable[..., object], spherical: Callable[..., object]) -> Function:
    def call(signature: Signature, *arguments: object) -> object:
        return (spherical if signature.arguments[0].base == "sphericalgeography" else planar)(*arguments)

    return Function(call, typed=True)


_ON_A_SPHERE: dict[str, Callable[..., object]] = {
    "st_distance": _distance,
    "st_length": _length,
    "st_area": _area,
    "st_centroid": _centroid,
}
SPHERICAL: Table = {
    **{name: _by_type(GEOMETRY[name].call, spherical) for name, spherical in _ON_A_SPHERE.items()},
    **plain(to_spherical_geography=_geography, to_geometry=lambda text: text),
}
