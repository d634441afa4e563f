;;; (canny telemetry observers): the procedures that servers, clients and databases call around
;;; their work, if telemetry is on.
;;;
;;; `(canny telemetry)` sets them. The libraries that call them load nothing of it, and test one
;;; field where it is off. An observer is called with the work as a procedure, and calls it once.
;;;
;;; | observer | called by | with |
;;; |---|---|---|
;;; | request | `(canny web server)` | request, body, handler, procedure of a handler that answers |
;;; | failure | `(canny web server)` | request, what was raised, status of the answer or #f |
;;; | exchange | `(canny web client)` | method, URI, attempts before, procedure of headers, status |
;;; | statement | `(canny sqlite)`, `(canny postgresql)` | system, text, place, thunk |

(define-library (canny telemetry observers)
  (export %request-observer %failure-observer %exchange-observer %statement-observer
          %set-observers!)
  (import (canny primitives) (canny syntax))
  (begin

    ;; The table above, in its order. Nothing but `%set-observers!` changes it.
    (define observers (make-vector 4 #f))

    (define (%request-observer) (vector-ref observers 0))
    (define (%failure-observer) (vector-ref observers 1))
    (define (%exchange-observer) (vector-ref observers 2))
    (define (%statement-observer) (vector-ref observers 3))

    ;; Sets all of them; #f for none.
    (define (%set-observers! request failure exchange statement)
      (vector-set! observers 0 request)
      (vector-set! observers 1 failure)
      (vector-set! observers 2 exchange)
      (vector-set! observers 3 statement))))
