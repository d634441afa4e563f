;;; (srfi 38): writing and reading shared structure.
;;;
;;; `write-shared` labels pairs and vectors only.  This SRFI asks for labels of all that can be
;;; changed, so the writer is here: it labels pairs, vectors, bytevectors and strings.  The third
;;; argument of the writer has no effect.

(define-library (srfi 38)
  (export write-with-shared-structure read-with-shared-structure
          (rename write-with-shared-structure write/ss)
          (rename read-with-shared-structure read/ss))
  (import (canny syntax) (canny primitives) (only (canny machine control) current-output-port))
  (begin

    (define write-with-shared-structure
      (case-lambda
        ((object) (write-labelled object (current-output-port)))
        ((object port) (write-labelled object port))
        ((object port option) (write-labelled object port))))

    ;; Empty vectors and strings hold nothing that could be changed.
    (define (location? object)
      (or (pair? object)
          (and (vector? object) (> (vector-length object) 0))
          (and (string? object) (> (string-length object) 0))
          (and (bytevector? object) (> (bytevector-length object) 0))))

    ;; A table from object to #f when it occurs once, and to #t when it occurs more often.
    (define (find-shared object)
      (let ((table (%make-hash-table 'eq #f 16)))
        (let walk ((object object))
          (if (location? object)
              (if (%hash-table-contains? table object)
                  (%hash-table-set! table object #t)
                  (begin
                    (%hash-table-set! table object #f)
                    (cond ((pair? object)
                           (walk (car object))
                           (walk (cdr object)))
                          ((vector? object)
                           (let loop ((index 0))
                             (if (< index (vector-length object))
                                 (begin
                                   (walk (vector-ref object index))
                                   (loop (+ index 1)))))))))))
        table))

    ;; In the table, a label takes the place of #t when the object has been written.
    (define (write-labelled object port)
      (let ((table (find-shared object)) (next-label 0))

        (define (shared? object)
          (and (location? object) (%hash-table-ref table object #f)))

        (define (write-tail object)
          (cond ((null? object)
                 (write-char #\) port))
                ((and (pair? object) (not (shared? object)))
                 (write-char #\space port)
                 (write-object (car object))
                 (write-tail (cdr object)))
                (else
                 (write-string " . " port)
                 (write-object object)
                 (write-char #\) port))))

        (define (write-contents object)
          (cond ((pair? object)
                 (write-char #\( port)
                 (write-object (car object))
                 (write-tail (cdr object)))
                ((and (vector? object) (> (vector-length object) 0))
                 (write-string "#(" port)
                 (write-object (vector-ref object 0))
                 (let loop ((index 1))
                   (if (< index (vector-length object))
                       (begin
                         (write-char #\space port)
                         (write-object (vector-ref object index))
                         (loop (+ index 1)))))
                 (write-char #\) port))
                (else (write object port))))

        (define (write-object object)
          (let ((label (shared? object)))
            (cond ((not label)
                   (write-contents object))
                  ((eq? label #t)
                   (write-char #\# port)
                   (write next-label port)
                   (write-char #\= port)
                   (%hash-table-set! table object next-label)
                   (set! next-label (+ next-label 1))
                   (write-contents object))
                  (else
                   (write-char #\# port)
                   (write label port)
                   (write-char #\# port)))))

        (write-object object)))

    (define read-with-shared-structure
      (case-lambda
        (() (read))
        ((port) (read port))))))
