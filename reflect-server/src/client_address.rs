//! The address of the client, directly or behind trusted proxies.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::HeaderMap;
use axum::http::header::FORWARDED;
use axum::http::request::Parts;
use ipnet::IpNet;

const X_FORWARDED_FOR: &str = "x-forwarded-for";

/// The client's address; `None` if the connection's peer is unknown.
///
/// A trusted proxy names the client at the end of `X-Forwarded-For`, or of `Forwarded` where the former
/// is absent. What comes before the last untrusted address was written by that client, so it is not
/// believed.
pub(crate) fn client_address(parts: &Parts, trusted: &[IpNet]) -> Option<IpAddr> {
    let ConnectInfo(peer) = parts.extensions.get::<ConnectInfo<SocketAddr>>()?;
    let peer = peer.ip().to_canonical();
    let is_trusted = |address: &IpAddr| trusted.iter().any(|network| network.contains(address));
    if !is_trusted(&peer) {
        return Some(peer);
    }
    let mut nearest = peer;
    for hop in hops(&parts.headers).iter().rev() {
        // An unreadable hop hides the client, so its proxy answers for it.
        let Some(address) = parse_hop(hop) else {
            break;
        };
        nearest = address;
        if !is_trusted(&address) {
            break;
        }
    }
    Some(nearest)
}

/// The hops of the request, the client's first.
fn hops(headers: &HeaderMap) -> Vec<&str> {
    let values = |name: &str| -> Vec<&str> {
        let lines = headers.get_all(name).iter();
        let lines = lines.map(|line| line.to_str().unwrap_or_default());
        lines.flat_map(|line| line.split(',')).collect()
    };
    if headers.contains_key(X_FORWARDED_FOR) {
        return values(X_FORWARDED_FOR);
    }
    values(FORWARDED.as_str())
        .into_iter()
        .map(forwarded_for)
        .collect()
}

/// The `for` of an element of `Forwarded`, such as `for="[2001:db8::1]:4711";proto=https`.
fn forwarded_for(element: &str) -> &str {
    let pairs = element.split(';').filter_map(|pair| pair.split_once('='));
    pairs
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("for"))
        .map(|(_, value)| value.trim().trim_matches('"'))
        .next()
        .unwrap_or_default()
}

/// An address, with or without a port.
fn parse_hop(hop: &str) -> Option<IpAddr> {
    let hop = hop.trim();
    let bare = hop
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let address = bare.unwrap_or(hop).parse::<IpAddr>();
    let address = address.or_else(|_| hop.parse::<SocketAddr>().map(|with_port| with_port.ip()));
    address.ok().map(|address| address.to_canonical())
}

/// The address, or the /64 of an IPv6 address.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64)).into(),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn client(peer: &str, headers: &[(&str, &str)], trusted: &[&str]) -> String {
        let mut request = Request::builder();
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let peer: SocketAddr = peer.parse().unwrap();
        let request = request.extension(ConnectInfo(peer)).body(()).unwrap();
        let trusted: Vec<IpNet> = trusted.iter().map(|text| text.parse().unwrap()).collect();
        let address = client_address(&request.into_parts().0, &trusted);
        address.unwrap().to_string()
    }

    #[test]
    fn headers_of_an_untrusted_peer_are_ignored() {
        let claim = [
            ("x-forwarded-for", "203.0.113.9"),
            ("forwarded", "for=203.0.113.9"),
        ];
        assert_eq!(client("192.0.2.1:80", &claim, &[]), "192.0.2.1");
        assert_eq!(client("192.0.2.1:80", &claim, &["10.0.0.0/8"]), "192.0.2.1");
    }

    #[test]
    fn trusted_proxies_name_the_client() {
        let trusted = ["10.0.0.0/8", "::1/128"];
        for (header, value, expected) in [
            ("x-forwarded-for", "203.0.113.9", "203.0.113.9"),
            ("x-forwarded-for", "203.0.113.9:4711", "203.0.113.9"),
            // The first was sent by the client itself.
            (
                "x-forwarded-for",
                "1.1.1.1, 203.0.113.9, 10.0.0.2",
                "203.0.113.9",
            ),
            ("x-forwarded-for", "1.1.1.1, unknown", "10.0.0.1"),
            ("x-forwarded-for", "", "10.0.0.1"),
            (
                "forwarded",
                "for=1.1.1.1, For=\"[2001:db8::1]:4711\";proto=https",
                "2001:db8::1",
            ),
            ("forwarded", "for=\"[2001:db8::1]\"", "2001:db8::1"),
            ("forwarded", "proto=https", "10.0.0.1"),
        ] {
            let found = client("10.0.0.1:80", &[(header, value)], &trusted);
            assert_eq!(found, expected, "{header}: {value}");
        }
        let mapped = [("x-forwarded-for", "::ffff:203.0.113.9")];
        assert_eq!(
            client("[::ffff:10.0.0.1]:80", &mapped, &trusted),
            "203.0.113.9"
        );
        // The proxy sets the first; the client sent the second.
        let both = [
            ("x-forwarded-for", "203.0.113.9"),
            ("forwarded", "for=1.1.1.1"),
        ];
        assert_eq!(client("10.0.0.1:80", &both, &trusted), "203.0.113.9");
    }
}
