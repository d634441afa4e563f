//! One HTML page with a profile inside, which needs no server and no other file.
//!
//! The page itself is `page.html`. This module puts the profile into it, compressed and in base64,
//! in place of a marker. Base64 has no character that could end a script element, so nothing that a
//! profile contains can get out of it.

use std::borrow::Cow;

use crate::file::{gzip, is_compressed};

const PAGE: &str = include_str!("page.html");
const MARKER: &str = "<!--CANNY-PROFILE-->";

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The page for a profile's file, whose bytes may be compressed already.
pub fn page(profile: &[u8]) -> String {
    page_of(PAGE, profile)
}

/// The page without a profile: it fetches one beside its own address.
pub fn bare() -> &'static str {
    PAGE
}

fn page_of(page: &str, profile: &[u8]) -> String {
    let bytes = if is_compressed(profile) {
        Cow::Borrowed(profile)
    } else {
        Cow::Owned(gzip(profile))
    };
    let element = format!(
        "<script id=\"canny-profile\" type=\"application/gzip;base64\">{}</script>",
        base64(&bytes)
    );
    // The first marker only: what follows might mention it.
    page.replacen(MARKER, &element, 1)
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            let value = word >> (18 - 6 * digit) & 63;
            text.push(if digit <= group.len() {
                char::from(DIGITS[value as usize])
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::gunzip;

    #[track_caller]
    fn check(bytes: &str, expect: &str) {
        assert_eq!(base64(bytes.as_bytes()), expect);
    }

    #[test]
    fn base64_is_padded() {
        check("", "");
        check("f", "Zg==");
        check("fo", "Zm8=");
        check("foo", "Zm9v");
        check("foob", "Zm9vYg==");
        check("\u{fb}\u{ff}~?", "w7vDv34/");
    }

    #[test]
    fn nothing_of_a_profile_leaves_its_element() {
        let hostile = b"</script><script>alert(1)</script><!--CANNY-PROFILE-->";
        let page = page_of("<p><!--CANNY-PROFILE--></p>", hostile);
        assert!(
            page.starts_with("<p><script id=\"canny-profile\" type=\"application/gzip;base64\">")
        );
        assert!(page.ends_with("</script></p>"));
        assert_eq!(page.matches("</script").count(), 1);
        assert!(!page.contains("alert") && !page.contains(MARKER));
    }

    #[test]
    fn the_page_has_the_marker_once() {
        assert_eq!(PAGE.matches(MARKER).count(), 1);
        let page = page(b"{\"profile\":1}\n");
        assert!(page.contains("id=\"canny-profile\""));
    }

    #[test]
    fn compressed_bytes_are_taken_as_they_are() {
        let packed = gzip(b"x");
        assert_eq!(page(&packed), page(b"x"));
        assert_eq!(gunzip(&packed).unwrap().0, b"x");
    }
}
