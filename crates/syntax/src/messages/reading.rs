//! Rows of the messages that the reader gives: code, title, explanation, and an example with its
//! repair.
//!
//! The reader of programs and the reader of data at run time share these codes. Tests run the
//! examples.

use super::rows;

rows! { Reading:
"unclosed" []
"A list or vector is not closed"
"The text ends before each `(` has its `)`. The message shows the one that is open, and, where the \
 indentation tells, the place where the `)` is likely to be missing."
"(define (square x)
  (* x x)
(display (square 3))"
=> "(define (square x)
  (* x x))
(display (square 3))";

"unexpected-close" []
"A closing parenthesis closes nothing"
"There are more `)` than `(` up to here. Often the form before has one too many."
"(define (square x)
  (* x x)))
(display (square 3))"
=> "(define (square x)
  (* x x))
(display (square 3))";

"mismatched-close" []
"A parenthesis of another shape closes this one"
"`(` is closed by `)` and `[` by `]`."
"(display (vector-ref #(1 2 3) [+ 1 1)))"
=> "(display (vector-ref #(1 2 3) [+ 1 1]))";

"unclosed-string" []
"A string is not closed"
"The text ends inside a string. The quotation mark that closes it is missing, or one inside of it needs a \
 backslash: `\\\"`."
"(display \"hello)"
=> "(display \"hello\")";

"unclosed-symbol" []
"A symbol in bars is not closed"
"A symbol that begins with `|` ends with another `|`."
"(display '|hello world)"
=> "(display '|hello world|)";

"unclosed-comment" []
"A comment is not closed"
"A comment that begins with `#|` ends with `|#`. Such comments nest: each one inside needs its own end."
"#| The first program.
(display 1)"
=> "#| The first program. |#
(display 1)";

"incomplete-token" []
"The text ends inside a token"
"The last characters of the text begin something, such as `#` or `#\\`, that is not finished."
"(display 1)
#"
=> "(display 1)";

"missing-datum" []
"Something is missing here"
"A quotation mark, `#;` or `.` stands before another datum, but nothing follows."
"(display (list 1 2 '))"
=> "(display (list 1 2 'a))";

"bad-dot" []
"A dot stands in a wrong place"
"A dot may stand before the last element of a list, with an element before and exactly one behind it."
"(display '(1 . 2 3))"
=> "(display '(1 2 . 3))";

"bad-token" []
"These characters mean nothing"
"The token is not a number, a symbol or one of the forms that begin with `#`. Symbols with unusual \
 characters stand in bars: `|a,b|`."
"(display #yes)"
=> "(display #true)";

"bad-number" []
"This is not a number"
"The token begins like a number, but is none."
"(display #xFG)"
=> "(display #xFF)";

"bad-character" []
"There is no such character"
"Behind `#\\` stands one character, a name such as `newline` or `space`, or `x` and a code point in \
 hexadecimal digits."
"(display #\\enter)"
=> "(display #\\newline)";

"bad-escape" []
"There is no such escape in a string"
"In a string a backslash stands before `n`, `t`, `r`, `a`, `b`, `\\`, `\"`, `|`, the end of a line, or `x`, \
 hexadecimal digits and a semicolon. A backslash itself is written twice."
"(display \"C:\\games\")"
=> "(display \"C:\\\\games\")";

"bad-byte" []
"An element of a bytevector is not a byte"
"The elements of `#u8(…)` are exact integers from 0 to 255."
"(display #u8(1 2 256))"
=> "(display #u8(1 2 255))";

"bad-keyword" []
"A keyword has no name"
"A keyword is `#:` and a symbol, without a space between them."
"(display '(#: 1))"
=> "(display '(#:size 1))";

"bad-directive" []
"There is no such directive"
"`#!` stands before `fold-case`, `no-fold-case` or the name of a special object, or begins the first line of \
 a script."
"#!fold-cases
(display 'Hello)"
=> "#!fold-case
(display 'Hello)";

"bad-label" []
"This is not a datum label"
"A label is `#`, a number and `=` before the datum, and `#`, the number and `#` where the datum is meant \
 again."
"(display '(#0 a))"
=> "(display '(#0=a #0#))";

"duplicate-label" []
"Two data have the same label"
"Each label of a datum is defined once."
"(display '(#0=a #0=b #0#))"
=> "(display '(#0=a #1=b #0#))";

"unknown-label" []
"No datum has this label"
"`#0#` means the datum that is marked with `#0=` in the same outermost datum."
"(display '(a #0#))"
=> "(display '(#0=a #0#))";

"empty-label" []
"A label stands for itself only"
"`#0=#0#` names nothing."
"(display '(#0=#0#))"
=> "(display '(#0=a #0#))";

"invalid-utf8" []
"The text is not UTF-8"
"Sources are text in UTF-8. The file has bytes that are none: it has another encoding, or is no text. Save \
 it as UTF-8."
"" => "";

"not-text" []
"The file is no text"
"The file has bytes that are zero, which no text has: it is a program or data, text in UTF-16, or something \
 was half written. A string has \
 such a character as `\\x0;`."
"" => "";
}
