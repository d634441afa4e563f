;;; (srfi 166 color): formatting with ANSI control sequences.
;;;
;;; The state keeps what is in effect, so that the end of a formatter restores what was before it.

(define-library (srfi 166 color)
  (export as-red as-blue as-green as-cyan as-yellow as-magenta as-white as-black
          as-bold as-italic as-underline as-color as-true-color
          on-red on-blue on-green on-cyan on-yellow on-magenta on-white on-black
          on-color on-true-color)
  (import (canny syntax) (canny primitives) (srfi 166 base))
  (begin

    ;; The sequences, by which each attribute got its current value.
    (define foreground (make-state-variable "foreground" "\x1b;[39m"))
    (define background (make-state-variable "background" "\x1b;[49m"))
    (define boldness (make-state-variable "boldness" "\x1b;[22m"))
    (define slope (make-state-variable "slope" "\x1b;[23m"))
    (define line (make-state-variable "line" "\x1b;[24m"))

    (define (attributed variable sequence formatters)
      (lambda (state)
        (let ((before (%ref state variable)))
          (%emit sequence state)
          (%run (each-in-list formatters) (%extend state variable sequence))
          (%emit before state))))

    (define-syntax define-attributes
      (syntax-rules ()
        ((_ variable (name sequence) ...)
         (begin
           (define (name . formatters) (attributed variable sequence formatters))
           ...))))

    (define-attributes foreground
      (as-black "\x1b;[30m") (as-red "\x1b;[31m") (as-green "\x1b;[32m") (as-yellow "\x1b;[33m")
      (as-blue "\x1b;[34m") (as-magenta "\x1b;[35m") (as-cyan "\x1b;[36m")
      (as-white "\x1b;[37m"))

    (define-attributes background
      (on-black "\x1b;[40m") (on-red "\x1b;[41m") (on-green "\x1b;[42m") (on-yellow "\x1b;[43m")
      (on-blue "\x1b;[44m") (on-magenta "\x1b;[45m") (on-cyan "\x1b;[46m")
      (on-white "\x1b;[47m"))

    (define-attributes boldness (as-bold "\x1b;[1m"))
    (define-attributes slope (as-italic "\x1b;[3m"))
    (define-attributes line (as-underline "\x1b;[4m"))

    (define (check-component who position component limit)
      (if (not (and (exact-nonnegative-integer? component) (<= component limit)))
          (%range-error who position
                        (string-append "exact integer from 0 to " (number->string limit))
                        component)))

    ;; The cube of 216 colours starts at number 16.
    (define (indexed who start red green blue)
      (check-component who 1 red 5)
      (check-component who 2 green 5)
      (check-component who 3 blue 5)
      (string-append start "8;5;" (number->string (+ 16 (* 36 red) (* 6 green) blue)) "m"))

    (define (direct who start red green blue)
      (check-component who 1 red 255)
      (check-component who 2 green 255)
      (check-component who 3 blue 255)
      (string-append start "8;2;" (number->string red) ";" (number->string green) ";"
                     (number->string blue) "m"))

    (define (as-color red green blue . formatters)
      (attributed foreground (indexed 'as-color "\x1b;[3" red green blue) formatters))

    (define (on-color red green blue . formatters)
      (attributed background (indexed 'on-color "\x1b;[4" red green blue) formatters))

    (define (as-true-color red green blue . formatters)
      (attributed foreground (direct 'as-true-color "\x1b;[3" red green blue) formatters))

    (define (on-true-color red green blue . formatters)
      (attributed background (direct 'on-true-color "\x1b;[4" red green blue) formatters))))
