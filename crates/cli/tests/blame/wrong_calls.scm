;;; Calls every procedure of some libraries in wrong ways. Prints the names that conditions blame
;;; and that none of the libraries exports: users cannot know them.
;;;
;;; The libraries are the arguments, one after the other, as they are written.

(import (canny base) (canny tasks) (canny io)
        (only (canny primitives) %library-exports)
        (only (canny machine evaluation) environment eval))

;; They end the program, or run for ever.
(define left-out
  '(exit emergency-exit shut-down run-server start-server read-password abort raise-signal))

(define libraries
  (map (lambda (text) (read (open-input-string text))) (cdr (command-line))))

(define (exports library)
  (filter (lambda (name) (not (char=? #\% (string-ref (symbol->string name) 0))))
          (map (lambda (row) (if (pair? row) (car row) row)) (%library-exports library))))

(define public (make-hash-table))
(for-each (lambda (library)
            (for-each (lambda (name) (hash-table-set! public name #t)) (exports library)))
          libraries)
;; Objects that `make-parameter` gives have no other name.
(hash-table-set! public 'parameter #t)

(define argument-lists
  (list '() '(sym) '("str") '((1 2)) (list car) '(sym sym) '("str" sym) '((1 2) sym)
        (list car 'sym) '(sym "str") '(sym sym sym) '("str" sym sym)))

(define out (current-output-port))
(define told (make-hash-table))

(define (note library name object)
  (let ((who (and (error-object? object) (condition-who object))))
    (if (and who (not (hash-table-ref/default public who #f))
             (not (hash-table-ref/default told (cons who name) #f)))
        (begin
          (hash-table-set! told (cons who name) #t)
          (write (list library name who (condition->string object)) out)
          (newline out)))))

(define (call library name procedure arguments)
  (guard (object (#t (note library name object)))
    (call-with-timeout 1/5
      (lambda ()
        (parameterize ((current-output-port (open-output-string))
                       (current-error-port (open-output-string))
                       (current-input-port (open-input-string "")))
          (apply procedure arguments))))))

(define seen (make-hash-table))

(for-each
 (lambda (library)
   (let ((bindings (environment library)))
     (for-each
      (lambda (name)
        (let ((value (guard (object (#t #f)) (eval name bindings))))
          (if (and (procedure? value) (not (memq name left-out))
                   (not (hash-table-ref/default seen value #f)))
              (begin
                (hash-table-set! seen value #t)
                (for-each (lambda (arguments) (call library name value arguments))
                          argument-lists)))))
      (exports library))))
 libraries)

(write-string "done\n" out)
(exit 0)
