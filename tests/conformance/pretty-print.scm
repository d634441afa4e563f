;;; (canny pretty-print) and (canny trace).

(import (scheme base) (scheme write) (scheme read) (scheme process-context)
        (canny pretty-print) (canny trace) (canny test))

(define (printed object . rest)
  (let ((port (open-output-string)))
    (apply pretty-print object port rest)
    (get-output-string port)))

(test-group "pretty-print"
  (test "(1 2 3)\n" (printed '(1 2 3)))
  (test "\"a\\nb\"\n" (printed "a\nb"))
  (test "(1 2\n 3 4)\n" (printed '(1 2 3 4) 5))
  (test "(define (f x)\n  (g (h x)\n     (h x)))\n" (printed '(define (f x) (g (h x) (h x))) 16))
  (test "((a . 1)\n (b . 2))\n" (printed '((a . 1) (b . 2)) 10))
  (test "(1 2\n 3 4)" (pretty-string '(1 2 3 4) 5))
  (test-error (pretty-string '(1) 'wide)))

(test-group "cycles and what can be read again"
  (let ((cycle (list 1 2 3)))
    (set-cdr! (cddr cycle) cycle)
    (test "#0=(1 2 3 . #0#)\n" (printed cycle)))
  (let ((data
         '(let loop ((i 0) (s "a ( b")) (if (< i 10) (loop (+ i 1) #\() `(,i ,@(list s) #(1 2)))))
        (again (lambda (width object)
                 (read (open-input-string (printed object width))))))
    (for-each (lambda (width) (test data (again width data)))
              '(1 10 20 40 80))
    (test (make-vector 500 '(a . b)) (again 30 (make-vector 500 '(a . b))))))

(test-group "traced procedures"
  (define (told thunk)
    (let ((port (open-output-string)))
      (parameterize ((current-output-port port))
        (thunk))
      (get-output-string port)))
  (define count (traced 'count (lambda (n) (if (= n 0) 'done (count (- n 1))))))
  (define both (traced 'both (lambda () (values 1 2))))
  (test "(count 1)\n|  (count 0)\n|  done\ndone\n" (told (lambda () (count 1))))
  (test "(both)\n1\n2\n" (told (lambda () (both))))
  (let ((values #f) (result #f))
    (told (lambda ()
            (set! values (call-with-values both list))
            (set! result (count 3))))
    (test '(1 2) values)
    (test 'done result))
  (let ((leave (traced 'leave (lambda (k) (k 'left)))))
    (test "(count 0)\ndone\n"
          (begin
            (told (lambda () (call-with-current-continuation leave)))
            (told (lambda () (count 0)))))))

(test-finish)
