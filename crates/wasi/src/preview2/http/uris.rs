//! Parts of the addresses of requests.
//!
//! They are sent as they are, so that no byte of them may end a line or a part early.

/// Most bytes of each part.
const BYTES_MAX: usize = 1 << 14;

/// Whether a text is a path, perhaps with a query.
pub fn is_path(path: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_graphic() && !b"\"#<>\\^`".contains(&byte);
    path.len() <= BYTES_MAX && path.bytes().all(is_part)
}

/// Whether a text is a scheme.
pub fn is_scheme(scheme: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    scheme.len() <= BYTES_MAX
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(is_part)
}

/// Whether a text is a host, perhaps with a port and a user before it.
pub fn is_authority(authority: &str) -> bool {
    let host_and_port = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let (host, port) = match host_and_port.strip_prefix('[') {
        Some(rest) => {
            let Some((host, rest)) = rest.split_once(']') else {
                return false;
            };
            let is_address = host.parse::<std::net::Ipv6Addr>().is_ok();
            (
                if is_address { host } else { "" },
                rest.strip_prefix(':').or(Some(rest)),
            )
        }
        None => match host_and_port.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (host_and_port, None),
        },
    };
    let is_port = |port: &str| port.is_empty() || port.parse::<u16>().is_ok();
    let is_part =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=%:@[]".contains(&byte);
    authority.len() <= BYTES_MAX
        && !host.is_empty()
        && port.is_none_or(is_port)
        && authority.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_have_a_host() {
        for right in [
            "a",
            "a.example:80",
            "user:word@a:1",
            "127.0.0.1",
            "[::1]",
            "[::1]:80",
            "a:",
        ] {
            assert!(is_authority(right), "{right}");
        }
        for wrong in [
            "", ":80", "a:b", "a:70000", "a b", "a/b", "a\r\n", "[::1", "[x]", "a?b", "a@",
        ] {
            assert!(!is_authority(wrong), "{wrong}");
        }
    }

    #[test]
    fn paths_and_schemes_have_no_spaces() {
        for right in ["", "/", "/a?b=c&d", "*", "/%20"] {
            assert!(is_path(right), "{right}");
        }
        for wrong in ["/a b", "/a#b", "/\r\nx", "/\u{e4}"] {
            assert!(!is_path(wrong), "{wrong}");
        }
        assert!(is_scheme("ws") && is_scheme("a+b"));
        assert!(!is_scheme("") && !is_scheme("1a") && !is_scheme("a:"));
    }
}
