;;; Mistakes in uses of macros are reported with the name that the program wrote, also if a local
;;; macro of the library finds them.

(import (scheme base) (scheme eval) (scheme write) (canny test))

(define (message-of form . imports)
  (guard (e (#t (error-object-message e)))
    (eval form (apply environment '(scheme base) imports))
    "nothing"))

(define (refused name)
  (string-append "no rule of the macro `" name "` matches this use [no-matching-rule]"))

(define (says? part form)
  (string-contains? part (message-of form '(srfi 227))))

(define (string-contains? part text)
  (let ((last (- (string-length text) (string-length part))))
    (let next ((start 0))
      (cond ((> start last) #f)
            ((string=? part (substring text start (+ start (string-length part)))) #t)
            (else (next (+ start 1)))))))

(test-group "names of macros"
  (test (refused "chain") (message-of '(chain 1 (+ _ 1) 5) '(srfi 197)))
  (test (refused "chain-when") (message-of '(chain-when 1 2) '(srfi 197)))
  (test (refused "chain-and") (message-of '(chain-and 1 (+ _ 1) (list _) 2) '(srfi 197)))
  (test (refused "nest") (message-of '(nest (a b) 2 c) '(srfi 197)))
  (test (refused "nest-reverse") (message-of '(nest-reverse (a b) 2) '(srfi 197)))
  (test (refused "rquote") (message-of '(rquote) '(scheme rlist)))
  (test (refused "my:chain") (message-of '(my:chain) '(prefix (srfi 197) my:)))
  (test (refused "opt*-lambda") (message-of '(opt*-lambda 5) '(srfi 227)))
  (test #t (says? "opt-lambda: an optional parameter is (name default): (b)"
                  '(opt-lambda (a (b)) 5)))
  (test #t (says? "opt*-lambda: an optional parameter is (name default): (b 1 2)"
                  '(opt*-lambda (a (b 1 2)) 5)))
  (test #t (says? "opt-lambda: a required parameter stands behind an optional one: c"
                  '(opt-lambda (a (b 1) c) 5)))
  (test #t (says? "opt*-lambda: a required parameter stands behind an optional one: c"
                  '(opt*-lambda (a (b 1) c) 5))))

(test-finish)
