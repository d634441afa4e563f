;; SRFI 37: parsing program arguments.

(import (scheme base) (srfi 37) (canny test))

(define (note option name argument seen) (cons (list name argument) seen))
(define options
  (list (option '(#\a "all") #f #f note)
        (option '(#\r "required") #t #f note)
        (option '(#\o "optional") #f #t note)))
(define (parse . arguments)
  (reverse
   (args-fold arguments options
              (lambda (option name argument seen) (cons (list 'unknown name argument) seen))
              cons
              '())))

(test '() (parse))
(test '("x" "y") (parse "x" "y"))
(test '((#\a #f)) (parse "-a"))
(test '((#\a #f) (#\a #f) "x") (parse "-aa" "x"))
(test '((#\r "x")) (parse "-rx"))
(test '((#\r "x") "y") (parse "-r" "x" "y"))
(test '((#\a #f) (#\r "x")) (parse "-arx"))
(test '((#\a #f) (#\r "x")) (parse "-ar" "x"))
(test '((#\r #f)) (parse "-r"))
(test '((#\o #f) "x") (parse "-o" "x"))
(test '((#\o "x")) (parse "-ox"))
(test '((#\a #f) (#\o "a")) (parse "-aoa"))
(test '(("all" #f)) (parse "--all"))
(test '(("required" "x")) (parse "--required=x"))
(test '(("required" "x")) (parse "--required" "x"))
(test '(("required" "")) (parse "--required="))
(test '(("required" "a=b")) (parse "--required=a=b"))
(test '(("required" #f)) (parse "--required"))
(test '(("optional" #f) "x") (parse "--optional" "x"))
(test '(("optional" "x")) (parse "--optional=x"))
(test '(("all" "x")) (parse "--all=x"))
(test '((unknown #\z #f) (#\a #f) (unknown "zoo" "1") (unknown "zap" #f))
      (parse "-za" "--zoo=1" "--zap"))
(test '("x" "-a" "--all" "--") (parse "x" "--" "-a" "--all" "--"))
(test '("-" (#\a #f)) (parse "-" "-a"))
;; Several seeds.
(test-values (2 '("y" "x"))
  (args-fold '("x" "-a" "y" "-a")
             (list
              (option '(#\a) #f #f (lambda (o n a count operands) (values (+ count 1) operands))))
             (lambda (o n a count operands) (values count operands))
             (lambda (operand count operands) (values count (cons operand operands)))
             0 '()))
;; No seed.
(test '("x") (let ((seen '()))
               (args-fold '("x") '() (lambda (o n a) (values))
                          (lambda (x) (set! seen (cons x seen)) (values)))
               seen))
(let ((o (car options)))
  (test-true (option? o))
  (test-false (option? 1))
  (test '(#\a "all") (option-names o))
  (test #f (option-required-arg? o))
  (test #f (option-optional-arg? o))
  (test #t (eq? note (option-processor o))))
;; An unrecognized option is a new one.
(test '(("z") #f)
  (args-fold '("--z") '() (lambda (o n a s) (list (option-names o) (option-required-arg? o))) cons
             '()))
(test-error (option 'a #f #f note))
(test-error (option '(#\a) #f #f 5))

(test-finish)
