;;; expect: Hello, world!
;;; The least a program can do: every engine's start-up.
(import (scheme base) (scheme write))
(display "Hello, world!")
(newline)
