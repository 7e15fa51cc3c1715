"""Functions of IP addresses and prefixes, which are text between engines and here."""

from __future__ import annotations

import ipaddress
from typing import Any

from ..errors import KernelError
from .casts import canonical_address
from .failures import check, invalid
from .table import Table, plain

_MOST_SUBNETS_BITS = 16


def _network(prefix: str) -> Any:
    return ipaddress.ip_network(prefix, strict=False)


def _prefix(address: str, size: int) -> str:
    try:
        found = ipaddress.ip_address(canonical_address(ipaddress.ip_address(address)))
    except ValueError as error:
        raise KernelError("INVALID_CAST_ARGUMENT", f"Cannot cast value to IPADDRESS: {address}") from error
    if found.version == 4:
        check(0 <= size <= 32, "IPv4 subnet size must be in range [0, 32]")
    else:
        check(0 <= size <= 128, "IPv6 subnet size must be in range [0, 128]")
    return str(_network(f"{found}/{size}"))


def _is_subnet_of(prefix: str, other: str) -> bool:
    inner = _network(other if "/" in other else f"{other}/{32 if '.' in other else 128}")
    outer = _network(prefix)
    return bool(inner.version == outer.version and inner.subnet_of(outer))


def _collapse(prefixes: tuple[str, ...]) -> tuple[str, ...]:
    if None in prefixes:
        raise invalid("ip_prefix_collapse does not support null elements")
    networks = [_network(p) for p in prefixes]
    if len({n.version for n in networks}) > 1:
        raise invalid("All IPPREFIX elements must be the same IP version.")
    return tuple(str(n) for n in ipaddress.collapse_addresses(networks))


def _subnets(prefix: str, size: int) -> tuple[str, ...]:
    network = _network(prefix)
    if not 0 <= size <= network.max_prefixlen:
        raise invalid(f"Invalid prefix length for IPv{network.version}: {size}")
    if size < network.prefixlen:
        return ()
    if size - network.prefixlen > _MOST_SUBNETS_BITS:
        raise invalid(f"result of ip_prefix_subnets must not have more than {1 << _MOST_SUBNETS_BITS} entries")
    return tuple(str(n) for n in network.subnets(new_prefix=size))


# Special-purpose address registries of IANA (RFC 6890), and multicast, as Presto lists them.
_PRIVATE = [
    ipaddress.ip_network(n)
    for n in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "240.0.0.0/4", "::/127", "64:ff9b:1::/48", "100::/64", "2001:2::/48", "2001:db8::/32", "2002::/16", "fc00::/7",
        "fe80::/10",
    )
]  # fmt: skip


def _is_private(address: str) -> bool:
    found = ipaddress.ip_address(address)
    return any(found in network for network in _PRIVATE if network.version == found.version)


NETWORK: Table = plain(
    ip_prefix=_prefix, ip_subnet_min=lambda p: str(_network(p)[0]), ip_subnet_max=lambda p: str(_network(p)[-1]),
    ip_subnet_range=lambda p: (str(_network(p)[0]), str(_network(p)[-1])), is_subnet_of=_is_subnet_of,
    ip_prefix_collapse=_collapse, ip_prefix_subnets=_subnets, is_private_ip=_is_private,
)  # fmt: skip
