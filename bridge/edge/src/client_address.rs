//! The address of a client, under which its share of a limited resource is counted, and the proxies
//! that may name another address than their own.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use http::header::{FORWARDED, HeaderName};
use http::{HeaderMap, HeaderValue};
use ipnet::IpNet;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address of a client: an IPv4 address, or the first 64 bits of an IPv6 address, because one
/// subscriber has at least so many addresses (RFC 6177). Each loopback address is one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientAddress(IpAddr);

impl ClientAddress {
    /// The address of a request that arrived from `peer`. If the peer is a trusted proxy, it is the
    /// right-most address in `X-Forwarded-For` or `Forwarded` (RFC 7239) that is not one of a
    /// trusted proxy. The headers of other peers are ignored.
    ///
    /// A trusted proxy sets one of the headers and may pass the other one on as its client sent it.
    /// If the two differ, the address is that of the proxy.
    pub fn from_request(peer: IpAddr, headers: &HeaderMap, trusted: &[TrustedProxy]) -> Self {
        if !TrustedProxy::includes(trusted, peer) {
            return Self::from(peer);
        }
        let client = |header| Some(client_of(peer, header_entries(headers, header)?, trusted));
        let client = match (client(&X_FORWARDED_FOR), client(&FORWARDED)) {
            (Some(one), Some(other)) if one != other => peer,
            (one, other) => one.or(other).unwrap_or(peer),
        };
        Self::from(client)
    }

    /// Whether the client is a program or a browser on this machine.
    pub fn is_loopback(self) -> bool {
        self.0.is_loopback()
    }
}

impl From<IpAddr> for ClientAddress {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) if !address.is_loopback() => {
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64))
            }
            address => address,
        })
    }
}

impl fmt::Display for ClientAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V6(address) if !address.is_loopback() => write!(f, "{address}/64"),
            address => address.fmt(f),
        }
    }
}

/// An address or a network of proxies whose headers name the addresses of their clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrustedProxy(IpNet);

impl TrustedProxy {
    /// Whether one of these proxies has this address.
    pub(crate) fn includes(proxies: &[TrustedProxy], address: IpAddr) -> bool {
        let address = address.to_canonical();
        proxies.iter().any(|proxy| proxy.0.contains(&address))
    }
}

impl FromStr for TrustedProxy {
    type Err = String;

    /// Parses an address such as `10.0.0.5`, or a network such as `10.0.0.0/8`.
    fn from_str(text: &str) -> Result<Self, String> {
        let address = text.parse::<IpAddr>().map(IpNet::from).ok();
        let network = address.or_else(|| text.parse().ok());
        network.map(Self).ok_or_else(|| {
            "allowed are addresses such as 10.0.0.5, and networks such as 10.0.0.0/8".to_owned()
        })
    }
}

/// Follows the entries of a header from the last proxy to its client. It ends before an entry that
/// is not an address, which only the client of the proxy before it can have written.
fn client_of<'a>(
    peer: IpAddr,
    entries: impl Iterator<Item = &'a str>,
    trusted: &[TrustedProxy],
) -> IpAddr {
    let mut client = peer;
    for entry in entries {
        let Some(address) = parse_node(entry) else {
            break;
        };
        client = address;
        if !TrustedProxy::includes(trusted, address) {
            break;
        }
    }
    client
}

/// The entries of a header, the last one first. `None` if the header is missing. A text that is not
/// ASCII is an entry that is not an address.
fn header_entries<'a>(
    headers: &'a HeaderMap,
    header: &HeaderName,
) -> Option<impl Iterator<Item = &'a str>> {
    let lines = headers.get_all(header);
    lines.iter().next()?;
    let text = |line: &'a HeaderValue| line.to_str().unwrap_or_default();
    Some(
        lines
            .iter()
            .rev()
            .flat_map(move |line| text(line).rsplit(',')),
    )
}

/// Parses an entry: an address with or without a port, for `Forwarded` the parameter `for`.
fn parse_node(entry: &str) -> Option<IpAddr> {
    let parameters = entry.split(';').map(str::trim);
    let named = parameters.filter_map(|parameter| parameter.split_once('='));
    let mut named = named.filter(|(name, _)| name.trim().eq_ignore_ascii_case("for"));
    let node = named.next().map_or(entry, |(_, node)| node).trim();
    let node = node.trim_matches('"');
    if let Some(bracketed) = node.strip_prefix('[') {
        let (address, _) = bracketed.split_once(']')?;
        return address.parse().ok().map(IpAddr::V6);
    }
    let without_port = node.rsplit_once(':').map_or(node, |(address, _)| address);
    node.parse()
        .ok()
        .or_else(|| without_port.parse().ok().map(IpAddr::V4))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> ClientAddress {
        ClientAddress::from(text.parse::<IpAddr>().unwrap())
    }

    /// The address of a request from `peer` with these headers, if 10.0.0.0/8 and ::1 are trusted.
    fn client(peer: &str, headers: &[(HeaderName, &str)]) -> ClientAddress {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        let trusted = ["10.0.0.0/8", "::1"].map(|text| text.parse().unwrap());
        ClientAddress::from_request(peer.parse().unwrap(), &map, &trusted)
    }

    #[test]
    fn ipv6_addresses_count_by_their_first_64_bits() {
        assert_eq!(address("2001:db8::1"), address("2001:db8::ffff:1"));
        assert_ne!(address("2001:db8::1"), address("2001:db8:0:1::1"));
        assert_eq!(address("2001:db8::1").to_string(), "2001:db8::/64");
        assert_eq!(address("::ffff:192.0.2.1"), address("192.0.2.1"));
        assert_ne!(address("192.0.2.1"), address("192.0.2.2"));
        assert!(address("::1").is_loopback() && !address("::2").is_loopback());
        assert_ne!(address("127.0.0.2"), address("127.0.0.3"));
    }

    #[test]
    fn only_a_trusted_proxy_names_another_address() {
        for header in [X_FORWARDED_FOR, FORWARDED] {
            let text = if header == FORWARDED {
                "for=192.0.2.1"
            } else {
                "192.0.2.1"
            };
            for untrusted in ["127.0.0.1", "192.0.2.9", "11.0.0.1"] {
                let named = client(untrusted, &[(header.clone(), text)]);
                assert_eq!(named, address(untrusted), "{header}");
            }
            for trusted in ["10.1.2.3", "::1", "::ffff:10.1.2.3"] {
                let named = client(trusted, &[(header.clone(), text)]);
                assert_eq!(named, address("192.0.2.1"), "{header}");
            }
        }
        assert_eq!(client("10.1.2.3", &[]), address("10.1.2.3"));
    }

    #[test]
    fn the_right_most_address_that_is_not_a_trusted_proxy_counts() {
        for (value, expected) in [
            ("192.0.2.66, 192.0.2.1", "192.0.2.1"),
            ("192.0.2.66, 192.0.2.1, 10.0.0.7", "192.0.2.1"),
            ("192.0.2.66, 192.0.2.1:4711 , 10.0.0.7:80", "192.0.2.1"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]:80", "2001:db8::1"),
            // A client cannot break the parser with the remainder of the entry that it wrote.
            ("for=\"[, 192.0.2.1", "192.0.2.1"),
            ("unknown, 10.0.0.7", "10.0.0.7"),
            ("10.0.0.8, 10.0.0.7", "10.0.0.8"),
            ("é", "10.0.0.1"),
            ("", "10.0.0.1"),
        ] {
            let named = client("10.0.0.1", &[(X_FORWARDED_FOR, value)]);
            assert_eq!(named, address(expected), "{value}");
        }
        for (value, expected) in [
            ("for=192.0.2.66, For=192.0.2.1;proto=https", "192.0.2.1"),
            ("proto=https; for=\"[2001:db8::1]:80\"", "2001:db8::1"),
            ("for=192.0.2.1, for=_hidden", "10.0.0.1"),
            ("by=192.0.2.1", "10.0.0.1"),
        ] {
            let named = client("10.0.0.1", &[(FORWARDED, value)]);
            assert_eq!(named, address(expected), "{value}");
        }
        let lines = [
            (X_FORWARDED_FOR, "192.0.2.66"),
            (X_FORWARDED_FOR, "192.0.2.1"),
        ];
        assert_eq!(client("10.0.0.1", &lines), address("192.0.2.1"));
    }

    #[test]
    fn headers_that_contradict_each_other_name_no_client() {
        let forged = [(X_FORWARDED_FOR, "192.0.2.1"), (FORWARDED, "for=192.0.2.2")];
        assert_eq!(client("10.0.0.1", &forged), address("10.0.0.1"));
        let equal = [(X_FORWARDED_FOR, "192.0.2.1"), (FORWARDED, "for=192.0.2.1")];
        assert_eq!(client("10.0.0.1", &equal), address("192.0.2.1"));
    }

    #[test]
    fn a_trusted_proxy_is_an_address_or_a_network() {
        for valid in ["10.0.0.5", "10.0.0.0/8", "::1", "fd00::/8"] {
            assert!(valid.parse::<TrustedProxy>().is_ok(), "{valid}");
        }
        for invalid in ["", "10.0.0.0/33", "localhost", "10.0.0.5:80"] {
            let error = invalid.parse::<TrustedProxy>().unwrap_err();
            assert!(error.starts_with("allowed are"), "{invalid}: {error}");
        }
    }
}
