//! The smallest `ar` archive: one member, so that the linker takes an object as a static library.

/// Wraps an object file into an archive of one member without a symbol index.
pub fn archive(name: &str, object: &[u8]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    let member = format!("{name}/");
    bytes.extend(
        format!(
            "{member:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
            0,
            0,
            0,
            "644",
            object.len()
        )
        .bytes(),
    );
    bytes.extend(object);
    if !object.len().is_multiple_of(2) {
        bytes.push(b'\n');
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::archive;

    #[test]
    fn header_has_sixty_bytes_and_even_members() {
        let bytes = archive("x.o", b"abc");
        assert_eq!(bytes.len(), 8 + 60 + 4);
        assert_eq!(&bytes[8 + 58..8 + 60], b"`\n");
    }
}
