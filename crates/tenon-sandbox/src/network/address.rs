//! Which addresses are part of the public internet.
//!
//! Pure. Everything else (this machine, its neighbours, a cloud's metadata, a private network) is
//! refused after a name was resolved, whatever the name's owner put into the answer. The ranges
//! are those of IANA's special-purpose address registries (RFC 6890 and its updates) that are not
//! reachable from everywhere, but for those of documentation (RFC 5737, RFC 3849, RFC 9637): nobody
//! has one, so nothing near us is behind it, and a network that leads public names elsewhere uses
//! them to do so.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Ranges of IPv4 that are not public: first address and length of the prefix.
const IPV4_NOT_PUBLIC: [(Ipv4Addr, u32); 13] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),        // this network, unspecified
    (Ipv4Addr::new(10, 0, 0, 0), 8),       // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),    // shared by a carrier's customers; a cloud's metadata
    (Ipv4Addr::new(127, 0, 0, 0), 8),      // loopback
    (Ipv4Addr::new(168, 63, 129, 16), 32), // a cloud's own services, in the middle of public space
    (Ipv4Addr::new(169, 254, 0, 0), 16),   // link-local; metadata at 169.254.169.254
    (Ipv4Addr::new(172, 16, 0, 0), 12),    // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),     // protocol assignments; a cloud's metadata
    (Ipv4Addr::new(192, 88, 99, 0), 24),   // 6to4 relays, given up
    (Ipv4Addr::new(192, 168, 0, 0), 16),   // private
    (Ipv4Addr::new(198, 18, 0, 0), 15),    // measurements
    (Ipv4Addr::new(224, 0, 0, 0), 4),      // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),      // reserved, broadcast
];

/// The only part of IPv6 from which public addresses are given out.
const IPV6_PUBLIC: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Ranges within it that are not public.
const IPV6_NOT_PUBLIC: [(Ipv6Addr, u32); 2] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocol assignments, Teredo
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4: any IPv4 address inside
];

/// IPv4 addresses behind a NAT64 gateway (RFC 6052): the last 32 bits are the address.
const NAT64: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// Returns whether an address can be reached from everywhere and by nobody nearer.
///
/// An IPv4 address inside an IPv6 one (mapped, NAT64) is judged by itself.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) if within_v6(address, NAT64) => {
            let [.., a, b, c, d] = address.octets();
            is_public_v4(Ipv4Addr::new(a, b, c, d))
        }
        IpAddr::V6(address) => {
            within_v6(address, IPV6_PUBLIC)
                && !IPV6_NOT_PUBLIC.iter().any(|range| within_v6(address, *range))
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !IPV4_NOT_PUBLIC.iter().any(|range| within_v4(address, *range))
}

fn within_v4(address: Ipv4Addr, (first, prefix_bits): (Ipv4Addr, u32)) -> bool {
    (address.to_bits() ^ first.to_bits()).leading_zeros() >= prefix_bits
}

fn within_v6(address: Ipv6Addr, (first, prefix_bits): (Ipv6Addr, u32)) -> bool {
    (address.to_bits() ^ first.to_bits()).leading_zeros() >= prefix_bits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(address: &str, expected: bool) {
        let address: IpAddr = address.parse().unwrap();
        assert_eq!(is_public(address), expected, "{address}");
    }

    #[test]
    fn addresses_near_us_are_not_public() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.255.255.255",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.168.1.1",
            "198.19.255.255",
            "224.0.0.1",
            "239.255.255.255",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::127.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:0:7f00:1::",
            "2002:7f00:1::",
            "2002:808:808::",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            check(address, false);
        }
    }

    #[test]
    fn addresses_of_the_internet_are_public() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "168.63.129.17",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.2.1",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.100.1",
            "203.0.113.1",
            "223.255.255.255",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "2001:200::1",
            "2001:db8::1",
            "2606:4700::1111",
            "2a00::1",
        ] {
            check(address, true);
        }
    }

    proptest! {
        #[test]
        fn clothes_of_ipv6_change_nothing(bits: u32) {
            let plain = Ipv4Addr::from_bits(bits);
            let gateway = Ipv6Addr::from_bits(NAT64.0.to_bits() | u128::from(bits));
            prop_assert_eq!(is_public(plain.into()), is_public(plain.to_ipv6_mapped().into()));
            prop_assert_eq!(is_public(plain.into()), is_public(gateway.into()));
            prop_assert!(!is_public(Ipv6Addr::from_bits(u128::from(bits)).into()));
        }

        #[test]
        fn what_the_standard_library_calls_near_is_not_public(bits: u32) {
            let address = Ipv4Addr::from_bits(bits);
            let near = address.is_private() || address.is_loopback() || address.is_link_local()
                || address.is_multicast() || address.is_broadcast() || address.is_unspecified();
            prop_assert!(!(near && is_public(address.into())));
        }
    }
}
