,help
,help frame
,help nonsense
,nonsense 5
,tiem (+ 1 2)
,
,expand (let loop ((i 0)) (if (< i 3) (loop (+ i 1))))
,expand (if)
,expand
,optimize (let ((a 1) (b 2)) (list (+ a b) (begin (display "no") 5)))
,optimize (define y 5)
,optimize (+ y 1)
,optimize 1 2
,disassemble
,describe car
,describe if
,describe when
(define* (keyed a #:optional b #:key c d) (list a b c d))
,describe keyed
,describe map
,describe '(1 2)
,describe 1.5
,describe no-such-name
,apropos condition-po
,apropos pretty-str
,apropos "no such name"
,apropos
,binding
,binding (scheme case-lambda)
,binding (no such library)
,import (scheme nonsense)
,import (only (srfi 1) fold) (prefix (srfi 1) l:)
(l:fold + 0 '(1 2 3))
,load no-such-file.scm
,load
,time (error "inside")
,pp
,exp 'x
,trace
,tasks
,tasks some
