//! Recognizes hosts that are this machine.

use std::net::IpAddr;

/// Returns whether a host is this machine.
pub(crate) fn is_loopback_host(host: Option<&str>) -> bool {
    let Some(host) = host else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_recognised_by_name_and_by_address() {
        for (host, expected) in [
            ("localhost", true),
            ("127.0.0.9", true),
            ("[::1]", true),
            ("10.0.0.1", false),
            ("localhost.example.com", false),
        ] {
            assert_eq!(is_loopback_host(Some(host)), expected, "{host}");
        }
    }
}
