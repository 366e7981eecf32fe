//! The address of a client, under which its share of a limited resource is counted, and the proxies
//! that may name another address than their own, in the one header that they set.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use http::header::{FORWARDED, HeaderName};
use http::{HeaderMap, HeaderValue};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address of a client: an IPv4 address, or the first 64 bits of an IPv6 address, because one
/// subscriber has at least so many addresses (RFC 6177). Each loopback address is one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientAddress(IpAddr);

impl ClientAddress {
    /// The address of a request that arrived from `peer`. If the peer is a trusted proxy, it is the
    /// right-most address in the header that is not one of a trusted proxy. The headers of other peers
    /// are ignored.
    ///
    /// A proxy sets one header, and passes the other one on as its client sent it: that one is never
    /// read.
    pub fn from_request(
        peer: IpAddr,
        headers: &HeaderMap,
        trusted: &[TrustedProxy],
        header: ForwardedHeader,
    ) -> Self {
        if !TrustedProxy::includes(trusted, peer) {
            return Self::from(peer);
        }
        let entries = header_entries(headers, &header.name());
        Self::from(client_of(peer, entries, trusted))
    }

    /// Returns the address; of IPv6 addresses the first 64 bits.
    pub fn ip(self) -> IpAddr {
        self.0
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
    /// All IPv4 addresses.
    pub fn any_ipv4() -> Self {
        Self(Ipv4Net::default().into())
    }

    /// All IPv6 addresses.
    pub fn any_ipv6() -> Self {
        Self(Ipv6Net::default().into())
    }

    /// Whether one of these proxies has this address.
    pub fn includes(proxies: &[TrustedProxy], address: IpAddr) -> bool {
        let address = address.to_canonical();
        proxies.iter().any(|proxy| proxy.0.contains(&address))
    }
}

/// The proxies that are trusted at the moment. Clones share them.
#[derive(Clone, Debug)]
pub struct TrustedProxies(Arc<ArcSwap<Vec<TrustedProxy>>>);

impl TrustedProxies {
    /// Trusts these proxies.
    pub fn new(proxies: Vec<TrustedProxy>) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(proxies)))
    }

    /// Trusts these proxies from now on, and no others.
    pub fn replace(&self, proxies: Vec<TrustedProxy>) {
        self.0.store(Arc::new(proxies));
    }

    /// The proxies that are trusted at the moment. They are not to be held across an `await`.
    pub fn load(&self) -> impl Deref<Target = Arc<Vec<TrustedProxy>>> {
        self.0.load()
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

/// The header in which trusted proxies name the address of their client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForwardedHeader {
    /// `X-Forwarded-For`, which nginx, Caddy, HAProxy, Envoy and the load balancers of clouds set.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

impl ForwardedHeader {
    /// The names of both headers, as a setting has them.
    const ALL: [(&str, Self); 2] = [
        ("x-forwarded-for", Self::XForwardedFor),
        ("forwarded", Self::Forwarded),
    ];

    fn name(self) -> HeaderName {
        match self {
            Self::XForwardedFor => X_FORWARDED_FOR,
            Self::Forwarded => FORWARDED,
        }
    }
}

impl fmt::Display for ForwardedHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name().as_str())
    }
}

impl FromStr for ForwardedHeader {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|(name, _)| *name == text);
        named.map(|(_, header)| header).ok_or_else(|| {
            "allowed are x-forwarded-for and forwarded: the one that your proxy sets".to_owned()
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

/// The entries of a header, the last one first. A text that is not ASCII is an entry that is not an
/// address.
fn header_entries<'a>(
    headers: &'a HeaderMap,
    header: &HeaderName,
) -> impl Iterator<Item = &'a str> + use<'a> {
    let text = |line: &'a HeaderValue| line.to_str().unwrap_or_default();
    let lines = headers.get_all(header).into_iter();
    lines.rev().flat_map(move |line| text(line).rsplit(','))
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

    /// The address of a request from `peer` with these headers, if 10.0.0.0/8 and ::1 are trusted and
    /// set the first one.
    fn client(peer: &str, headers: &[(HeaderName, &str)]) -> ClientAddress {
        let first = headers.first().map(|(name, _)| name.as_str());
        let header = first.map_or_else(ForwardedHeader::default, |name| name.parse().unwrap());
        client_in(header, peer, headers)
    }

    /// As [`client`], for proxies that set this header.
    fn client_in(
        header: ForwardedHeader,
        peer: &str,
        headers: &[(HeaderName, &str)],
    ) -> ClientAddress {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        let trusted = ["10.0.0.0/8", "::1"].map(|text| text.parse().unwrap());
        ClientAddress::from_request(peer.parse().unwrap(), &map, &trusted, header)
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
    fn a_header_that_the_proxy_does_not_set_changes_nothing() {
        use ForwardedHeader as Header;
        let both = [(X_FORWARDED_FOR, "192.0.2.1"), (FORWARDED, "for=192.0.2.2")];
        for (header, expected) in [
            (Header::XForwardedFor, "192.0.2.1"),
            (Header::Forwarded, "192.0.2.2"),
        ] {
            assert_eq!(client_in(header, "10.0.0.1", &both), address(expected));
            // Without the header of the proxy, the client is not known.
            let other = both.iter().filter(|(name, _)| *name != header.name());
            let other: Vec<_> = other.cloned().collect();
            let proxy = address("10.0.0.1");
            assert_eq!(client_in(header, "10.0.0.1", &other), proxy);
        }
    }

    #[test]
    fn the_header_of_the_proxies_is_named_by_its_setting() {
        for (name, header) in ForwardedHeader::ALL {
            assert_eq!(name.parse(), Ok(header));
            assert_eq!(header.to_string(), name);
        }
        let error = "x-real-ip".parse::<ForwardedHeader>().unwrap_err();
        assert!(error.contains("x-forwarded-for"), "{error}");
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
