;;; (srfi 37): args-fold, a parser of program arguments.

(define-library (srfi 37)
  (export args-fold option option? option-names option-required-arg? option-optional-arg?
          option-processor)
  (import (canny syntax) (canny primitives) (only (canny data lists) member))
  (begin

    (define-record-type option-type
      (make-option names required-arg? optional-arg? processor)
      option?
      (names option-names)
      (required-arg? option-required-arg?)
      (optional-arg? option-optional-arg?)
      (processor option-processor))

    (define (option names required-arg? optional-arg? processor)
      (if (not (and (list? names) (every-name? names)))
          (%type-error 'option 1 "list of characters and strings" names))
      (if (not (procedure? processor))
          (%type-error 'option 4 "procedure" processor))
      (make-option names required-arg? optional-arg? processor))

    (define (every-name? names)
      (or (null? names)
          (and (or (char? (car names)) (string? (car names)))
               (every-name? (cdr names)))))

    (define (args-fold arguments options unrecognized-option-processor operand-processor . seeds)

      (define (find-option name)
        (let loop ((rest options))
          (cond ((null? rest) #f)
                ((member name (option-names (car rest))) (car rest))
                (else (loop (cdr rest))))))

      ;; Calls a processor and continues with the seeds that it returns.
      (define (process option name argument seeds continue)
        (continue (%values->list
                   (%apply (option-processor option) (cons* option name argument seeds)))))

      (define (recognize name)
        (or (find-option name)
            (make-option (list name) #f #f unrecognized-option-processor)))

      (define (operands arguments seeds)
        (if (null? arguments)
            (%list->values seeds)
            (operands (cdr arguments)
                      (%values->list (%apply operand-processor (cons (car arguments) seeds))))))

      ;; The short options of an argument from an index on.
      (define (short-options argument index rest seeds)
        (if (= index (string-length argument))
            (next rest seeds)
            (let* ((name (string-ref argument index))
                   (option (recognize name))
                   (index (+ index 1))
                   (last? (= index (string-length argument))))
              (cond ((and (not last?)
                          (or (option-required-arg? option) (option-optional-arg? option)))
                     (process option name (substring argument index) seeds
                              (lambda (seeds) (next rest seeds))))
                    ((and last? (option-required-arg? option) (pair? rest))
                     (process option name (car rest) seeds
                              (lambda (seeds) (next (cdr rest) seeds))))
                    (else
                     (process option name #f seeds
                              (lambda (seeds) (short-options argument index rest seeds))))))))

      (define (long-option argument rest seeds)
        (let ((end (%string-index argument #\=)))
          (if (and end (> end 2))
              (let ((name (substring argument 2 end)))
                (process (recognize name) name (substring argument (+ end 1)) seeds
                         (lambda (seeds) (next rest seeds))))
              (let* ((name (substring argument 2))
                     (option (recognize name)))
                (if (and (option-required-arg? option) (pair? rest))
                    (process option name (car rest) seeds
                             (lambda (seeds) (next (cdr rest) seeds)))
                    (process option name #f seeds
                             (lambda (seeds) (next rest seeds))))))))

      (define (next arguments seeds)
        (if (null? arguments)
            (%list->values seeds)
            (let ((argument (car arguments)) (rest (cdr arguments)))
              (cond ((string=? argument "--") (operands rest seeds))
                    ((and (string-prefix? "--" argument)) (long-option argument rest seeds))
                    ((and (string-prefix? "-" argument) (> (string-length argument) 1))
                     (short-options argument 1 rest seeds))
                    (else
                     (next rest
                           (%values->list
                            (%apply operand-processor (cons argument seeds)))))))))

      (next arguments seeds))))
