//! Proxies that are trusted to say for whom they ask, and what they say.
//!
//! Each proxy appends whom it has its request from to a field, so that the field is read from its end:
//! what stands behind the address of somebody who is not trusted was written by those who are, and what
//! stands before it may be anything. Of the two fields there are, `X-Forwarded-For` and `Forwarded`
//! (RFC 7239), only the one that the proxies set is looked at: a client can send the other one, and
//! they pass it on.

use std::net::IpAddr;

/// The field in which proxies say for whom they ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProxyField {
    /// `X-Forwarded-For`, and `X-Forwarded-Proto` with it.
    #[default]
    XForwardedFor,
    /// `Forwarded`.
    Forwarded,
}

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// A network from `10.0.0.0/8`, or one of a single address from `::1`. None if it is neither.
    pub fn parse(text: &str) -> Option<Network> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            // `parse` takes a sign.
            Some(bits) if bits.bytes().all(|byte| byte.is_ascii_digit()) => bits.parse().ok()?,
            Some(_) => return None,
            None => most,
        };
        (bits <= most).then_some(Network { address, bits })
    }

    fn has(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.leading_zeros() >= self.bits.into()
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.leading_zeros() >= self.bits.into()
            }
            _ => false,
        }
    }
}

/// The proxies that are trusted, and how they name the client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies {
    /// Those at these addresses.
    pub networks: Vec<Network>,
    /// Those that connect over a Unix-domain socket.
    pub local: bool,
    /// Where they say it.
    pub field: ProxyField,
}

/// Facts about a request that trusted proxies report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forwarded {
    /// The last address in the chain that is not trusted; the first one if all are trusted. None
    /// over a Unix-domain socket if no proxy names a client.
    pub client: Option<IpAddr>,
    /// Whether the client speaks TLS, if they say that.
    pub is_secure: Option<bool>,
}

impl TrustedProxies {
    /// Whether nobody is trusted.
    pub fn is_empty(&self) -> bool {
        self.networks.is_empty() && !self.local
    }

    /// Whether a peer with this address is trusted; no address is that of a Unix-domain socket.
    pub fn trusts(&self, address: Option<IpAddr>) -> bool {
        match address {
            None => self.local,
            Some(address) => {
                let address = address.to_canonical();
                self.networks.iter().any(|network| network.has(address))
            }
        }
    }

    /// Reads the fields of a request that came from an address. None if that address is not trusted.
    pub fn read<'a>(
        &self,
        peer: Option<IpAddr>,
        fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Option<Forwarded> {
        if !self.trusts(peer) {
            return None;
        }
        let (mut chain, mut scheme) = (Vec::new(), None);
        for (name, value) in fields {
            let is = |wanted: &str| name.eq_ignore_ascii_case(wanted.as_bytes());
            match self.field {
                ProxyField::XForwardedFor if is("x-forwarded-for") => {
                    chain.extend(split(value, b','));
                }
                ProxyField::XForwardedFor if is("x-forwarded-proto") => {
                    scheme = split(value, b',').last();
                }
                ProxyField::Forwarded if is("forwarded") => chain.extend(split(value, b',')),
                _ => {}
            }
        }
        let mut forwarded = Forwarded {
            client: peer.map(|peer| peer.to_canonical()),
            is_secure: scheme.and_then(is_secure),
        };
        for element in chain.into_iter().rev() {
            let node = match self.field {
                ProxyField::XForwardedFor => Some(element),
                ProxyField::Forwarded => parameter(element, "for"),
            };
            // The chain ends at a node without an address.
            let Some(address) = node.and_then(address) else {
                break;
            };
            forwarded.client = Some(address);
            if self.field == ProxyField::Forwarded {
                forwarded.is_secure = parameter(element, "proto").and_then(is_secure);
            }
            if !self.trusts(Some(address)) {
                break;
            }
        }
        Some(forwarded)
    }
}

fn is_secure(scheme: &[u8]) -> Option<bool> {
    match scheme {
        scheme if scheme.eq_ignore_ascii_case(b"https") => Some(true),
        scheme if scheme.eq_ignore_ascii_case(b"http") => Some(false),
        _ => None,
    }
}

/// The parts of a text between separators that are not quoted, without the blanks around them.
fn split(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |&byte| {
        let separates = byte == separator && !is_quoted;
        if byte == b'"' && !is_escaped {
            is_quoted = !is_quoted;
        }
        is_escaped = byte == b'\\' && is_quoted && !is_escaped;
        separates
    })
    .map(<[u8]>::trim_ascii)
}

/// The value of a parameter of an element of `Forwarded`, without its quotes.
fn parameter<'a>(element: &'a [u8], wanted: &str) -> Option<&'a [u8]> {
    split(element, b';').find_map(|pair| {
        let equals = pair.iter().position(|&byte| byte == b'=')?;
        let (name, value) = (&pair[..equals], &pair[equals + 1..]);
        let unquoted = value
            .strip_prefix(b"\"")
            .and_then(|value| value.strip_suffix(b"\""));
        name.eq_ignore_ascii_case(wanted.as_bytes())
            .then_some(unquoted.unwrap_or(value))
    })
}

/// An address as proxies write it: with a port or without, of version 6 in brackets or without.
fn address(text: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(text).ok()?;
    let bare = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']')?;
            if !port.is_empty() && !is_port(port.strip_prefix(':')?) {
                return None;
            }
            address
        }
        None => match text.split_once(':') {
            Some((address, port)) if is_port(port) => address,
            _ => text,
        },
    };
    let address: IpAddr = bare.parse().ok()?;
    Some(address.to_canonical())
}

/// A port, or a name in its place that hides it.
fn is_port(text: &str) -> bool {
    let is_known = text.parse::<u16>().is_ok();
    is_known || text.strip_prefix('_').is_some_and(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(field: ProxyField, networks: &[&str]) -> TrustedProxies {
        let networks = networks.iter();
        TrustedProxies {
            networks: networks
                .map(|text| Network::parse(text).expect("a network"))
                .collect(),
            local: true,
            field,
        }
    }

    /// Reads the fields of a request from `peer`: returns the client and whether it is secure.
    fn read(
        proxies: &TrustedProxies,
        peer: &str,
        fields: &[(&str, &str)],
    ) -> Option<(String, Option<bool>)> {
        let peer = peer.parse().ok();
        let fields = fields.iter();
        let fields = fields.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let forwarded = proxies.read(peer, fields)?;
        let client = forwarded.client.map(|client| client.to_string());
        Some((client.unwrap_or_default(), forwarded.is_secure))
    }

    #[test]
    fn networks_have_the_addresses_that_begin_so() {
        let has = |network: &str, address: &str| {
            let address = address.parse().expect("an address");
            Network::parse(network).expect("a network").has(address)
        };
        assert!(has("10.0.0.0/8", "10.255.0.1") && !has("10.0.0.0/8", "11.0.0.1"));
        assert!(has("192.168.4.7", "192.168.4.7") && !has("192.168.4.7", "192.168.4.6"));
        assert!(has("0.0.0.0/0", "1.2.3.4") && !has("0.0.0.0/0", "::1"));
        assert!(has("fd00::/8", "fdab::1") && !has("fd00::/8", "fe80::1"));
        for wrong in [
            "10.0.0.0/33",
            "::/129",
            "10.0.0",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "a",
            "",
        ] {
            assert_eq!(Network::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_somebody_who_is_not_trusted_says_is_not_read() {
        let proxies = proxies(ProxyField::XForwardedFor, &["10.0.0.0/8"]);
        let fields = [("X-Forwarded-For", "1.1.1.1")];
        assert_eq!(read(&proxies, "9.9.9.9", &fields), None);
        let (client, _) = read(&proxies, "::ffff:10.0.0.1", &fields).expect("a trusted peer");
        assert_eq!(client, "1.1.1.1");
    }

    #[test]
    fn the_client_is_the_last_one_who_is_not_trusted() {
        let proxies = proxies(ProxyField::XForwardedFor, &["10.0.0.0/8", "::1"]);
        for (peer, chain, client) in [
            ("10.0.0.1", &["2.2.2.2"][..], "2.2.2.2"),
            // The client wrote the first one itself.
            ("10.0.0.1", &["1.1.1.1, 2.2.2.2"], "2.2.2.2"),
            ("10.0.0.1", &["1.1.1.1", "2.2.2.2,10.7.7.7"], "2.2.2.2"),
            ("10.0.0.1", &["2.2.2.2:4711, 10.0.0.9:80"], "2.2.2.2"),
            ("10.0.0.1", &["[2001:db8::7]:443"], "2001:db8::7"),
            ("10.0.0.1", &["2001:db8::7"], "2001:db8::7"),
            ("10.0.0.1", &["::ffff:3.3.3.3"], "3.3.3.3"),
            // All are trusted.
            ("10.0.0.1", &["10.0.0.2, 10.0.0.3"], "10.0.0.2"),
            // Nothing is known behind what is no address.
            ("10.0.0.1", &["1.1.1.1, unknown, 10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", &["1.1.1.1, "], "10.0.0.1"),
            ("10.0.0.1", &["1.1.1.1:99999"], "10.0.0.1"),
            ("10.0.0.1", &["[::7"], "10.0.0.1"),
            ("10.0.0.1", &[], "10.0.0.1"),
            // Over a Unix-domain socket.
            ("", &["1.1.1.1, 2.2.2.2"], "2.2.2.2"),
            ("", &[], ""),
        ] {
            let fields: Vec<_> = chain
                .iter()
                .map(|&value| ("x-forwarded-for", value))
                .collect();
            let found = read(&proxies, peer, &fields);
            assert_eq!(found, Some((client.to_owned(), None)), "{chain:?}");
        }
    }

    #[test]
    fn the_scheme_is_that_of_the_nearest_proxy() {
        let proxies = proxies(ProxyField::XForwardedFor, &["10.0.0.1"]);
        for (value, is_secure) in [
            ("https", Some(true)),
            ("HTTP", Some(false)),
            ("https, http", Some(false)),
            ("gopher", None),
        ] {
            let fields = [("X-Forwarded-Proto", value), ("X-Forwarded-For", "2.2.2.2")];
            let found = read(&proxies, "10.0.0.1", &fields);
            assert_eq!(found, Some(("2.2.2.2".to_owned(), is_secure)));
        }
    }

    #[test]
    fn the_field_of_the_standard_is_read_alone() {
        let proxies = proxies(ProxyField::Forwarded, &["10.0.0.1", "10.0.0.2"]);
        for (value, client, is_secure) in [
            ("for=2.2.2.2;proto=https;by=10.0.0.1", "2.2.2.2", Some(true)),
            ("for=\"[2001:db8::7]:4711\"", "2001:db8::7", None),
            (
                "For=1.1.1.1, FOR=2.2.2.2;proto=http",
                "2.2.2.2",
                Some(false),
            ),
            (
                "for=2.2.2.2;proto=https, for=10.0.0.2",
                "2.2.2.2",
                Some(true),
            ),
            ("for=1.1.1.1, for=_hidden", "10.0.0.1", None),
            ("for=\"2.2.2.2:_port\"", "2.2.2.2", None),
            ("for=1.1.1.1;by=\"a,b\\\",c\";for", "1.1.1.1", None),
            ("proto=https", "10.0.0.1", None),
        ] {
            let fields = [("Forwarded", value), ("X-Forwarded-For", "6.6.6.6")];
            let found = read(&proxies, "10.0.0.1", &fields);
            assert_eq!(found, Some((client.to_owned(), is_secure)), "{value}");
        }
    }
}
