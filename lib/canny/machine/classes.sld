;;; (canny machine classes): the classes of objects that are not records.
;;;
;;; A class is a record type. Objects of the machine's own kinds have classes too: record types that
;;; have no records. `(canny generic)` knows which object belongs to which. This library has only
;;; the types, so that a library can derive a record type from one of them without loading the rest.

(define-library (canny machine classes)
  (export <object> <number> <complex> <real> <rational> <integer> <fixnum> <bignum> <flonum>
          <list> <pair> <null> <symbol> <keyword> <char> <boolean> <string> <vector> <bytevector>
          <procedure> <hash-table> <port> <eof-object> <condition> <environment> <class> <record>)
  (import (canny primitives) (canny syntax))
  (begin
    (define-record-type <object> #f #f)
    (define-record-type (<number> <object>) #f #f)
    (define-record-type (<complex> <number>) #f #f)
    (define-record-type (<real> <complex>) #f #f)
    (define-record-type (<rational> <real>) #f #f)
    (define-record-type (<integer> <rational>) #f #f)
    (define-record-type (<fixnum> <integer>) #f #f)
    (define-record-type (<bignum> <integer>) #f #f)
    (define-record-type (<flonum> <real>) #f #f)
    (define-record-type (<list> <object>) #f #f)
    (define-record-type (<pair> <list>) #f #f)
    (define-record-type (<null> <list>) #f #f)
    (define-record-type (<symbol> <object>) #f #f)
    (define-record-type (<keyword> <object>) #f #f)
    (define-record-type (<char> <object>) #f #f)
    (define-record-type (<boolean> <object>) #f #f)
    (define-record-type (<string> <object>) #f #f)
    (define-record-type (<vector> <object>) #f #f)
    (define-record-type (<bytevector> <object>) #f #f)
    (define-record-type (<procedure> <object>) #f #f)
    (define-record-type (<hash-table> <object>) #f #f)
    (define-record-type (<port> <object>) #f #f)
    (define-record-type (<eof-object> <object>) #f #f)
    (define-record-type (<condition> <object>) #f #f)
    (define-record-type (<environment> <object>) #f #f)
    (define-record-type (<class> <object>) #f #f)
    (define-record-type (<record> <object>) #f #f)))
