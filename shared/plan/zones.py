"""Presto's time zone keys, the low 12 bits of a zoned value.

0 is UTC, 1..1680 are the offsets -14:00..+14:00 in minutes (without zero), regions follow. The wire numbers of regions
are fixed for ever; this table holds the ones in common use. Source: Presto ``zone-index.properties``.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

_REGIONS: dict[int, str] = {
    1694: "Africa/Cairo",
    1695: "Africa/Casablanca",
    1706: "Africa/Johannesburg",
    1712: "Africa/Lagos",
    1724: "Africa/Nairobi",
    1736: "America/Anchorage",
    1740: "America/Argentina/Buenos_Aires",
    1764: "America/Bogota",
    1770: "America/Caracas",
    1774: "America/Chicago",
    1784: "America/Denver",
    1785: "America/Detroit",
    1787: "America/Edmonton",
    1802: "America/Halifax",
    1824: "America/Lima",
    1825: "America/Los_Angeles",
    1839: "America/Mexico_City",
    1847: "America/New_York",
    1858: "America/Phoenix",
    1873: "America/Santiago",
    1875: "America/Sao_Paulo",
    1880: "America/St_Johns",
    1890: "America/Toronto",
    1892: "America/Vancouver",
    1911: "Asia/Almaty",
    1918: "Asia/Baghdad",
    1921: "Asia/Bangkok",
    1925: "Asia/Calcutta",
    1929: "Asia/Colombo",
    1932: "Asia/Dhaka",
    1934: "Asia/Dubai",
    1939: "Asia/Ho_Chi_Minh",
    1940: "Asia/Hong_Kong",
    1944: "Asia/Jakarta",
    1946: "Asia/Jerusalem",
    1949: "Asia/Karachi",
    1951: "Asia/Kathmandu",
    1953: "Asia/Kolkata",
    1955: "Asia/Kuala_Lumpur",
    1962: "Asia/Manila",
    1966: "Asia/Novosibirsk",
    1975: "Asia/Riyadh",
    1979: "Asia/Seoul",
    1980: "Asia/Shanghai",
    1981: "Asia/Singapore",
    1982: "Asia/Taipei",
    1983: "Asia/Tashkent",
    1985: "Asia/Tehran",
    1989: "Asia/Tokyo",
    1995: "Asia/Vladivostok",
    1997: "Asia/Yekaterinburg",
    2007: "Atlantic/Reykjavik",
    2012: "Australia/Adelaide",
    2013: "Australia/Brisbane",
    2017: "Australia/Darwin",
    2019: "Australia/Hobart",
    2023: "Australia/Melbourne",
    2026: "Australia/Perth",
    2029: "Australia/Sydney",
    2049: "Europe/Amsterdam",
    2051: "Europe/Athens",
    2053: "Europe/Belgrade",
    2054: "Europe/Berlin",
    2056: "Europe/Brussels",
    2057: "Europe/Bucharest",
    2058: "Europe/Budapest",
    2060: "Europe/Copenhagen",
    2061: "Europe/Dublin",
    2064: "Europe/Helsinki",
    2066: "Europe/Istanbul",
    2069: "Europe/Kiev",
    2070: "Europe/Lisbon",
    2072: "Europe/London",
    2074: "Europe/Madrid",
    2077: "Europe/Minsk",
    2079: "Europe/Moscow",
    2081: "Europe/Oslo",
    2082: "Europe/Paris",
    2084: "Europe/Prague",
    2085: "Europe/Riga",
    2086: "Europe/Rome",
    2092: "Europe/Sofia",
    2093: "Europe/Stockholm",
    2094: "Europe/Tallinn",
    2100: "Europe/Vienna",
    2101: "Europe/Vilnius",
    2103: "Europe/Warsaw",
    2104: "Europe/Zagreb",
    2106: "Europe/Zurich",
    2122: "Pacific/Auckland",
    2129: "Pacific/Fiji",
    2135: "Pacific/Honolulu",
    2163: "US/Alaska",
    2166: "US/Central",
    2168: "US/Eastern",
    2169: "US/Hawaii",
}
_KEYS = {name: key for key, name in _REGIONS.items()}
_UTC_NAMES = frozenset({"UTC", "Etc/UTC", "Z", "GMT", "Etc/GMT", "Zulu", "Etc/Zulu", "UCT", "Etc/UCT", "Universal"})


def zone_key(zone: tzinfo, at: datetime | None) -> int:
    """The key of a region of the table, or of a fixed offset.

    Raises ValueError for any other region, and for an offset with seconds or beyond 14 hours.
    """
    if isinstance(zone, ZoneInfo):
        if zone.key in _UTC_NAMES:
            return 0
        if zone.key not in _KEYS:
            raise ValueError(f"Time zone {zone} has no Presto key here")
        return _KEYS[zone.key]
    offset = zone.utcoffset(at)
    if offset is None or offset % timedelta(minutes=1) or abs(offset) > timedelta(hours=14):
        raise ValueError(f"Time zone {zone} has no Presto key")
    minutes = offset // timedelta(minutes=1)
    if minutes == 0:
        return 0
    return minutes + (841 if minutes < 0 else 840)


def zone_of_key(key: int) -> tzinfo:
    """Inverse of ``zone_key``; raises ValueError for a region that is not in the table."""
    if key == 0:
        return UTC
    if 1 <= key <= 840:
        return timezone(timedelta(minutes=key - 841))
    if 841 <= key <= 1680:
        return timezone(timedelta(minutes=key - 840))
    if key in _REGIONS:
        return ZoneInfo(_REGIONS[key])
    raise ValueError(f"Time zone key {key} names a region that is not known here")
