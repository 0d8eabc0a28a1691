"""Addresses of the internet, and those of a network's inside, also where an IPv6 address carries an IPv4 one."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network

type Address = IPv4Address | IPv6Address

# Carry an IPv4 address in their last four bytes: NAT64, IPv4-compatible and IPv4-translated addresses.
_IPV4_IN_IPV6_NETWORKS = tuple(map(IPv6Network, ("64:ff9b::/96", "::/96", "::ffff:0:0:0/96")))
# Of ISATAP (RFC 5214): the four bytes before the IPv4 address, in a network of any prefix.
_ISATAP_MARKS = frozenset({0x00005EFE, 0x02005EFE})
# Public by their numbers, but served by the cloud to its own machines: Azure's host gives away their credentials.
_CLOUD_HOSTS = frozenset({IPv4Address("168.63.129.16")})


def embedded_address(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address carries and packets are delivered to; else the address."""
    if isinstance(address, IPv4Address) or address.is_loopback:
        return address
    if found := address.ipv4_mapped or address.sixtofour:
        return found
    is_isatap = (int(address) >> 32) & 0xFFFFFFFF in _ISATAP_MARKS
    if is_isatap or any(address in network for network in _IPV4_IN_IPV6_NETWORKS):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def is_public(address: Address) -> bool:
    """Whether an address, and the one that it carries, is one of the internet."""
    # Not what embeds it: 6to4's own addresses count as private. Teredo's do, too, and carry theirs disguised.
    found = embedded_address(address)
    is_site_local = isinstance(found, IPv6Address) and found.is_site_local
    return found.is_global and not found.is_multicast and not is_site_local and found not in _CLOUD_HOSTS
