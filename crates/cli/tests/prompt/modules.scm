,module
,import (shapes)
(area 2)
,module (shapes)
pi
(define pi 4)
,trace (area 2)
(area 2)
,module
,module ()
(area 2)
pi
,in (shapes) (+ pi 1)
,in (shapes)
,in (no such library) 1
,module (no such library)
,module 5
(define path "shapes.sld")
(call-with-output-file path (lambda (port) (write '(define-library (shapes) (export area perimeter) (import (scheme base)) (begin (define (area r) (list 'new r)) (define (perimeter r) (* 6 r)))) port)))
,reload (shapes)
(area 2)
(perimeter 2)
(call-with-output-file path (lambda (port) (write '(define-library (shapes) (export missing) (import (scheme base)) (begin 1)) port)))
,reload (shapes)
(area 3)
,reload (scheme base)
,reload (no such library)
,reload
(call-with-output-file "forms.scm" (lambda (port) (write '(define loaded 7) port) (write '(car loaded) port)))
,load forms.scm
loaded
,load "forms.scm"
,in (shapes) (area 1)
