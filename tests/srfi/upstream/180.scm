;; JSONTestSuite, of which SRFI 180's repository has a copy: $SRFI_SUITES/srfi-180/srfi/files.
;;
;; A text y_… must be read, and nothing but white space come after its value.  A text n_… must be
;; refused, or have something after its value.  For a text i_… both is right, but no other failure.

(import (scheme base) (scheme file) (scheme write) (scheme process-context) (srfi 170) (srfi 180))

(define directory (string-append (get-environment-variable "SRFI_SUITES") "/srfi-180/srfi/files/"))
(define passed 0)
(define failed 0)

;; accepted, refused or crashed
(define (outcome name)
  (guard (object ((json-error? object) 'refused)
                 (#t 'crashed))
    (call-with-input-file (string-append directory name)
      (lambda (port)
        (if (eof-object? (json-read port))
            'refused
            (if (eof-object? (json-read port))
                'accepted
                'refused))))))

(for-each
 (lambda (name)
   (let ((wanted (cond ((not (and (> (string-length name) 5)
                                  (string=? ".json" (string-copy name (- (string-length name) 5)))))
                        #f)
                       ((char=? #\y (string-ref name 0)) '(accepted))
                       ((char=? #\n (string-ref name 0)) '(refused))
                       (else '(accepted refused)))))
     (if wanted
         (if (memq (outcome name) wanted)
             (set! passed (+ passed 1))
             (begin
               (set! failed (+ failed 1))
               (display (list name (outcome name)))
               (newline))))))
 (directory-files directory))
(display passed)
(display " passed, ")
(display failed)
(display " failed")
(newline)
