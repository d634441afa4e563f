;; SRFI 193: the command line and the script.

(import (except (scheme base)) (srfi 193) (canny test))

(test-true (and (pair? (command-line)) (string? (car (command-line)))))
(test "193" (command-name))
(test '() (command-args))
(test-true
 (let ((file (script-file)))
   (and (char=? #\/ (string-ref file 0))
        (string=? "193.scm" (string-copy file (- (string-length file) 7))))))
(test (script-file) (string-append (script-directory) "193.scm"))
(parameterize ((command-line '("/usr/bin/tool-1.0" "a" "b")))
  (test "tool-1.0" (command-name))
  (test '("a" "b") (command-args)))
(parameterize ((command-line '(""))) (test #f (command-name)))
(parameterize ((command-line '(".scm"))) (test ".scm" (command-name)))
(test-error (parameterize ((command-line '())) 1))

(test-finish)
