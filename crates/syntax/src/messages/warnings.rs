//! Codes of warnings. The programs are accepted. `unbound-variable` and `wrong-argument-count` are also the
//! codes of the conditions that follow when such code runs.

use super::rows;

/// Warnings that are given only when they are asked for.
pub(super) const OFF_BY_DEFAULT: &[&str] = &["shadowed-name", "unused-import", "unused-parameter"];

rows! { Warnings:
"unbound-variable" ["unbound"]
"A variable is not bound"
"No definition and no import gives the name a meaning. It is misspelt, or an `import` is missing, or, in a \
 running program, the definition has not been executed yet. As a warning it says what the compiler sees; it \
 is an error when the variable is used."
"(define (area width height) (* width heigth))
(display (area 2 3))"
=> "(define (area width height) (* width height))
(display (area 2 3))";

"misspelt-keyword" []
"A name that is not bound looks like a keyword"
"The form is taken for the call of a variable that has no value. Errors inside of it, such as a lone `else`, \
 often follow from that."
"(define (absolute x)
  (iff (< x 0) (- x) x))
(display (absolute 5))"
=> "(define (absolute x)
  (if (< x 0) (- x) x))
(display (absolute 5))";

"wrong-argument-count" ["arity"]
"A procedure is called with a number of arguments that it does not take"
"The message shows the procedure's parameters. As a warning it is given where the compiler knows the \
 procedure; it is an error when the call is executed. Keyword arguments that a procedure does not know have \
 this code too."
"(define (add a b) (+ a b))
(display (add 1))"
=> "(define (add a b) (+ a b))
(display (add 1 2))";

"unused-variable" []
"A variable is never used"
"A variable of `let` or of an internal definition has a value that is never used. Leave it out, or let its \
 name begin with `_`, `ignore` or `unused`."
"(define (area width height)
  (let ((size (* width height)) (twice (* 2 width)))
    size))
(display (area 2 3))"
=> "(define (area width height)
  (let ((size (* width height)) (_twice (* 2 width)))
    size))
(display (area 2 3))";

"unused-definition" []
"A definition is never used"
"A program or library defines a name at its top level that it neither uses nor exports. Leave it out, or let \
 its name begin with `_`."
"(define (square x) (* x x))
(define (cube x) (* x x x))
(display (square 3))"
=> "(define (square x) (* x x))
(define (cube x) (* x x x))
(display (+ (square 3) (cube 3)))";

"unused-import" []
"Nothing of an import is used"
"No name that the import set brings is mentioned, or a name that `only` or `rename` lists is not. Programs \
 often import more than they need, so this warning is given only when it is asked for; editors show it. A \
 library that is imported for what its body does alone is written `(only (library))`; an import set without \
 names is never warned of."
";;; options: -W unused-import
(import (scheme base) (scheme write) (scheme char))
(display (+ 1 2))"
=> ";;; options: -W unused-import
(import (scheme base) (scheme write))
(display (+ 1 2))";

"unused-parameter" []
"A parameter is never used"
"The body does not look at this parameter. Procedures that are handed to others often have such parameters, \
 so this warning is given only when it is asked for. A name that begins with `_` may be unused."
";;; options: -W unused-parameter
(define (first a b) a)
(display (first 1 2))"
=> ";;; options: -W unused-parameter
(define (first a _b) a)
(display (first 1 2))";

"unreachable-code" []
"Code is never reached"
"The code before it does not return, a test is a constant, or an earlier clause of `case-lambda` takes the \
 same numbers of arguments."
"(define (check x)
  (if (< x 0)
      (begin (error \"negative:\" x) (display \"bad\"))
      x))
(display (check 1))"
=> "(define (check x)
  (if (< x 0)
      (begin (display \"bad\") (error \"negative:\" x))
      x))
(display (check 1))";

"unreachable-clause" []
"A clause of `match` is never reached"
"The patterns of the clauses before it take everything that it takes."
"(import (scheme base) (scheme write) (canny match))
(define (kind x)
  (match x (_ 'other) (2 'two)))
(display (kind 2))"
=> "(import (scheme base) (scheme write) (canny match))
(define (kind x)
  (match x (2 'two) (_ 'other)))
(display (kind 2))";

"shadowed-call" []
"A variable is called that hides a standard procedure"
"A parameter or variable has the name of a standard procedure, which then means the variable, and what is \
 called is hardly the variable's value."
"(define (pair-up list)
  (map (lambda (x) (list x x)) list))
(display \"done\")
(display (if (pair? (command-line)) 0 (pair-up '(1 2))))"
=> "(define (pair-up items)
  (map (lambda (x) (list x x)) items))
(display \"done\")
(display (if (pair? (command-line)) 0 (pair-up '(1 2))))";

"shadowed-name" []
"A name hides a standard name"
"A variable or definition has the name of something that is imported. That is allowed and usual, so this \
 warning is given only when it is asked for."
";;; options: -W shadowed-name
(define (sum list)
  (apply + list))
(display (sum '(1 2)))"
=> ";;; options: -W shadowed-name
(define (sum numbers)
  (apply + numbers))
(display (sum '(1 2)))";

"duplicate-key" []
"A key of `case` occurs twice"
"The first clause with the key is taken; the second one never is."
"(define (name n)
  (case n ((1) 'one) ((1 2) 'two) (else 'many)))
(display (name 1))"
=> "(define (name n)
  (case n ((1) 'one) ((2) 'two) (else 'many)))
(display (name 1))";
}
