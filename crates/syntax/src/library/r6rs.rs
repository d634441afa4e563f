//! Messages for libraries written for R6RS, which Canny does not run.
//!
//! It recognizes `(library …)` forms and imports of `(rnrs …)`, and names the R7RS form or library
//! to use instead. Nothing here accepts R6RS code.

use crate::diagnostic::Diagnostic;
use crate::library_name::Family;
use crate::span::Span;
use crate::syntax::Syntax;

/// The libraries to import in place of a library of R6RS; `None` for any other.
pub(super) fn replacement(key: &str) -> Option<&'static str> {
    if Family::of(key) != Family::Rnrs {
        return None;
    }
    let words = key.strip_prefix("(rnrs")?;
    // The version comes last.
    let words = words.split(['(', ')']).next().unwrap_or_default();
    Some(match words.trim() {
        "base" => {
            "(scheme base), (scheme inexact) and (scheme complex) have most of it; `error` takes the message \
             first, \
             `floor/` and `truncate/` divide"
        }
        "control" => "(scheme base) and (scheme case-lambda) have it",
        "lists" => "(srfi 1) has it: `every`, `any`, `fold` for `for-all`, `exists`, `fold-left`",
        "sorting" => "(srfi 132) has it",
        "hashtables" => "(srfi 126) has it",
        "unicode" => "(scheme char) has most of it",
        "bytevectors" => "(scheme bytevector) has it",
        "io simple" => "(scheme read), (scheme write) and (scheme file) have it",
        "io ports" => "(scheme base) and (scheme file) have ports",
        "files" => "(scheme file) has it",
        "programs" => "(scheme process-context) has it",
        "eval" => "(scheme eval) has it",
        "exceptions" => "(scheme base) has it",
        "conditions" => "(srfi 35) has conditions",
        "records syntactic" | "records procedural" | "records inspection" => "(srfi 237) has it",
        "syntax-case" => "(canny syntax-case) has it",
        "arithmetic fixnums" => "(srfi 143) has fixnums",
        "arithmetic flonums" => "(srfi 144) has flonums",
        "arithmetic bitwise" => "(srfi 151) has it",
        "enums" => "(srfi 209) has enumerations",
        "mutable-pairs" | "mutable-strings" => "(scheme base) has it",
        "r5rs" => "(scheme r5rs) has it",
        "" => "(scheme base) has the core, (scheme write) and other libraries of R7RS the rest",
        _ => "R7RS and the SRFIs have others",
    })
}

/// Whether a form looks like a library of R6RS.
pub(crate) fn is_library(form: &Syntax) -> bool {
    let head_of = |form: &Syntax| {
        let head = form.as_pair()?.car.as_identifier()?;
        Some(head.name.as_str())
    };
    head_of(form) == Some("library")
        && form.elements().is_some_and(|elements| {
            let is_export = elements.get(2).and_then(head_of) == Some("export");
            is_export && elements[1].as_pair().is_some()
        })
}

/// The error about a library in the form of R6RS.
pub(crate) fn diagnostic(span: Span) -> Diagnostic {
    let message =
        "this library is in the form of R6RS, which cannot be used; R7RS has define-library";
    Diagnostic::error("not-a-library", span, message)
        .note("write (define-library NAME (export …) (import …) (begin DEFINITION …))")
}

#[cfg(test)]
mod tests {
    use super::replacement;

    #[test]
    fn libraries_of_r6rs_are_known() {
        assert_eq!(replacement("(rnrs sorting)"), Some("(srfi 132) has it"));
        assert_eq!(
            replacement("(rnrs sorting (6))"),
            replacement("(rnrs sorting)")
        );
        assert!(replacement("(rnrs)").is_some_and(|text| text.contains("(scheme base)")));
        assert!(replacement("(rnrs (6))") == replacement("(rnrs)"));
        assert_eq!(replacement("(rnrsx)"), None);
        assert_eq!(replacement("(scheme base)"), None);
    }
}
