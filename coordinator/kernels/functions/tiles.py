"""Bing tiles, and Google's encoded polylines.

A tile is a number as in Presto's BingTile: x from bit 32 on, zoom from bit 26 on, y below. Source of the arithmetic:
Microsoft's "Bing Maps Tile System", and Google's "Encoded Polyline Algorithm Format".
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from .failures import check, invalid
from .geometry import great_circle, read_shape
from .table import Table, plain

_X, _ZOOM = 32, 26
_MOST_BITS = 64
"""Of a number in a polyline."""
_MOST_ZOOM, _PIXELS = 23, 256
_LATITUDE, _LONGITUDE = 85.05112878, 180.0
_MOST_TILES = 1_000_000
_MOST_KM = 1000
_TOO_MANY = (
    "The zoom level is too high or the geometry is too large to compute a set of covering Bing tiles. "
    "Please use a lower zoom level, or tile only a section of the geometry."
)


def _tile(x: int, y: int, zoom: int) -> int:
    return x << _X | zoom << _ZOOM | y


def parts(tile: int) -> tuple[int, int, int]:
    """``x``, ``y`` and the zoom."""
    return tile >> _X, tile & (1 << _ZOOM) - 1, tile >> _ZOOM & 0x1F


def _check_zoom(zoom: int) -> None:
    check(zoom >= 0, "Zoom level must be >= 0")
    check(zoom <= _MOST_ZOOM, f"Zoom level must be <= {_MOST_ZOOM}")


def _made(first: Any, y: int | None = None, zoom: int | None = None) -> int:
    if y is None or zoom is None:
        return _from_quadkey(first)
    _check_zoom(zoom)
    side = 1 << zoom
    inside = 0 <= first < side and 0 <= y < side
    check(inside, f"XY coordinates for a Bing tile at zoom level {zoom} must be within [0, {side}) range")
    return _tile(first, y, zoom)


def _from_quadkey(key: str) -> int:
    check(len(key) <= _MOST_ZOOM, f"QuadKey must be {_MOST_ZOOM} characters or less")
    x = y = 0
    for digit in key:
        if digit not in "0123":
            raise invalid(f"Invalid QuadKey digit sequence: {key}")
        x, y = x << 1 | int(digit) & 1, y << 1 | int(digit) >> 1
    return _tile(x, y, len(key))


def _quadkey(tile: int) -> str:
    x, y, zoom = parts(tile)
    return "".join(str((x >> bit & 1) | (y >> bit & 1) << 1) for bit in reversed(range(zoom)))


def _check_place(latitude: float, longitude: float) -> None:
    check(-_LATITUDE <= latitude <= _LATITUDE, f"Latitude must be between -{_LATITUDE} and {_LATITUDE}")
    check(-_LONGITUDE <= longitude <= _LONGITUDE, f"Longitude must be between -{_LONGITUDE} and {_LONGITUDE}")


def _column(longitude: float, zoom: int) -> int:
    return _pixel((longitude + 180) / 360, zoom)


def _row(latitude: float, zoom: int) -> int:
    sine = math.sin(math.radians(latitude))
    return _pixel(0.5 - math.log((1 + sine) / (1 - sine)) / (4 * math.pi), zoom)


def _pixel(share: float, zoom: int) -> int:
    size = _PIXELS << zoom
    return int(min(max(share * size, 0), size - 1) / _PIXELS)


def _at(latitude: float, longitude: float, zoom: int) -> int:
    _check_place(latitude, longitude)
    _check_zoom(zoom)
    return _tile(_column(longitude, zoom), _row(latitude, zoom), zoom)


def _corner(x: int, y: int, zoom: int) -> tuple[float, float]:
    """Longitude and latitude of the upper left corner."""
    side = 1 << zoom
    share = 0.5 - y / side
    return 360 * (x / side - 0.5), 90 - 360 * math.atan(math.exp(-share * 2 * math.pi)) / math.pi


def _polygon(tile: int) -> str | None:
    x, y, zoom = parts(tile)
    (left, top), (right, bottom) = _corner(x, y, zoom), _corner(x + 1, y + 1, zoom)
    ring = [(left, bottom), (left, top), (right, top), (right, bottom), (left, bottom)]
    return f"POLYGON (({', '.join(f'{_number(a)} {_number(b)}' for a, b in ring)}))"


def _number(value: float) -> str:
    return repr(int(value)) if value.is_integer() else repr(value)


def _parent(tile: int, zoom: int | None = None) -> int:
    x, y, own = parts(tile)
    wanted = own - 1 if zoom is None else zoom
    check(wanted >= 0, "newZoom must be greater than or equal to 0" if zoom is not None else "Tile is at zoom 0")
    check(wanted <= own, f"newZoom must be less than or equal to current zoom {own}: {wanted}")
    return _tile(x >> own - wanted, y >> own - wanted, wanted)


def _children(tile: int, zoom: int | None = None) -> tuple[int, ...]:
    x, y, own = parts(tile)
    wanted = own + 1 if zoom is None else zoom
    check(wanted >= own, f"newZoom must be greater than or equal to current zoom {own}: {wanted}")
    check(wanted <= _MOST_ZOOM, f"newZoom must be less than or equal to {_MOST_ZOOM}: {wanted}")
    deeper = wanted - own
    check(1 << 2 * deeper <= _MOST_TILES, "Too many children")
    spread = range(1 << deeper)
    return tuple(_tile((x << deeper) + dx, (y << deeper) + dy, wanted) for dy in spread for dx in spread)


def _around(latitude: float, longitude: float, zoom: int, radius: float | None = None) -> tuple[int, ...]:
    _check_place(latitude, longitude)
    _check_zoom(zoom)
    if radius is not None:
        return tuple(_within(latitude, longitude, zoom, radius))
    x, y, side = _column(longitude, zoom), _row(latitude, zoom), 1 << zoom
    columns = range(max(0, x - 1), min(side, x + 2))
    return tuple(_tile(a, b, zoom) for a in columns for b in range(max(0, y - 1), min(side, y + 2)))


def _within(latitude: float, longitude: float, zoom: int, radius: float) -> Iterator[int]:
    """Tiles of the rectangle around a circle but for those at its corners that the circle does not reach."""
    check(radius >= 0, "Radius must be >= 0")
    check(radius <= _MOST_KM, "Radius must be <= 1,000 km")
    angle = math.degrees(radius / 6371.01)
    top = _row(min(latitude + angle, _LATITUDE), zoom)
    bottom = _row(max(latitude - angle, -_LATITUDE), zoom)
    wide = math.degrees(math.asin(min(1.0, math.sin(math.radians(angle)) / math.cos(math.radians(latitude)))))
    side = 1 << zoom
    left, right = (_column((longitude + d + 540) % 360 - 180, zoom) for d in (-wide, wide))
    columns = (right - left) % side + 1
    count = columns * (bottom - top + 1)
    limit = "The number of tiles covering input rectangle exceeds the limit of 1M."
    check(count <= _MOST_TILES, f"{limit} Number of tiles: {count}. Radius: {radius:.1f} km. Zoom level: {zoom}.")
    centre_x, centre_y = _column(longitude, zoom), _row(latitude, zoom)
    for offset in range(columns):
        x = (left + offset) % side
        west = offset < (centre_x - left) % side
        for y in range(top, bottom + 1):
            if x != centre_x and y != centre_y:
                nearest = _corner(x + 1 if west else x, y + 1 if y < centre_y else y, zoom)
                if great_circle(nearest[1], nearest[0], latitude, longitude) > radius:
                    continue
            yield _tile(x, y, zoom)


def _covering(text: str, zoom: int) -> tuple[int, ...]:
    """Tiles that a geometry lies on: by its bounds, and for other than points and rectangles by what it meets."""
    _check_zoom(zoom)
    shape = read_shape(text)
    if shape.is_empty:
        return ()
    left, low, right, high = shape.bounds
    check(left >= -180 and right <= 180, "Longitude span for the geometry must be in [-180.00, 180.00] range")
    check(low >= -_LATITUDE and high <= _LATITUDE, "Latitude span for the geometry must be in [-85.05, 85.05] range")
    columns = range(_column(left, zoom), _column(right, zoom) + 1)
    rows = range(_row(high, zoom), _row(low, zoom) + 1)
    if shape.geom_type == "Point" or shape.equals(shape.envelope):
        check(len(columns) * len(rows) <= _MOST_TILES, _TOO_MANY)
        return tuple(_tile(x, y, zoom) for x in columns for y in rows)
    found: list[int] = []
    for x, y, at in _met(shape, 0, 0, 0, zoom, (columns, rows)):
        check(len(found) + (1 << 2 * (zoom - at)) <= _MOST_TILES, _TOO_MANY)
        found += _children(_tile(x, y, at), zoom)
    return tuple(found)


def _dissolved(text: str, zoom: int) -> tuple[int, ...]:
    """The same with four tiles of one parent as that parent; the deepest first."""
    made, left = [], {parts(tile)[:2] for tile in _covering(text, zoom)}
    for depth in range(zoom, -1, -1):
        families: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for x, y in left:
            families.setdefault((x >> 1, y >> 1), []).append((x, y))
        whole = {parent for parent, tiles in families.items() if len(tiles) == 4 and depth}
        alone = [_tile(x, y, depth) for parent, tiles in families.items() if parent not in whole for x, y in tiles]
        made += sorted(alone, key=_quadkey)
        left = whole
    return tuple(made)


def _met(
    shape: Any, x: int, y: int, zoom: int, wanted: int, bounds: tuple[range, range]
) -> Iterator[tuple[int, int, int]]:
    """Tiles up to the wanted zoom that the shape meets, or that lie inside it; ``bounds`` are at the wanted zoom."""
    deeper = wanted - zoom
    for own, span in zip((x, y), bounds, strict=True):
        if (own + 1 << deeper) <= span.start or own << deeper >= span.stop:
            return
    place = read_shape(str(_polygon(_tile(x, y, zoom))))
    if not shape.intersects(place):
        return
    if zoom == wanted or shape.contains(place):
        yield x, y, zoom
        return
    for dx in (0, 1):
        for dy in (0, 1):
            yield from _met(shape, 2 * x + dx, 2 * y + dy, zoom + 1, wanted, bounds)


def _check_precision(precision: int) -> float:
    check(precision >= 1, "Polyline precision must be greater or equal to 1")
    return 10.0**precision


def _decoded(text: str, precision: int = 5) -> tuple[str, ...]:
    scale = _check_precision(precision)
    numbers: list[int] = []
    value = shift = 0
    for character in text:
        chunk = ord(character) - 63
        check(0 <= chunk < 64 and shift < _MOST_BITS, "Input is not a valid Google polyline string")
        value |= (chunk & 0x1F) << shift
        shift += 5
        if chunk < 0x20:
            numbers.append(~(value >> 1) if value & 1 else value >> 1)
            value = shift = 0
    check(shift == 0 and len(numbers) % 2 == 0, "Input is not a valid Google polyline string")
    points, a, b = [], 0, 0
    for first, second in zip(numbers[::2], numbers[1::2], strict=True):
        a, b = a + first, b + second
        points.append(f"POINT ({_number(a / scale)} {_number(b / scale)})")
    return tuple(points)


def _encoded(points: tuple[str | None, ...], precision: int = 5) -> str:
    scale = _check_precision(precision)
    written: list[str] = []
    before = (0, 0)
    for text in points:
        shape = None if text is None else read_shape(text)
        check(shape is not None and shape.geom_type == "Point", "Polylines are made of points")
        now = tuple(math.floor(c * scale + 0.5) for c in shape.coords[0][:2])  # type: ignore[union-attr]
        written += (_chunks(new - old) for new, old in zip(now, before, strict=True))
        before = now
    return "".join(written)


def _chunks(change: int) -> str:
    value = ~(change << 1) if change < 0 else change << 1
    found = ""
    while value >= 0x20:
        found += chr((0x20 | value & 0x1F) + 63)
        value >>= 5
    return found + chr(value + 63)


TILES: Table = plain(
    bing_tile=_made, bing_tile_at=_at, bing_tile_quadkey=_quadkey, bing_tile_polygon=_polygon,
    bing_tile_zoom_level=lambda t: parts(t)[2], bing_tile_coordinates=lambda t: parts(t)[:2],
    bing_tile_parent=_parent, bing_tile_children=_children, bing_tiles_around=_around,
    geometry_to_bing_tiles=_covering, geometry_to_dissolved_bing_tiles=_dissolved,
    google_polyline_decode=_decoded, google_polyline_encode=_encoded,
)  # fmt: skip
