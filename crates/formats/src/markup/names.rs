//! The meaning of elements' and attributes' names to readers of HTML and XML, as far as safe output
//! depends on it.
//!
//! It knows which elements have raw text or no end tag, which attributes hold programs, and which
//! URLs run one. Readers are lenient, so tests for danger accept too much rather than too little.

/// How an element of HTML is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    Usual,
    /// No content and no end tag.
    Void,
    /// Text that ends at the end tag and nowhere else; references mean nothing in it.
    Raw,
    /// Text with references, but without elements.
    Text,
    /// Everything below is read in other ways by other readers: raw content has to be without markup there.
    Foreign,
    /// Never ends.
    Endless,
}

/// How the content of an element is written; names are taken as readers take them, in any case.
pub fn content(name: &str) -> Content {
    const LENGTH_MAX: usize = 10;
    if name.len() > LENGTH_MAX {
        return Content::Usual;
    }
    match name.to_ascii_lowercase().as_str() {
        "area" | "base" | "basefont" | "bgsound" | "br" | "col" | "embed" | "frame" | "hr"
        | "img" | "input" | "keygen" | "link" | "meta" | "param" | "source" | "track" | "wbr" => {
            Content::Void
        }
        "script" | "style" | "xmp" | "iframe" | "noembed" | "noframes" => Content::Raw,
        "textarea" | "title" => Content::Text,
        "svg" | "math" | "noscript" | "select" => Content::Foreign,
        "plaintext" => Content::Endless,
        _ => Content::Usual,
    }
}

/// Whether a reader drops a line feed after the start tag.
pub fn drops_line_feed(name: &str) -> bool {
    ["pre", "textarea", "listing"]
        .iter()
        .any(|other| name.eq_ignore_ascii_case(other))
}

/// The way in which readers interpret the value of an attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    Text,
    Url,
    /// The name of a header that an element stands for: `http-equiv`.
    Header,
    /// The value of such a header: `content`.
    HeaderValue,
    /// A program or a page of its own: `onclick` and its like, `srcdoc`.
    Code,
}

pub fn attribute_value(name: &str) -> Value {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "href" | "src" | "action" | "formaction" | "data" | "cite" | "poster" | "background"
        | "ping" | "manifest" | "codebase" | "longdesc" | "icon" | "dynsrc" | "lowsrc" | "from"
        | "to" | "values" | "by" => Value::Url,
        "http-equiv" => Value::Header,
        "content" => Value::HeaderValue,
        "srcdoc" => Value::Code,
        _ if name.ends_with(":href") => Value::Url,
        _ if name.starts_with("on") => Value::Code,
        _ => Value::Text,
    }
}

/// Whether a reader of HTML or XML takes a URL for a program: `javascript:` and its like, however it is
/// written.
pub fn is_program(url: &[u8]) -> bool {
    // Readers pass over control characters and spaces before the scheme, and tabs and ends of lines in it.
    let mut scheme = url
        .iter()
        .copied()
        .skip_while(|&byte| byte <= b' ')
        .filter(|byte| !matches!(byte, b'\t' | b'\n' | b'\r'))
        .map(|byte| byte.to_ascii_lowercase());
    let mut begins_with = |text: &[u8]| text.iter().all(|&byte| scheme.next() == Some(byte));
    match url
        .iter()
        .find(|&&byte| byte > b' ')
        .map(u8::to_ascii_lowercase)
    {
        Some(b'j') => begins_with(b"javascript:"),
        Some(b'v') => begins_with(b"vbscript:"),
        Some(b'd') => {
            if !begins_with(b"data:") {
                return false;
            }
            let rest: Vec<u8> = scheme.take(b"image/svg".len()).collect();
            let is_picture = [&b"image/"[..], b"audio/", b"video/", b"font/"]
                .iter()
                .any(|kind| rest.starts_with(kind));
            !is_picture || rest == b"image/svg"
        }
        _ => false,
    }
}

/// Whether a value of the header `refresh`, written as an attribute, leads to a program: seconds, a
/// semicolon or a comma, and a URL, before which `url=` and a quote may stand. Readers are lenient
/// about all but the URL, and so is this.
pub fn refreshes_to_program(value: &[u8]) -> bool {
    let is_before_url = |byte: &u8| byte.is_ascii_digit() || *byte <= b' ' || b".;,".contains(byte);
    let skip = |bytes: &[u8]| bytes.iter().take_while(|byte| is_before_url(byte)).count();
    let url = &value[skip(value)..];
    let named = url.split_at_checked(3).and_then(|(name, rest)| {
        let rest = rest.trim_ascii_start().strip_prefix(b"=")?;
        name.eq_ignore_ascii_case(b"url")
            .then(|| rest.trim_ascii_start())
    });
    let url = named.unwrap_or(url);
    let quoted = url
        .strip_prefix(b"'")
        .or_else(|| url.strip_prefix(b"&quot;"));
    is_program(quoted.unwrap_or(url))
}

/// Whether a name of an element or attribute can be written. Names of elements are those of XML;
/// attributes of HTML may have whatever does not end them.
pub fn is_name(name: &str, is_html_attribute: bool) -> bool {
    if is_html_attribute {
        let ends = |character: char| {
            character.is_control()
                || character == ' '
                || matches!(character, '"' | '\'' | '>' | '/' | '=' | '<' | '`' | '&')
                || matches!(character as u32 & 0xffff, 0xfffe | 0xffff)
        };
        return !name.is_empty() && !name.contains(ends);
    }
    let mut characters = name.chars();
    characters.next().is_some_and(is_name_start) && characters.all(is_name_character)
}

/// Whether a name of XML may begin with the character.
pub fn is_name_start(character: char) -> bool {
    matches!(character,
        ':' | 'A'..='Z' | '_' | 'a'..='z' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}'
        | '\u{f8}'..='\u{2ff}' | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}'
        | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}' | '\u{2c00}'..='\u{2fef}'
        | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{effff}')
}

/// Whether a name of XML may have the character.
pub fn is_name_character(character: char) -> bool {
    is_name_start(character)
        || matches!(character,
            '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}

/// Whether raw content ends its element, or begins what hides the end.
pub fn ends_raw(content: &[u8], name: &str) -> bool {
    let is_script = name.eq_ignore_ascii_case("script");
    content.iter().enumerate().any(|(index, &byte)| {
        let rest = &content[index..];
        byte == b'<'
            && (rest.get(1) == Some(&b'/')
                && rest
                    .get(2..2 + name.len())
                    .is_some_and(|end| end.eq_ignore_ascii_case(name.as_bytes()))
                || is_script && (rest.starts_with(b"<!--")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_in_urls_are_found_however_they_are_written() {
        for url in [
            "javascript:alert(1)",
            " JavaScript:alert(1)",
            "\u{1}java\nscript\t:alert(1)",
            "vbscript:x",
            "data:text/html,<script>",
            "data:image/svg+xml,<svg>",
            "data:,x",
        ] {
            assert!(is_program(url.as_bytes()), "{url:?}");
        }
        for url in [
            "/javascript:x",
            "https://example.org/?javascript:",
            "java",
            "",
            "data:image/png;base64,AA==",
            "dataset",
            "#javascript:",
        ] {
            assert!(!is_program(url.as_bytes()), "{url:?}");
        }
    }

    #[test]
    fn refreshing_leads_to_programs_however_it_is_written() {
        for value in [
            "0;url=javascript:alert(1)",
            "0; URL = JavaScript:alert(1)",
            " 0.5 , url='java\tscript:alert(1)",
            "0;url=&quot;data:text/html,x",
            "0;javascript:x",
            "0 vbscript:x",
            ";;url=javascript:x",
        ] {
            assert!(refreshes_to_program(value.as_bytes()), "{value:?}");
        }
        for value in [
            "5",
            "0;url=/",
            "0; url=https://example.org/?javascript:",
            "text/html; charset=utf-8",
            "url",
            "",
        ] {
            assert!(!refreshes_to_program(value.as_bytes()), "{value:?}");
        }
    }

    #[test]
    fn what_ends_raw_content() {
        assert!(ends_raw(b"x </ScRiPt >", "script"));
        assert!(ends_raw(b"<!-- <script>", "script"));
        assert!(!ends_raw(b"<!-- a --> </scrip", "style"));
        assert!(!ends_raw(b"a < b && c </ b", "script"));
    }

    #[test]
    fn names() {
        assert!(is_name("my-element", false) && is_name("svg:a", false));
        assert!(!is_name("a b", false) && !is_name("", false) && !is_name("1a", false));
        assert!(is_name("@click.prevent", true) && !is_name("x=y", true) && !is_name("a\"b", true));
    }
}
