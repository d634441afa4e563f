//! Names that other languages and other Schemes have, for the message about a variable that nobody has bound.
//!
//! Only names that are unlikely to be a slip of the pen for one of the program's own; what looks like a
//! bound name is found by comparing spellings, and what a library exports by asking the libraries.

/// The replacement for a name of another Scheme or language, as a sentence.
pub fn replacement(name: &str) -> Option<&'static str> {
    Some(match name {
        "print" | "println" | "displayln" | "puts" => {
            "`display` writes a value, and `newline` ends the line"
        }
        "printf" | "fprintf" => "`format` of (srfi 48) writes values by a template",
        "len" => "`length` is for lists, `string-length` for strings, `vector-length` for vectors",
        "null" | "nil" | "None" | "undefined" => {
            "the empty list is `'()`, and for what is not there people use `#f`"
        }
        "true" | "True" => "`#t` is true",
        "false" | "False" => "`#f` is false",
        "mod" | "%" => "`modulo` and `remainder` give what a division leaves",
        "div" | "//" => "`quotient` divides whole numbers",
        "**" | "pow" => "`expt` raises to a power",
        "!=" | "/=" | "not=" => "`(not (= x y))` asks whether numbers differ",
        "==" | "===" => "`=` compares numbers, `equal?` compares anything",
        "&&" => "`and` is the word for it",
        "!" => "`not` is the word for it",
        "return" => {
            "the value of a procedure is that of its last expression; `call/ec` is for leaving early"
        }
        "def" | "defun" | "function" | "func" => {
            "`(define (name parameter …) expression …)` defines a procedure"
        }
        "fn" | "λ" => "`lambda` makes a procedure",
        "setq" | "setf" => "`define` makes a variable, and `set!` changes one",
        "progn" => "`begin` evaluates one expression after the other",
        "elif" | "elsif" | "elseif" => "`cond` chooses among several cases",
        "try" | "catch" | "except" | "throw" | "with-handlers" | "condition-case" => {
            "`guard` handles what `raise` and `error` raise"
        }
        "add1" => "`(+ x 1)` does it, and so does `1+` of (canny base)",
        "sub1" | "1-" => "`(- x 1)` does it, and so does `-1+` of (canny base)",
        "foldl" | "foldr" => "`fold` and `fold-right` are in (srfi 1)",
        "andmap" | "for-all" => "`every` is in (srfi 1)",
        "ormap" | "exists" => "`any` is in (srfi 1)",
        "hash-ref" | "hash-table-get" => "`hash-table-ref` is in (srfi 69)",
        "hash-set!" | "hash-table-put!" => "`hash-table-set!` is in (srfi 69)",
        "random" => "`random-integer` is in (canny base)",
        "list-head" => "`take` is in (srfi 1)",
        "assertion-violation" => "`error` raises a condition",
        "use-modules" | "require" | "use" => "`import` is for libraries",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::replacement;

    #[test]
    fn names_of_elsewhere_have_a_replacement() {
        assert_eq!(replacement("**"), Some("`expt` raises to a power"));
        assert_eq!(replacement("expt"), None);
    }
}
