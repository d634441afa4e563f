;;; (srfi 166 pretty): pretty printing.
;;;
;;; A datum that fits in the rest of the line is written on it. Otherwise a form of the language has
;;; its first parts on the line and its body indented by two. A call has its operands below each
;;; other. A list of data is a table, or has an element on each line. Lists may be endless when no
;;; labels are wanted: nothing walks a whole list that is not a proper one.

(define-library (srfi 166 pretty)
  (export pretty pretty-shared pretty-simply (rename pretty pretty-with-color))
  (import (canny syntax) (canny primitives)
          (only (canny machine control) call-with-escape-continuation)
          (only (canny machine ports) call-with-output-string) (only (canny data lists) map)
          (srfi 166 base))
  (begin

    (define (pretty object)
      (lambda (state) (print object (%find-labels object #f) state)))

    (define (pretty-shared object)
      (lambda (state) (print object (%find-labels object #t) state)))

    (define (pretty-simply object)
      (lambda (state) (print object #f state)))

    ;; The number of parts that stay on the first line of a form, or #f for a call.
    (define (special-parts object)
      (let ((head (car object)))
        (case head
          ((lambda define define-syntax let* letrec letrec* let-values let*-values when unless
             case parameterize guard syntax-rules let-syntax letrec-syntax define-values
             define-library define-record-type case-lambda named-lambda)
           (case head
             ((case-lambda) 0)
             (else 1)))
          ((let)
           (if (and (pair? (cdr object)) (symbol? (cadr object))) 2 1))
          ((do) 2)
          ((begin) 0)
          (else
           (let ((name (symbol->string head)))
             (if (or (string-prefix? "call-with-" name)
                     (string-prefix? "with-" name)
                     (string-prefix? "define-" name)
                     (string-prefix? "let-" name))
                 1
                 #f))))))

    (define (prefix-of object)
      (and (pair? (cdr object))
           (null? (cddr object))
           (case (car object)
             ((quote) "'")
             ((quasiquote) "`")
             ((unquote) ",")
             ((unquote-splicing) ",@")
             (else #f))))

    (define (print object labels state)
      (define line-width (%ref state width))
      (define next-label 0)
      ;; The objects that have got a label, last first, so that an attempt can be taken back.
      (define labelled '())

      (define (column)
        (%ref state col))

      (define (emit string)
        (%emit string state))

      (define (break-line indent)
        (emit "\n")
        (emit (make-string indent #\space)))

      (define (label-of object)
        (and labels (or (pair? object) (vector? object))
             (%hash-table-ref labels object #f)))

      ;; The text before an object that has a label: "#n=", with #t, or "#n#", with #f.
      (define (use-label! object)
        (let ((label (label-of object)))
          (cond ((not label) (values "" #t))
                ((eq? label #t)
                 (%hash-table-set! labels object next-label)
                 (set! labelled (cons object labelled))
                 (set! next-label (+ next-label 1))
                 (values (string-append "#" (number->string (- next-label 1)) "=") #t))
                (else
                 (values (string-append "#" (number->string label) "#") #f)))))

      (define (forget-labels! before)
        (let loop ()
          (if (not (eq? labelled before))
              (begin
                (%hash-table-set! labels (car labelled) #t)
                (set! labelled (cdr labelled))
                (set! next-label (- next-label 1))
                (loop)))))

      (define (atom-text object)
        (if (number? object)
            (let ((port* (open-output-string)))
              (%run (forked (each (with! (port port*) (output output-default)) (written object))
                            nothing)
                    state)
              (get-output-string port*))
            (call-with-output-string (lambda (port) (write object port)))))

      ;; The text of an object on one line, or #f when it has more characters than the limit.
      (define (flat object limit)
        (let ((before labelled) (text (open-output-string)))
          (let ((fits?
                 (call-with-escape-continuation
                  (lambda (leave)
                    (let ((left limit))
                      (define (put string)
                        (set! left (- left (string-length string)))
                        (if (< left 0)
                            (leave #f))
                        (write-string string text))
                      (define (put-object object)
                        (let-values (((label first?) (use-label! object)))
                          (put label)
                          (if first?
                              (cond ((pair? object) (put-pair object))
                                    ((vector? object)
                                     (put "#")
                                     (if (= 0 (vector-length object))
                                         (put "()")
                                         (put-list (vector->list object))))
                                    (else (put (atom-text object)))))))
                      (define (put-pair object)
                        (let ((prefix (prefix-of object)))
                          (if (and prefix (not (label-of (cdr object))))
                              (begin
                                (put prefix)
                                (put-object (cadr object)))
                              (put-list object))))
                      (define (put-list object)
                        (put "(")
                        (put-object (car object))
                        (let loop ((rest (cdr object)))
                          (cond ((null? rest)
                                 (put ")"))
                                ((and (pair? rest) (not (label-of rest)))
                                 (put " ")
                                 (put-object (car rest))
                                 (loop (cdr rest)))
                                (else
                                 (put " . ")
                                 (put-object rest)
                                 (put ")")))))
                      (put-object object)
                      #t)))))
            (if fits?
                (get-output-string text)
                (begin
                  (forget-labels! before)
                  #f)))))

      ;; `closing` is the number of parentheses that will follow on the line.
      (define (print-object object closing)
        (let ((text (flat object (- line-width (column) closing))))
          (if text
              (emit text)
              (let-values (((label first?) (use-label! object)))
                (emit label)
                (cond ((not first?) #t)
                      ((pair? object) (print-pair object closing))
                      ((and (vector? object) (> (vector-length object) 0))
                       (emit "#")
                       (print-data (vector->list object) closing))
                      (else (emit (atom-text object))))))))

      (define (print-pair object closing)
        (let ((prefix (prefix-of object)))
          (cond ((and prefix (not (label-of (cdr object))))
                 (emit prefix)
                 (print-object (cadr object) closing))
                ((not (symbol? (car object)))
                 (print-data object closing))
                ((special-parts object)
                 => (lambda (parts) (print-special object parts closing)))
                (else
                 (print-call object closing)))))

      ;; Prints the rest of a list after its first element, each element on a line of its own.
      (define (print-rest rest indent closing)
        (let loop ((rest rest))
          (cond ((null? rest)
                 (emit ")"))
                ((and (pair? rest) (not (label-of rest)))
                 (break-line indent)
                 (print-object (car rest) (if (null? (cdr rest)) (+ closing 1) 0))
                 (loop (cdr rest)))
                (else
                 (break-line indent)
                 (emit ". ")
                 (print-object rest (+ closing 1))
                 (emit ")")))))

      (define (print-special object parts closing)
        (let ((start (column)))
          (emit "(")
          (emit (atom-text (car object)))
          (let loop ((rest (cdr object)) (parts parts) (first? #t))
            (if (and (> parts 0) (pair? rest) (not (label-of rest)))
                (let ((text (flat (car rest)
                                  (- line-width (column) 1
                                     (if (null? (cdr rest)) (+ closing 1) 0)))))
                  (cond (text
                         (emit " ")
                         (emit text))
                        (first?
                         (emit " ")
                         (print-object (car rest) (if (null? (cdr rest)) (+ closing 1) 0)))
                        (else
                         (break-line (+ start 4))
                         (print-object (car rest) (if (null? (cdr rest)) (+ closing 1) 0))))
                  (loop (cdr rest) (- parts 1) #f))
                (print-rest rest (+ start 2) closing)))))

      ;; Operands are below the first one if that fits after the operator.
      (define (print-call object closing)
        (let ((start (column)))
          (emit "(")
          (emit (atom-text (car object)))
          (let* ((rest (cdr object))
                 (text (and (pair? rest)
                            (not (label-of rest))
                            (flat (car rest)
                                  (- line-width (column) 1
                                     (if (null? (cdr rest)) (+ closing 1) 0))))))
            (if text
                (begin
                  (emit " ")
                  (let ((indent (column)))
                    (emit text)
                    (print-rest (cdr rest) indent closing)))
                (print-rest rest (+ start 1) closing)))))

      ;; A table when every element fits in less than half of the line.
      (define (print-data object closing)
        (let* ((indent (+ (column) 1))
               (available (- line-width indent))
               (before labelled)
               (texts (and (list? object)
                           (let loop ((rest object) (texts '()))
                             (cond ((null? rest) (reverse texts))
                                   ((label-of rest) #f)
                                   ((flat (car rest) (quotient available 2))
                                    => (lambda (text) (loop (cdr rest) (cons text texts))))
                                   (else #f)))))
               (widest (if texts
                           (let loop ((rest texts) (widest 1))
                             (if (null? rest)
                                 widest
                                 (loop (cdr rest) (max widest (string-length (car rest))))))
                           0))
               (columns (if texts
                            (quotient (+ available 1 (- (min closing 1))) (+ widest 1))
                            0)))
          (if (and texts (> columns 1) (> (length texts) 1))
              (begin
                (emit "(")
                (let loop ((rest texts) (index 0))
                  (if (and (> index 0) (= 0 (modulo index columns)))
                      (break-line indent))
                  (emit (car rest))
                  (if (pair? (cdr rest))
                      (begin
                        (if (not (= 0 (modulo (+ index 1) columns)))
                            (emit (make-string (- (+ widest 1) (string-length (car rest)))
                                               #\space)))
                        (loop (cdr rest) (+ index 1)))))
                (emit ")"))
              (begin
                (forget-labels! before)
                (emit "(")
                (print-object (car object) (if (null? (cdr object)) (+ closing 1) 0))
                (print-rest (cdr object) indent closing)))))

      (print-object object 0)
      (emit "\n"))))
