;;; (srfi 112): questions about the environment of the program.

(define-library (srfi 112)
  (export implementation-name implementation-version cpu-architecture machine-name os-name
          os-version)
  (import (canny machine protocols) (canny syntax) (canny primitives))
  (begin

    (define (implementation-name) "Canny")
    (define (implementation-version) (%implementation-version))
    (define (os-name) (list-ref (%system-names) system-name/operating-system))
    (define (machine-name) (list-ref (%system-names) system-name/node))
    (define (os-version) (list-ref (%system-names) system-name/release))
    (define (cpu-architecture) (list-ref (%system-names) system-name/hardware))))
