//! Maps libraries of other Schemes to the libraries here that replace them, for error messages.
//!
//! The table has one row per library. It is read only after an import has failed, and changes
//! nothing about imports. A test checks that every replacement exists.

/// Names as they are written there, without a version, and the library here.
const LIBRARIES: &[(&str, &str)] = &[
    // Guile
    ("(guile)", "(canny base)"),
    ("(ice-9 match)", "(canny match)"),
    ("(ice-9 format)", "(srfi 48)"),
    ("(ice-9 regex)", "(canny regexp)"),
    ("(ice-9 receive)", "(srfi 8)"),
    ("(ice-9 optargs)", "(canny base)"),
    ("(ice-9 rdelim)", "(scheme base)"),
    ("(ice-9 textual-ports)", "(scheme base)"),
    ("(ice-9 binary-ports)", "(scheme base)"),
    ("(ice-9 pretty-print)", "(canny pretty-print)"),
    ("(ice-9 hash-table)", "(srfi 69)"),
    ("(ice-9 threads)", "(srfi 18)"),
    ("(ice-9 popen)", "(canny process)"),
    ("(ice-9 ftw)", "(canny fs)"),
    ("(ice-9 getopt-long)", "(srfi 37)"),
    ("(ice-9 string-fun)", "(srfi 13)"),
    ("(ice-9 q)", "(srfi 117)"),
    ("(ice-9 control)", "(canny base)"),
    // Racket
    ("racket", "(scheme base)"),
    ("racket/base", "(scheme base)"),
    ("racket/list", "(srfi 1)"),
    ("racket/string", "(srfi 13)"),
    ("racket/vector", "(srfi 133)"),
    ("racket/match", "(canny match)"),
    ("racket/format", "(srfi 48)"),
    ("racket/math", "(scheme inexact)"),
    ("racket/set", "(srfi 113)"),
    ("racket/hash", "(srfi 69)"),
    ("racket/file", "(scheme file)"),
    ("racket/port", "(scheme base)"),
    ("racket/system", "(canny process)"),
    ("racket/stream", "(srfi 41)"),
    ("racket/generator", "(srfi 158)"),
    ("racket/date", "(srfi 19)"),
    ("racket/pretty", "(canny pretty-print)"),
    ("racket/function", "(srfi 235)"),
    ("rackunit", "(canny test)"),
    ("json", "(canny json)"),
    ("math", "(scheme inexact)"),
    // Chicken
    ("scheme", "(scheme base)"),
    ("(chicken base)", "(canny base)"),
    ("(chicken format)", "(srfi 48)"),
    ("(chicken io)", "(scheme base)"),
    ("(chicken port)", "(scheme base)"),
    ("(chicken string)", "(srfi 13)"),
    ("(chicken sort)", "(srfi 132)"),
    ("(chicken file)", "(canny fs)"),
    ("(chicken pathname)", "(canny fs)"),
    ("(chicken process)", "(canny process)"),
    ("(chicken process-context)", "(scheme process-context)"),
    ("(chicken random)", "(srfi 27)"),
    ("(chicken time)", "(scheme time)"),
    ("(chicken pretty-print)", "(canny pretty-print)"),
    ("(chicken condition)", "(scheme base)"),
    ("(chicken irregex)", "(srfi 115)"),
    ("(chicken bitwise)", "(srfi 151)"),
    ("(chicken fixnum)", "(srfi 143)"),
    ("(chicken flonum)", "(srfi 144)"),
    ("(chicken tcp)", "(canny net)"),
    ("irregex", "(srfi 115)"),
    ("matchable", "(canny match)"),
    ("extras", "(canny base)"),
    ("data-structures", "(canny base)"),
    ("ports", "(scheme base)"),
    ("files", "(canny fs)"),
    ("posix", "(canny fs)"),
    ("test", "(canny test)"),
    // Chez, Gambit, Gauche, MIT Scheme, Bigloo
    ("(chezscheme)", "(canny base)"),
    ("(scheme)", "(canny base)"),
    ("(gambit)", "(canny base)"),
    ("(gauche base)", "(canny base)"),
    ("gauche.sequence", "(srfi 1)"),
    ("gauche.test", "(canny test)"),
    ("gauche.process", "(canny process)"),
    ("gauche.net", "(canny net)"),
    ("file.util", "(canny fs)"),
    ("rfc.json", "(canny json)"),
    ("util.match", "(canny match)"),
    ("format", "(srfi 48)"),
    ("synchronous-subprocess", "(canny process)"),
    ("regular-expression", "(canny regexp)"),
];

/// Every library here that is named as a replacement.
pub fn replacements() -> impl Iterator<Item = &'static str> {
    LIBRARIES.iter().map(|(_, here)| *here)
}

/// The library here that has what a library of elsewhere is imported for.
pub fn replacement(name: &str) -> Option<String> {
    if let Some((_, here)) = LIBRARIES.iter().find(|(there, _)| *there == name) {
        return Some((*here).to_owned());
    }
    // `srfi-1`, `srfi/1`, `(srfi srfi-1)`, `(srfi :1)`, with a name behind it perhaps.
    let bare = name.strip_prefix("(srfi ").unwrap_or(name);
    let number = ["srfi-", "srfi/", ":"]
        .iter()
        .find_map(|start| bare.strip_prefix(start))?;
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    let is_whole = !number[digits..].starts_with(|c: char| c.is_alphanumeric());
    (digits > 0 && is_whole).then(|| format!("(srfi {})", &number[..digits]))
}

#[cfg(test)]
mod tests {
    use super::replacement;

    #[test]
    fn libraries_of_elsewhere_have_a_replacement() {
        let found = |name: &str| replacement(name).unwrap_or_default();
        assert_eq!(found("(ice-9 match)"), "(canny match)");
        for name in ["srfi-1", "srfi/1", "(srfi srfi-1)", "(srfi :1 lists)"] {
            assert_eq!(found(name), "(srfi 1)");
        }
        for name in ["(srfi 1)", "(my library)", "srfi-", "srfi-one", "srfi-1x"] {
            assert_eq!(found(name), "");
        }
    }
}
