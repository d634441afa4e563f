//! Rows of the messages about libraries and imports: code, title, explanation, and an example with
//! its repair.
//!
//! `canny explain` and `docs/errors.md` show these texts. Examples are run by tests where one file
//! is enough.

use super::rows;

rows! { Libraries:
"library-not-found" []
"There is no such library"
"A library is a file `my/lib.sld` for `(my lib)`, in a directory that is searched, or stands in the \
 program's file. The message lists the directories; `-I DIR` adds one."
"(import (scheme base) (scheme writ))
(display 1)"
=> "(import (scheme base) (scheme write))
(display 1)";

"library-not-defined" []
"The file does not define the library"
"The file with the library's name was found, but what it defines has another name. The name in \
 `define-library` and the path of the file must agree."
"" => "";

"unreadable-library" []
"The file of a library cannot be read"
"The file was found, but the system refuses to read it. The message says why."
"" => "";

"not-a-library" []
"The file holds something else than libraries"
"A library file has `define-library` forms only. A program's text is brought in by `include` or `load`."
"" => "";

"no-source" []
"A library of Canny's own cannot be loaded again"
"`,reload` at the prompt reads a library's file again. The standard libraries are in the `canny` command and \
 have no file."
"" => "";

"failed-import" []
"A library has errors of its own"
"The library that is imported has errors, which are shown before this message."
"" => "";

"cyclic-import" []
"Libraries import each other"
"A library cannot import, directly or through others, a library that imports it. Move what both need to a \
 third one."
"(define-library (a) (import (scheme base) (b)) (export x) (begin (define x 1)))
(define-library (b) (import (scheme base) (a)) (export y) (begin (define y 2)))
(import (scheme base) (a))"
=> "(define-library (b) (import (scheme base)) (export y) (begin (define y 2)))
(define-library (a) (import (scheme base) (b)) (export x) (begin (define x y)))
(import (scheme base) (a))";

"missing-export" []
"The library does not export this name"
"`only`, `except` and `rename` name exports of the library. The message has a name that looks like it, if \
 there is one."
"(import (only (scheme base) vector-ref vecotr-length))"
=> "(import (only (scheme base) vector-ref vector-length))";

"conflicting-import" []
"Two libraries export different things of the same name"
"A name can be imported from several libraries only when it is the same thing in all. Leave it out of one by \
 `except`, or give it another name by `rename` or `prefix`."
"(import (scheme base) (rename (scheme write) (display list)))"
=> "(import (scheme base) (rename (scheme write) (display show)))";

"missing-import" []
"A keyword is used and not imported"
"A program that begins with `import` has what it imports and nothing else: without `(scheme base)` not even \
 `define`, `if` and `quote`, for which `'` is an abbreviation. A program without any `import` has the names \
 of the prompt."
"(import (scheme write))
(define answer 42)
(display answer)"
=> "(import (scheme base) (scheme write))
(define answer 42)
(display answer)";

"bad-import" []
"This is not an import set"
"An import set is the name of a library, or `only`, `except`, `prefix` or `rename` around another import set."
"(import (scheme base) (prefix (scheme write)))"
=> "(import (scheme base) (prefix (scheme write) w:))";

"bad-library-name" []
"This is not the name of a library"
"The name of a library is a list of symbols and exact non-negative integers."
"(import (scheme base) (srfi \"1\"))"
=> "(import (scheme base) (srfi 1))";

"bad-declaration" []
"This is not a declaration of a library"
"Inside `define-library` stand `export`, `import`, `begin`, `include`, `include-ci`, \
 `include-library-declarations` and `cond-expand`. Definitions stand in `begin`."
"(define-library (a) (import (scheme base)) (export x) (define x 1))
(import (scheme base) (a))"
=> "(define-library (a) (import (scheme base)) (export x) (begin (define x 1)))
(import (scheme base) (a))";

"bad-export" []
"This is not an export"
"An export is a name, or `(rename inner outer)`."
"(define-library (a) (import (scheme base)) (export (x y)) (begin (define x 1)))
(import (scheme base) (a))"
=> "(define-library (a) (import (scheme base)) (export (rename x y)) (begin (define x 1)))
(import (scheme base) (a))";

"undefined-export" []
"An exported name is not defined"
"A library must define or import each name that it exports."
"(define-library (a) (import (scheme base)) (export size) (begin (define sise 1)))
(import (scheme base) (a))"
=> "(define-library (a) (import (scheme base)) (export size) (begin (define size 1)))
(import (scheme base) (a))";

"duplicate-export" []
"Two exports have the same name"
"Each export of a library has a name of its own."
"(define-library (a) (import (scheme base)) (export x (rename y x)) (begin (define x 1) (define y 2)))
(import (scheme base) (a))"
=> "(define-library (a) (import (scheme base)) (export x y) (begin (define x 1) (define y 2)))
(import (scheme base) (a))";

"unreadable-file" []
"A file cannot be read"
"The program or an included file is not there, or the system refuses it. A name in `include` is looked up \
 beside the file that includes it. The message says what the system said."
"(include \"no-such-file.scm\")"
=> "(display \"the definitions stand here\")";

"endless-include" []
"Files include each other"
"A file includes itself, directly or through others."
"(include \"example.scm\")"
=> "(display 1)";

"reload" []
"A library cannot be loaded again"
"The library belongs to Canny: it is in the binary, and there is no source to load."
"" => "";

"image" []
"A library of Canny cannot be loaded"
"The standard library inside of `canny` is damaged, or is not that of this build. This is a fault of the \
 installation."
"" => "";
}
