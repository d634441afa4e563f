;;; (canny pretty-print): data in lines that fit a width.
;;;
;;; `(pretty-print object)` writes to the current output port, at most 79 columns where possible.
;;; A port and a width may follow the object. `(pretty-string object [width])` gives the text,
;;; without a line end behind it.
;;;
;;; The layout takes time linear in the size of the text.  Cycles are written with datum labels.

(define-library (canny pretty-print)
  (export pretty-print pretty-string)
  (import (canny primitives) (canny syntax) (canny machine control))
  (begin

    (define standard-width 79)

    (define pretty-string
      (case-lambda
        ((object) (%pretty-string object standard-width))
        ((object width) (%pretty-string object width))))

    (define pretty-print
      (case-lambda
        ((object) (pretty-print object (current-output-port) standard-width))
        ((object port) (pretty-print object port standard-width))
        ((object port width)
         (write-string (%pretty-string object width) port)
         (newline port))))))
