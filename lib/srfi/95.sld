;;; (srfi 95): sorting and merging with keys.
;;;
;;; Lists, vectors and strings are sorted.  A key is taken once for each element: what is sorted are
;;; pairs of key and element.

(define-library (srfi 95)
  (export sorted? merge (rename merge merge!) sort sort!)
  (import (canny primitives) (canny syntax)
          (prefix (only (srfi 132) list-sort vector-sort list-merge list-sorted?) by-))
  (begin

    (define (check-arguments who position less? key)
      (if (not (procedure? less?))
          (%type-error who position "procedure" less?))
      (if (and (pair? key) (not (procedure? (car key))))
          (%type-error who (+ position 1) "procedure" (car key))))

    (define (elements who position sequence)
      (cond ((list? sequence) sequence)
            ((vector? sequence) (vector->list sequence))
            ((string? sequence) (string->list sequence))
            (else (%type-error who position "list, vector or string" sequence))))

    (define (decorate key list)
      (let loop ((rest list) (pairs '()))
        (if (null? rest)
            (reverse pairs)
            (loop (cdr rest) (cons (cons (key (car rest)) (car rest)) pairs)))))

    (define (strip pairs)
      (let loop ((rest pairs) (list '()))
        (if (null? rest)
            (reverse! list)
            (loop (cdr rest) (cons (cdar rest) list)))))

    (define (by-car less?)
      (lambda (left right) (less? (car left) (car right))))

    (define (sort-list less? key list)
      (if (null? key)
          (by-list-sort less? list)
          (strip (by-list-sort (by-car less?) (decorate (car key) list)))))

    (define (sorted? sequence less? . key)
      (check-arguments 'sorted? 2 less? key)
      (let ((list (elements 'sorted? 1 sequence)))
        (if (null? key)
            (by-list-sorted? less? list)
            (by-list-sorted? (by-car less?) (decorate (car key) list)))))

    (define (merge left right less? . key)
      (check-arguments 'merge 3 less? key)
      (if (not (list? left))
          (%type-error 'merge 1 "list" left))
      (if (not (list? right))
          (%type-error 'merge 2 "list" right))
      (if (null? key)
          (by-list-merge less? left right)
          (strip (by-list-merge (by-car less?)
                                (decorate (car key) left)
                                (decorate (car key) right)))))

    (define (sort sequence less? . key)
      (check-arguments 'sort 2 less? key)
      (cond ((and (vector? sequence) (null? key)) (by-vector-sort less? sequence))
            ((vector? sequence) (list->vector (sort-list less? key (vector->list sequence))))
            ((string? sequence) (list->string (sort-list less? key (string->list sequence))))
            (else (sort-list less? key (elements 'sort 1 sequence)))))

    ;; The pairs of a list keep their places; its elements change theirs.
    (define (sort! sequence less? . key)
      (check-arguments 'sort! 2 less? key)
      (let ((sorted (sort-list less? key (elements 'sort! 1 sequence))))
        (cond ((vector? sequence) (vector-copy! sequence 0 (list->vector sorted)))
              ((string? sequence) (string-copy! sequence 0 (list->string sorted)))
              (else
               (let loop ((rest sequence) (sorted sorted))
                 (if (pair? rest)
                     (begin
                       (set-car! rest (car sorted))
                       (loop (cdr rest) (cdr sorted)))))))
        sequence))))
