//! Addresses of documents.

use std::path::{Path, PathBuf};

/// The path that an address names. Documents that are no files get a name that no file has.
pub fn to_path(uri: &str) -> PathBuf {
    match uri.strip_prefix("file://") {
        Some(rest) => {
            // A host may stand before the path.
            let path = rest.find('/').map_or(rest, |slash| &rest[slash..]);
            PathBuf::from(decoded(path))
        }
        None => PathBuf::from(format!("/untitled/{}", decoded(uri).replace('/', "_"))),
    }
}

/// The address of a file.
pub fn of_path(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = behind
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (first, code) {
            (b'%', Some(code)) => {
                bytes.push(code);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_back() {
        for path in ["/a/b.scm", "/a b/λ%.scm", "/x/(1)/#"] {
            assert_eq!(to_path(&of_path(Path::new(path))), Path::new(path));
        }
        assert_eq!(to_path("file:///a%20b"), Path::new("/a b"));
        assert_eq!(to_path("file:///a%2"), Path::new("/a%2"));
        assert!(to_path("untitled:Untitled-1").starts_with("/untitled"));
    }
}
