# ruff: noqa: E501
# A table: one case beside the other reads better than one below the other.
"""Geometries, from the examples of Presto's documentation and TestGeoFunctions; areas and lengths by hand."""

from __future__ import annotations

from typing import Any

_SQUARE = "ST_GeometryFromText('POLYGON ((0 0, 0 2, 2 2, 2 0, 0 0))')"
_HOLED = "ST_GeometryFromText('POLYGON ((0 0, 0 3, 3 3, 3 0, 0 0), (1 1, 1 2, 2 2, 2 1, 1 1))')"
_LINE = "ST_LineFromText('LINESTRING (0 0, 3 4)')"
_OTHER = "ST_GeometryFromText('POLYGON ((1 1, 1 3, 3 3, 3 1, 1 1))')"
_FAR = "ST_GeometryFromText('POINT (9 9)')"
GEOMETRY: tuple[tuple[str, Any], ...] = (
    ("ST_AsText(ST_Point(1, 2))", "POINT (1 2)"), ("ST_Point(1.5e0, 2)", "POINT (1.5 2)"), ("ST_X(ST_Point(1, 2))", 1.0), ("ST_Y(ST_Point(1, 2))", 2.0), (f"ST_Area({_SQUARE})", 4.0), (f"ST_Length({_LINE})", 5.0), (f"ST_AsText(ST_Centroid({_SQUARE}))", "POINT (1 1)"),
    (f"ST_Contains({_SQUARE}, ST_Point(1, 1))", True), (f"ST_Contains({_SQUARE}, {_FAR})", False), (f"ST_Within(ST_Point(1, 1), {_SQUARE})", True), (f"ST_Intersects({_SQUARE}, {_OTHER})", True), (f"ST_Disjoint({_SQUARE}, {_FAR})", True), (f"ST_Overlaps({_SQUARE}, {_OTHER})", True), (f"ST_Touches({_SQUARE}, ST_Point(0, 1))", True), (f"ST_Crosses({_LINE}, {_SQUARE})", True), (f"ST_Equals({_SQUARE}, {_SQUARE})", True),
    (f"ST_Area(ST_Intersection({_SQUARE}, {_OTHER}))", 1.0), (f"ST_Area(ST_Union({_SQUARE}, {_OTHER}))", 7.0), (f"ST_Area(ST_Difference({_SQUARE}, {_OTHER}))", 3.0), (f"ST_Area(ST_SymDifference({_SQUARE}, {_OTHER}))", 6.0), (f"ST_Distance({_SQUARE}, ST_Point(5, 2))", 3.0), (f"ST_Relate({_LINE}, {_LINE}, '1*F**FFF*')", True), (f"round(ST_Area(ST_Buffer({_FAR}, 1)), 1)", 3.1),
    (f"ST_XMin({_LINE})", 0.0), (f"ST_XMax({_LINE})", 3.0), (f"ST_YMin({_LINE})", 0.0), (f"ST_YMax({_LINE})", 4.0), (f"ST_NumPoints({_SQUARE})", 4), (f"ST_NumPoints({_LINE})", 2), ("ST_NumGeometries(ST_GeometryFromText('MULTIPOINT (1 2, 3 4)'))", 2), ("ST_AsText(ST_GeometryN(ST_GeometryFromText('MULTIPOINT (1 2, 3 4)'), 2))", "POINT (3 4)"),
    ("cardinality(ST_Geometries(ST_GeometryFromText('MULTIPOINT (1 2, 3 4)')))", 2), (f"ST_GeometryType({_SQUARE})", "ST_Polygon"), (f"ST_Dimension({_SQUARE})", 2), (f"ST_CoordDim({_SQUARE})", 2), (f"ST_IsClosed({_LINE})", False), ("ST_IsRing(ST_LineFromText('LINESTRING (0 0, 1 1, 0 1, 0 0)'))", True), (f"ST_IsSimple({_LINE})", True), (f"ST_IsValid({_SQUARE})", True), ("ST_IsEmpty(ST_GeometryFromText('POINT EMPTY'))", True),
    (f"ST_AsText(ST_StartPoint({_LINE}))", "POINT (0 0)"), (f"ST_AsText(ST_EndPoint({_LINE}))", "POINT (3 4)"), (f"ST_AsText(ST_PointN({_LINE}, 2))", "POINT (3 4)"), (f"cardinality(ST_Points({_LINE}))", 2), (f"ST_NumInteriorRing({_HOLED})", 1), (f"cardinality(ST_InteriorRings({_HOLED}))", 1), (f"ST_Length(ST_InteriorRingN({_HOLED}, 1))", 4.0), (f"ST_Length(ST_ExteriorRing({_HOLED}))", 12.0), (f"ST_Length(ST_Boundary({_SQUARE}))", 8.0),
    (f"ST_Area(ST_Envelope({_LINE}))", 12.0), (f"ST_AsText(ST_EnvelopeAsPts({_LINE})[2])", "POINT (3 4)"), (f"ST_Area(ST_ConvexHull({_HOLED}))", 9.0), (f"ST_Area(expand_envelope({_SQUARE}, 1e0))", 16.0), ("ST_AsText(ST_LineString(ARRAY[ST_Point(1, 2), ST_Point(3, 4)]))", "LINESTRING (1 2, 3 4)"), ("ST_NumGeometries(ST_MultiPoint(ARRAY[ST_Point(1, 2), ST_Point(3, 4)]))", 2), ("ST_Area(ST_Polygon('POLYGON ((0 0, 0 1, 1 1, 1 0, 0 0))'))", 1.0),
    (f"ST_AsText(ST_GeomFromBinary(ST_AsBinary({_FAR})))", "POINT (9 9)"), ("round(great_circle_distance(36.12, -86.67, 33.94, -118.40), 3)", 2886.449), (f"line_locate_point({_LINE}, ST_Point(3, 4))", 1.0), (f"ST_AsText(line_interpolate_point({_LINE}, 0.5e0))", "POINT (1.5 2)"), (f"ST_Area(geometry_union(ARRAY[{_SQUARE}, {_OTHER}]))", 7.0), (f"ST_NumPoints(simplify_geometry({_LINE}, 1e0))", 2),
    ("ST_AsText(geometry_from_geojson('{\"type\": \"Point\", \"coordinates\": [1, 2]}'))", "POINT (1 2)"), (f"json_extract_scalar(geometry_as_geojson({_FAR}), '$.type')", "Point"), (f"geometry_invalid_reason({_SQUARE})", None), (f"ST_AsText(geometry_nearest_points({_SQUARE}, ST_Point(5, 2))[1])", "POINT (2 2)"), ("cardinality(flatten_geometry_collections(ST_GeometryFromText('GEOMETRYCOLLECTION (POINT (1 2), POINT (3 4))')))", 2),
    ("bing_tile_zoom_level(bing_tile('213'))", 3), ("ST_AsText(ST_Centroid(bing_tile_polygon(bing_tile('123030123010121'))))", "POINT (60.0018310546875 30.12137297352197)"), ("array_sort(transform(bing_tile_children(bing_tile('0')), t -> bing_tile_quadkey(t)))", ["00", "01", "02", "03"]),
    ("bing_tile_quadkey(bing_tile(3, 5, 3))", "213"), ("bing_tile_coordinates(bing_tile('213')).y", 5), ("bing_tile_quadkey(bing_tile_at(30.12e0, 60e0, 15))", "123030123010121"), ("cardinality(bing_tiles_around(30.12e0, 60e0, 15))", 9), ("bing_tile_quadkey(bing_tile_parent(bing_tile('213')))", "21"),
    ("cardinality(geometry_to_bing_tiles(ST_Envelope(ST_GeometryFromText('LINESTRING (0 0, 80 80)')), 5))", 112), ("google_polyline_encode(ARRAY[ST_Point(38.5e0, -120.2e0)])", "_p~iF~ps|U"), ("ST_AsText(google_polyline_decode('_p~iF~ps|U')[1])", "POINT (38.5 -120.2)"),
    ("round(ST_Distance(to_spherical_geography(ST_Point(-86.67, 36.12)), to_spherical_geography(ST_Point(-118.40, 33.94))), 6)", 2886448.973437), ("round(ST_Area(to_spherical_geography(ST_GeometryFromText('POLYGON ((-135 85, -45 85, 45 85, 135 85, -135 85))'))) / 1e9)", 619.0), ("round(ST_Length(to_spherical_geography(ST_GeometryFromText('LINESTRING (0 0, 0 1, 0 3)'))) / (6371010 * radians(3)), 9)", 1.0), ("ST_AsText(ST_Centroid(to_spherical_geography(ST_GeometryFromText('MULTIPOINT (0 5, 0 10, 0 15)'))))", "POINT (0 10)"),
    ("round(ST_Area(to_spherical_geography(ST_GeometryFromText('POLYGON ((-122.150124 37.486095, -122.149201 37.486606, -122.145725 37.486580, -122.145923 37.483961, -122.149324 37.482480, -122.150837 37.483238, -122.150901 37.485392, -122.150124 37.486095))'))), 4)", 163290.9394), ("ST_Area(to_geometry(to_spherical_geography(ST_GeometryFromText('POLYGON ((0 0, 0 1, 1 1, 1 0, 0 0))'))))", 1.0), ("ST_Distance(to_spherical_geography(ST_GeometryFromText('POINT EMPTY')), to_spherical_geography(ST_Point(1, 2)))", None),
    ("array_sort(transform(geometry_to_dissolved_bing_tiles(ST_GeometryFromText('POINT (60 30.12)'), 10), x -> bing_tile_quadkey(x)))", ["1230301230"]),
    ("array_sort(transform(geometry_to_dissolved_bing_tiles(ST_GeometryFromText('POINT EMPTY'), 10), x -> bing_tile_quadkey(x)))", []),
    ("array_sort(transform(geometry_to_dissolved_bing_tiles(ST_GeometryFromText('POLYGON ((0 0, 0 10, 10 10, 10 0, 0 0))'), 6), x -> bing_tile_quadkey(x)))", ["12222", "300000", "300001"]),
    ("array_sort(transform(geometry_to_dissolved_bing_tiles(ST_GeometryFromText('POLYGON ((10 10, -10 10, -20 -15, 10 10))'), 6), x -> bing_tile_quadkey(x)))", ["033321", "033323", "03333", "122220", "122221", "122222", "211101", "211102", "211103", "211110", "211111", "211112", "211120", "211121"]),
    ("array_sort(transform(geometry_to_dissolved_bing_tiles(ST_GeometryFromText('GEOMETRYCOLLECTION (POINT (0.1 0.1), POINT(0.1 -0.1), POINT(-0.1 -0.1), POINT(-0.1 0.1))'), 3), x -> bing_tile_quadkey(x)))", ["033", "122", "211", "300"]),
)  # fmt: skip
GEOMETRY_AGGREGATES: tuple[tuple[str, Any], ...] = (
    ("ST_NumPoints(geometry_union_agg(ST_Point(x, x)))", 4), ("ST_AsText(convex_hull_agg(ST_Point(x, v)) FILTER (WHERE k = 'a'))", "LINESTRING (1 1, 2 3)"),
)  # fmt: skip
