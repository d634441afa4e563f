;; (canny process async): child processes as sources of events.

(import (scheme base) (canny process async) (canny supplies) (canny tasks) (canny test)
        (only (canny process) call-with-process process-error-status process-error?
              shell-command)
        (only (canny base) condition-kind))

(define (kind-of-error thunk)
  (guard (e ((process-error? e) (process-error-status e))
            ((error-object? e) (condition-kind e)))
    (thunk)
    'none))

(define-syntax failure
  (syntax-rules () ((_ expression) (kind-of-error (lambda () expression)))))

(define (sh text) (shell-command text))

(test-group "commands"
  (test '("a" "b") (supply->list (command-lines '("printf" "a\\nb\\n"))))
  (test '("a" "b") (supply->list (command-lines '("printf" "a\\r\\nb"))))
  (test '() (supply->list (command-lines '("true"))))
  (test '("λ") (supply->list (command-lines '("printf" "λ"))))
  ;; Each tap runs it.
  (let ((lines (command-lines '("echo" "again"))))
    (test '("again") (supply->list lines))
    (test '("again") (supply->list lines)))
  (test '("x") (supply->list (command-lines (sh "echo $X") #:variables '(("X" . "x")))))
  (test '("/") (supply->list (command-lines '("pwd") #:directory "/")))
  (test '("e") (supply->list (command-lines (sh "echo e >&2") #:error 'output)))
  (test '("B") (supply->list (command-lines (list '("echo" "b") '("tr" "a-z" "A-Z")))))
  (test (bytevector 0 255) (apply bytevector-append
                                  (supply->list (command-bytes '("printf" "\\000\\377")))))
  (test 3 (failure (supply->list (command-lines (sh "echo a; exit 3")))))
  (test '("a") (supply->list (command-lines (sh "echo a; exit 3") #:check #f)))
  (test 'file (failure (supply->list (command-lines '("canny-no-such-program")))))
  (test 'type (failure (supply->list (command-lines "echo a")))))

(test-group "the end of a tap ends the program"
  (test '("y" "y") (supply->list (supply-take (command-lines '("yes")) 2)))
  (test 'out (let ((count 0))
               (react
                (whenever (line (command-lines '("yes")))
                  (set! count (+ count 1))
                  (if (= count 1000) (done))))
               'out))
  (test 'y (guard (e ((symbol? e) e))
             (supply-for-each (lambda (line) (raise (string->symbol line)))
                              (command-lines '("yes"))))))

(test-group "a slow consumer blocks the program"
  (test 500 (let ((count 0))
              (supply-for-each (lambda (line)
                                 (if (= 0 (modulo count 50)) (yield))
                                 (set! count (+ count 1)))
                               (supply-take (command-lines '("yes" "a line of some length")) 500))
              count)))

(test-group "processes"
  (test '(("one" "two") ("three") 4)
        (call-with-process
          (sh "echo one; echo three >&2; echo two; exit 4")
          (lambda (process)
            (let ((output (supply->future (supply-batch (process-lines process) #:count 10)))
                  (error (supply->future (supply-batch (process-error-lines process) #:count 10)))
                  (end (process-future process)))
              (list (await output) (await error) (await end))))
          #:error 'pipe))
  (test #u8(97 98) (call-with-process
                     '("printf" "ab")
                     (lambda (process)
                       (apply bytevector-append (supply->list (process-bytes process))))
                     #:binary #t))
  (test 'range (call-with-process '("true") (lambda (process) (failure (process-lines process)))
                 #:output 'null))
  (test 'type (failure (process-lines 5)))
  (test 'type (failure (process-future 5))))

(test-group "ports"
  (test '("a" "b") (supply->list (line-supply (open-input-string "a\nb"))))
  (test '(#u8(1 2 3)) (supply->list (byte-supply (open-input-bytevector (bytevector 1 2 3)))))
  (test 'type (failure (line-supply (open-input-bytevector (bytevector 1)))))
  (test 'type (failure (byte-supply (open-input-string "a"))))
  (test 'type (failure (line-supply (open-output-string)))))

(test-finish)
