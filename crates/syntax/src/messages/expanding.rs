//! Rows of the messages that the expander gives: code, title, explanation, and an example with its
//! repair.
//!
//! A code is stable once it was released, since programs of others may search for it. Tests run the
//! examples: the wrong one gives this code, and the repaired one runs.

use super::rows;

rows! { Expanding:
"foreign-form" []
"A form of another Scheme"
"Other Schemes have forms of their own for modules, records and macros. The message says what to write \
 instead. A program may define the name itself; then it means that."
"(use-modules (srfi srfi-1))
(display (fold + 0 '(1 2 3)))"
=> "(import (scheme base) (scheme write) (srfi 1))
(display (fold + 0 '(1 2 3)))";

"bad-syntax" []
"A form is not written as its keyword wants it"
"The keyword is known, but its operands are missing, too many, or of the wrong shape. The message says what \
 was expected."
"(define (sign x)
  (if))
(display (sign 1))"
=> "(define (sign x)
  (if (< x 0) -1 1))
(display (sign 1))";

"empty-call" []
"`()` is not an expression"
"A call has at least a procedure. The empty list as a value is quoted: `'()`."
"(display ())"
=> "(display '())";

"dotted-call" []
"A call is not a proper list"
"A call has no dot. A list of arguments is passed on by `apply`."
"(define numbers '(1 2))
(display (+ . numbers))"
=> "(define numbers '(1 2))
(display (apply + numbers))";

"label-in-code" []
"A datum label refers to code"
"A datum that contains itself can be quoted, but it is no code."
"#0=(display #0#)"
=> "(write '#0=(display #0#))";

"empty-body" []
"A body has no expression"
"The body of a procedure, of `let` and the like must have an expression, behind its definitions if there are \
 any."
"(define (f x)
  (define y (* x x)))
(display (f 1))"
=> "(define (f x)
  (define y (* x x))
  y)
(display (f 1))";

"bad-definition" []
"The target of a definition is not a name"
"A definition gives a value to a name."
"(define 5 6)"
=> "(define five 6)
(display five)";

"duplicate-definition" []
"A name is defined twice"
"A body and a library define each name once; a library cannot define a name that it imports. The message \
 shows the other place."
"(define (f)
  (define x 1)
  (define x 2)
  x)
(display (f))"
=> "(define (f)
  (define x 1)
  (define y 2)
  (+ x y))
(display (f))";

"duplicate-binding" []
"A form binds a name twice"
"The variables that one `let`, `do` or the like binds are all different. `let*` binds one after the other."
"(let ((x 1) (x 2))
  (display x))"
=> "(let* ((x 1) (x (+ x 1)))
  (display x))";

"duplicate-parameter" []
"A parameter occurs twice"
"The parameters of a procedure are all different."
"(define (add a a) (+ a a))
(display (add 1 2))"
=> "(define (add a b) (+ a b))
(display (add 1 2))";

"changed-meaning" []
"A name is defined after it was used with another meaning"
"In one body a name has one meaning. Here a macro or keyword of that name was used before the body's own \
 definition of it."
"(define (f x)
  (begin (define y x))
  (define (begin z) z)
  (begin y))
(display (f 1))"
=> "(define (f x)
  (begin (define y x))
  (define (start z) z)
  (start y))
(display (f 1))";

"keyword-as-variable" []
"A keyword or macro is used as a variable"
"Keywords have no value. A procedure that does the same can be passed around: `(lambda (a b) (and a b))`."
"(display (apply and '(#t #f)))"
=> "(display (let loop ((l '(#t #f))) (or (null? l) (and (car l) (loop (cdr l))))))";

"immutable-variable" []
"An imported variable is assigned"
"A variable that a library exports cannot be changed from outside. Define a variable of your own; a library \
 can export a procedure that changes its variable."
"(import (scheme base))
(set! car cdr)"
=> "(import (scheme base))
(define my-car cdr)
(my-car '(1 2))";

"immutable-environment" []
"A definition in an environment that cannot change"
"The environments that `environment` makes are fixed."
"(import (scheme base) (scheme eval))
(eval '(define x 1) (environment '(scheme base)))"
=> "(import (scheme base) (scheme eval))
(eval '(let () (define x 1) x) (environment '(scheme base)))";

"environment" []
"The environment no longer exists"
"The environment of this form was dropped before the form was evaluated."
"" => "";

"nested-too-deeply" []
"The code is nested too deeply"
"Code may be nested 10,000 levels deep. Where a macro is involved its expansion probably never ends."
"(define-syntax deeper
  (syntax-rules () ((_ x) (list (deeper x)))))
(display (deeper 1))"
=> "(define-syntax deeper
  (syntax-rules () ((_ x) (list (list x)))))
(display (deeper 1))";

"expansion-stopped" []
"The expansion was stopped"
"The expansion was cancelled, by an editor for example, or it took too long: perhaps a macro does not end."
""
=> "";

"endless-expansion" []
"The expansion of a macro does not end"
"The macro expands to another use of itself again and again. One of its rules must end that."
"(define-syntax again
  (syntax-rules () ((_ x) (again x))))
(again 1)"
=> "(define-syntax again
  (syntax-rules () ((_ x) x)))
(again 1)";

"no-matching-rule" []
"No rule of a macro matches this use"
"The form does not have the shape of any pattern of the macro's `syntax-rules`."
"(define-syntax swap!
  (syntax-rules () ((_ a b) (let ((old a)) (set! a b) (set! b old)))))
(define x 1)
(swap! x)"
=> "(define-syntax swap!
  (syntax-rules () ((_ a b) (let ((old a)) (set! a b) (set! b old)))))
(define x 1)
(define y 2)
(swap! x y)";

"ellipsis-lengths" []
"Variables under one ellipsis have different lengths"
"A template repeats variables together that matched different numbers of forms."
"(define-syntax pairs
  (syntax-rules () ((_ (a ...) (b ...)) '((a b) ...))))
(display (pairs (1 2) (3)))"
=> "(define-syntax pairs
  (syntax-rules () ((_ (a ...) (b ...)) '((a b) ...))))
(display (pairs (1 2) (3 4)))";

"bad-syntax-rules" []
"A syntax-rules form is wrong"
"A rule is `(pattern template)`. The message says what is wrong with the pattern or the template."
"(define-syntax twice
  (syntax-rules () ((_ x ... y ...) (begin x ... y ...))))"
=> "(define-syntax twice
  (syntax-rules () ((_ x ...) (begin x ... x ...))))";

"bad-transformer" []
"A keyword is not bound to a transformer"
"`define-syntax`, `let-syntax` and `letrec-syntax` bind keywords to macros. A variable is defined by \
 `define`."
"(define-syntax five 5)"
=> "(define five 5)
(display five)";

"macro-error" []
"A macro could not expand this use"
"The macro is a procedure, and it failed with the message that is shown, or no clause of its `syntax-case` \
 matches."
"(import (scheme base) (scheme write) (canny syntax-case))
(define-syntax twice
  (lambda (form)
    (syntax-case form ()
      ((_ expression) #'(+ expression expression)))))
(display (twice))"
=> "(import (scheme base) (scheme write) (canny syntax-case))
(define-syntax twice
  (lambda (form)
    (syntax-case form ()
      ((_ expression) #'(+ expression expression)))))
(display (twice 1))";

"pattern-variable" []
"A pattern variable stands outside of a template"
"The variables of a `syntax-case` pattern have no value of their own; `#'x` is the syntax that `x` matched."
"(import (scheme base) (scheme write) (canny syntax-case))
(define-syntax same
  (lambda (form)
    (syntax-case form ()
      ((_ expression) expression))))
(display (same 1))"
=> "(import (scheme base) (scheme write) (canny syntax-case))
(define-syntax same
  (lambda (form)
    (syntax-case form ()
      ((_ expression) #'expression))))
(display (same 1))";

"wrong-phase" []
"A variable has no value when macros are expanded"
"The procedure of a macro runs before the program does, so it cannot call what the program defines. The \
 procedures that it calls come from a library, or are defined in `begin-for-syntax`."
"(import (scheme base) (scheme write) (canny syntax-case))
(define (wrap form) (list #'quote form))
(define-syntax quoted (lambda (form) (wrap form)))
(display (quoted 1))"
=> "(import (scheme base) (scheme write) (canny syntax-case))
(begin-for-syntax
  (define (wrap form) (list #'quote form)))
(define-syntax quoted (lambda (form) (wrap form)))
(display (quoted 1))";

"syntax-error" []
"A macro refuses this use"
"The macro has a rule with `syntax-error`; the message is that of the macro."
"(define-syntax my-let
  (syntax-rules ()
    ((_ ((name value) ...) body ...) ((lambda (name ...) body ...) value ...))
    ((_ other ...) (syntax-error \"my-let: bad bindings\" other ...))))
(display (my-let (x 1) x))"
=> "(define-syntax my-let
  (syntax-rules ()
    ((_ ((name value) ...) body ...) ((lambda (name ...) body ...) value ...))
    ((_ other ...) (syntax-error \"my-let: bad bindings\" other ...))))
(display (my-let ((x 1)) x))";

"missing-primitive" []
"This system lacks a primitive"
"A syntax needs a procedure that this build of Canny does not have. This is a fault of the installation."
"" => "";

"code-limit" []
"A procedure is too large to be compiled"
"A procedure has more variables at once, or more code, than the bytecode can express. Generated code does \
 that; cut the procedure into several."
"" => "";
}
