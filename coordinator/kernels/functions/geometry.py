"""Geospatial functions by shapely, which executors need. Geometries are text (WKT) between engines and here."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from ..errors import KernelError
from ..kept import kept
from .failures import check, invalid
from .table import Function, Table, plain

EARTH_KM = 6371.01
_DEEPEST = 50
_BRACKETS, _NESTED = re.compile("[()]"), re.compile(r"[\[\]{}]")


@lru_cache(maxsize=1)
def _shapely() -> Any:
    try:
        import shapely
        import shapely.ops
    except ImportError as error:
        raise KernelError("NOT_SUPPORTED", "Geometry functions need the Python package shapely on executors") from error
    return shapely


@kept(512, longest=100_000)
def read_shape(text: str) -> Any:
    """The geometry of a WKT."""
    _check_nesting(_BRACKETS.findall(text), "(", "Geometry")
    try:
        return _shapely().from_wkt(text)
    except (_shapely().errors.ShapelyError, UnicodeDecodeError) as error:  # its message is cut anywhere
        raise invalid(f"Invalid WKT: {text}") from error


def _check_nesting(brackets: Iterable[str], opening: str, what: str) -> None:
    """What reads and writes collections in collections calls itself for each."""
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in opening else -1
        check(depth <= _DEEPEST, f"{what} is nested too deeply (at most {_DEEPEST})")


def shown_shape(shape: object) -> str | None:
    return None if shape is None else str(_shapely().to_wkt(shape, rounding_precision=-1, trim=True))


def _typed(text: str, kind: str, function: str) -> Any:
    shape = read_shape(text)
    if shape.geom_type != kind:
        raise invalid(f"{function} only applies to {upper_words(kind)}. Input type is: {upper_words(shape.geom_type)}")
    return shape


def upper_words(kind: str) -> str:
    """``LINE_STRING``."""
    return "".join(("_" if i and c.isupper() else "") + c.upper() for i, c in enumerate(kind))


def _kind(shape: Any) -> str:
    kinds = {"LinearRing": "LineString", "GeometryCollection": "GeomCollection"}
    return f"ST_{kinds.get(shape.geom_type, shape.geom_type)}"


def _all(shapes: list[object]) -> tuple[object, ...] | None:
    """NULL for a geometry without any."""
    return tuple(map(shown_shape, shapes)) or None


def _unary(measure: Callable[[Any], object]) -> Callable[[str], object]:
    return lambda text: measure(read_shape(text))


def _made(build: Callable[[Any], object]) -> Callable[[str], str | None]:
    def call(text: str) -> str | None:
        return shown_shape(build(read_shape(text)))

    return call


def _relation(name: str) -> Callable[[str, str], bool]:
    return lambda a, b: bool(getattr(read_shape(a), name)(read_shape(b)))


def _joined(name: str) -> Callable[[str, str], str | None]:
    return lambda a, b: shown_shape(getattr(read_shape(a), name)(read_shape(b)))


def _from_text(text: str, kind: str | None = None) -> str | None:
    shape = read_shape(text)
    if kind is not None and shape.geom_type != kind:
        raise invalid(f"Invalid geometry type for {kind}: {text}")
    return shown_shape(shape)


def _coordinate(index: int) -> Callable[[str], float | None]:
    def read(text: str) -> float | None:
        shape = _typed(text, "Point", "ST_X" if index == 0 else "ST_Y")
        return None if shape.is_empty else float((shape.x, shape.y)[index])

    return read


def _bound(index: int) -> Callable[[str], float | None]:
    def read(text: str) -> float | None:
        shape = read_shape(text)
        return None if shape.is_empty else float(shape.bounds[index])

    return read


def _points(shape: object) -> list[Any]:
    return [_shapely().Point(c) for c in _shapely().get_coordinates(shape)]


def _nth(shapes: Iterable[object], index: int) -> str | None:
    found = list(shapes)
    return shown_shape(found[index - 1]) if 1 <= index <= len(found) else None


def _parts(shape: Any) -> list[object]:
    return list(shape.geoms) if hasattr(shape, "geoms") else ([] if shape.is_empty else [shape])


def _count(shape: object) -> int:
    return len(_shapely().get_coordinates(shape)) - sum(
        1 + len(p.interiors) for p in _flat(shape) if p.geom_type == "Polygon" and not p.is_empty
    )


def _flat(shape: object) -> list[Any]:
    return [x for p in shape.geoms for x in _flat(p)] if hasattr(shape, "geoms") else [shape]


def _line(points: tuple[str, ...]) -> str | None:
    coordinates = [_typed(p, "Point", "ST_LineString").coords[0] for p in points]
    return "LINESTRING EMPTY" if len(coordinates) < 2 else shown_shape(_shapely().LineString(coordinates))


def _multipoint(points: tuple[str, ...]) -> str | None:
    return shown_shape(_shapely().MultiPoint([read_shape(p) for p in points])) if points else None


def _exterior(text: str) -> str | None:
    shape = _typed(text, "Polygon", "ST_ExteriorRing")
    return None if shape.is_empty else shown_shape(_shapely().LineString(shape.exterior))


def _interiors(text: str) -> tuple[str | None, ...]:
    return tuple(shown_shape(_shapely().LineString(r)) for r in _typed(text, "Polygon", "ST_InteriorRings").interiors)


def _interior(text: str, index: int) -> str | None:
    rings = _interiors(text)
    return rings[index - 1] if 1 <= index <= len(rings) else None


def _envelope(shape: Any) -> Any:
    return _shapely().Polygon() if shape.is_empty else _shapely().box(*shape.bounds, ccw=False)


def _corners(text: str) -> tuple[str | None, ...] | None:
    shape = read_shape(text)
    if shape.is_empty:
        return None
    low_x, low_y, high_x, high_y = shape.bounds
    point = _shapely().Point
    return shown_shape(point(low_x, low_y)), shown_shape(point(high_x, high_y))


def _expand(text: str, distance: float) -> str | None:
    shape = read_shape(text)
    check(distance >= 0, f"expand_envelope: distance {distance} is negative")
    if shape.is_empty:
        return "POLYGON EMPTY"
    a, b, c, d = shape.bounds
    return shown_shape(_shapely().box(a - distance, b - distance, c + distance, d + distance, ccw=False))


def great_circle(a_lat: float, a_lon: float, b_lat: float, b_lon: float) -> float:
    for latitude in (a_lat, b_lat):
        check(-90 <= latitude <= 90, "Latitude must be between -90 and 90")
    for longitude in (a_lon, b_lon):
        check(-180 <= longitude <= 180, "Longitude must be between -180 and 180")
    p, q, gap = math.radians(a_lat), math.radians(b_lat), math.radians(a_lon) - math.radians(b_lon)
    t1 = math.cos(q) * math.sin(gap)
    t2 = math.cos(p) * math.sin(q) - math.sin(p) * math.cos(q) * math.cos(gap)
    t3 = math.sin(p) * math.sin(q) + math.cos(p) * math.cos(q) * math.cos(gap)
    return math.atan2(math.sqrt(t1 * t1 + t2 * t2), t3) * EARTH_KM


def _locate(line: str, point: str) -> float | None:
    shape, other = read_shape(line), read_shape(point)
    return None if shape.is_empty or other.is_empty else float(shape.project(other, normalized=True))


def _interpolate(line: str, share: float) -> str | None:
    check(0 <= share <= 1, "fraction must be between 0 and 1")
    shape = read_shape(line)
    return None if shape.is_empty else shown_shape(shape.interpolate(share, normalized=True))


def _union(shapes: tuple[str | None, ...]) -> str | None:
    return shown_shape(_shapely().union_all([read_shape(s) for s in shapes if s is not None]))


def _nearest(a: str, b: str) -> tuple[str | None, ...] | None:
    first, second = read_shape(a), read_shape(b)
    if first.is_empty or second.is_empty:
        return None
    return tuple(shown_shape(p) for p in _shapely().ops.nearest_points(first, second))


def _reason(text: str) -> str | None:
    shape = read_shape(text)
    return (
        None
        if shape.is_valid and (shape.geom_type == "Point" or shape.is_simple)
        else str(_shapely().is_valid_reason(shape))
    )


def _distance(a: str, b: str) -> float | None:
    first, second = read_shape(a), read_shape(b)
    return None if first.is_empty or second.is_empty else float(first.distance(second))


def _geojson(text: str) -> str | None:
    return json.dumps(json.loads(_shapely().to_geojson(read_shape(text))), separators=(",", ":"))


def _from_geojson(text: str) -> str | None:
    _check_nesting(_NESTED.findall(text), "[{", "GeoJSON")
    try:
        return shown_shape(_shapely().from_geojson(text))
    except (_shapely().errors.ShapelyError, UnicodeDecodeError) as error:
        raise invalid(f"Invalid GeoJSON: {text}") from error


def shape_of_binary(data: bytes) -> str | None:
    """The WKT of well-known binary."""
    try:
        return shown_shape(_shapely().from_wkb(data))
    except _shapely().errors.ShapelyError as error:
        raise invalid(f"Invalid WKB: {error}") from error


_RELATIONS = ("contains", "crosses", "disjoint", "equals", "intersects", "overlaps", "touches", "within")
_RESULTS = {"difference": "difference", "intersection": "intersection", "symdifference": "symmetric_difference",
            "union": "union"}  # fmt: skip
GEOMETRY: Table = {
    **{f"st_{n}": Function(_relation(n)) for n in _RELATIONS},
    **{f"st_{n}": Function(_joined(f)) for n, f in _RESULTS.items()},
    **{f"st_{n}": Function(_bound(i)) for i, n in enumerate(("xmin", "ymin", "xmax", "ymax"))},
    **plain(
        st_geometryfromtext=_from_text, st_linefromtext=lambda t: _from_text(t, "LineString"),
        st_polygon=lambda t: _from_text(t, "Polygon"), st_geomfrombinary=shape_of_binary,
        st_point=lambda x, y: shown_shape(_shapely().Point(x, y)), st_astext=lambda t: t,
        st_asbinary=lambda t: _shapely().to_wkb(read_shape(t)), st_x=_coordinate(0), st_y=_coordinate(1),
        st_area=_unary(lambda s: float(s.area)), st_length=_unary(lambda s: float(s.length)),
        st_boundary=_made(lambda s: s.boundary), st_centroid=_made(lambda s: s.centroid),
        st_convexhull=_made(lambda s: s.convex_hull), st_envelope=_made(_envelope), st_envelopeaspts=_corners,
        st_coorddim=_unary(lambda s: 3 if s.has_z else 2),
        st_dimension=_unary(lambda s: int(_shapely().get_dimensions(s))), st_distance=_distance,
        st_geometrytype=_unary(_kind), st_isclosed=_unary(lambda s: bool(s.is_closed)),
        st_isempty=_unary(lambda s: bool(s.is_empty)), st_isring=_unary(lambda s: bool(s.is_closed and s.is_simple)),
        st_issimple=_unary(lambda s: bool(s.is_simple)), st_isvalid=_unary(lambda s: bool(s.is_valid)),
        st_buffer=lambda t, d: shown_shape(read_shape(t).buffer(d)), st_numpoints=_unary(_count),
        st_numgeometries=_unary(lambda s: len(_parts(s))), st_geometries=_unary(lambda s: _all(_parts(s))),
        st_geometryn=lambda t, n: _nth(_parts(read_shape(t)), n), st_points=_unary(lambda s: _all(_points(s))),
        st_pointn=lambda t, n: _nth(_points(_typed(t, "LineString", "ST_PointN")), n),
        st_startpoint=lambda t: _nth(_points(_typed(t, "LineString", "ST_StartPoint")), 1),
        st_endpoint=lambda t: _nth(_points(_typed(t, "LineString", "ST_EndPoint"))[-1:], 1),
        st_exteriorring=_exterior, st_interiorrings=_interiors, st_interiorringn=_interior,
        st_numinteriorring=lambda t: len(_interiors(t)), st_linestring=_line, st_multipoint=_multipoint,
        st_relate=lambda a, b, pattern: bool(read_shape(a).relate_pattern(read_shape(b), pattern)),
        simplify_geometry=lambda t, d: shown_shape(read_shape(t).simplify(d)), expand_envelope=_expand,
        great_circle_distance=great_circle, line_locate_point=_locate, line_interpolate_point=_interpolate,
        geometry_union=_union, geometry_nearest_points=_nearest, geometry_invalid_reason=_reason,
        geometry_as_geojson=_geojson, geometry_from_geojson=_from_geojson,
        flatten_geometry_collections=lambda t: tuple(map(shown_shape, _flat(read_shape(t)))),
    ),
}  # fmt: skip
