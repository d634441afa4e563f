;;; (wiki differences): what differs between two texts, and three texts made into one.
;;;
;;; The shortest script of Eugene Myers, "An O(ND) Difference Algorithm and Its Variations", 1986.
;;; It takes time and memory in proportion to the square of the number of differences, so it looks
;;; for `edits-max` of them; texts that differ more than that are told as replaced as a whole,
;;; between what they have in common at both ends.

(define-library (wiki differences)
  (export text-differences word-differences merge-texts)
  (import (canny base) (canny match))
  (begin

    (define edits-max 600)

    ;; The parts of two texts, or of two lines.
    (define (lines text) (list->vector (string-split text #\newline)))

    (define (words text)
      (let ((end (string-length text)))
        (define (kind index)
          (let ((char (string-ref text index)))
            (cond ((or (char-alphabetic? char) (char-numeric? char)) 'word)
                  ((char-whitespace? char) 'blank)
                  (else index))))
        (let loop ((start 0) (index 1) (found '()))
          (cond ((= start end) (list->vector (reverse found)))
                ((and (< index end) (eqv? (kind start) (kind index)))
                 (loop start (+ index 1) found))
                (else (loop index (+ index 1) (cons (substring text start index) found)))))))

    ;; A list of (same PART ...) and (changed (OLD ...) (NEW ...)), in the order of the texts.
    (define (text-differences old new) (differences (lines old) (lines new)))
    (define (word-differences old new) (differences (words old) (words new)))

    (define (differences old new)
      (let* ((old-end (vector-length old))
             (new-end (vector-length new))
             (same? (lambda (i j) (string=? (vector-ref old i) (vector-ref new j))))
             (shorter (min old-end new-end))
             (head (let loop ((n 0)) (if (and (< n shorter) (same? n n)) (loop (+ n 1)) n)))
             (tail (let loop ((n 0))
                     (if (and (< n (- shorter head))
                              (same? (- old-end n 1) (- new-end n 1)))
                         (loop (+ n 1))
                         n))))
        (chunks old new
                (append (pairs 0 0 head)
                        (common-places same? head (- old-end tail) head (- new-end tail))
                        (pairs (- old-end tail) (- new-end tail) tail)))))

    (define (pairs i j count)
      (map (lambda (n) (cons (+ i n) (+ j n))) (iota count)))

    ;; Pairs of places, increasing, where two ranges have the same, as many as possible.
    (define (common-places same? i0 i1 j0 j1)
      (let* ((n (- i1 i0))
             (m (- j1 j0))
             (limit (min (+ n m) edits-max))
             (furthest (make-vector (+ (* 2 limit) 3) 0)))
        (define (at k) (vector-ref furthest (+ k limit 1)))
        ;; With `d` edits; `trace` has the states before, newest first.
        (define (search d trace)
          (if (> d limit)
              '()
              (let next ((k (- d)))
                (if (> k d)
                    (search (+ d 1) (cons (vector-copy furthest) trace))
                    (let* ((x (if (down? k d at) (at (+ k 1)) (+ (at (- k 1)) 1)))
                           (x (slide x (- x k))))
                      (vector-set! furthest (+ k limit 1) x)
                      (if (and (>= x n) (>= (- x k) m))
                          (walk-back n m d trace)
                          (next (+ k 2))))))))
        (define (slide x y)
          (if (and (< x n) (< y m) (same? (+ i0 x) (+ j0 y)))
              (slide (+ x 1) (+ y 1))
              x))
        (define (walk-back x y d trace)
          (let loop ((x x) (y y) (d d) (trace trace) (found '()))
            (if (= d 0)
                (append (pairs i0 j0 x) found)
                (let* ((before (lambda (k) (vector-ref (car trace) (+ k limit 1))))
                       (k (- x y))
                       (down (down? k d before))
                       (from-k (if down (+ k 1) (- k 1)))
                       (from-x (before from-k))
                       (start (if down from-x (+ from-x 1))))
                  (loop from-x (- from-x from-k) (- d 1) (cdr trace)
                        (append (pairs (+ i0 start) (+ j0 (- start k)) (- x start)) found))))))
        (if (or (= n 0) (= m 0)) '() (search 0 '()))))

    ;; Whether the best way to a diagonal is an insertion.
    (define (down? k d at)
      (or (= k (- d))
          (and (not (= k d)) (< (at (- k 1)) (at (+ k 1))))))

    (define (chunks old new common)
      (define (parts vector start end)
        (vector->list (vector-copy vector start end)))
      (let loop ((i 0) (j 0) (common common) (found '()))
        (let* ((next-i (if (pair? common) (caar common) (vector-length old)))
               (next-j (if (pair? common) (cdar common) (vector-length new)))
               (found (if (and (= i next-i) (= j next-j))
                          found
                          (cons `(changed ,(parts old i next-i) ,(parts new j next-j)) found))))
          (if (null? common)
              (reverse found)
              (let ((count (run-length common)))
                (loop (+ next-i count) (+ next-j count) (list-tail common count)
                      (cons (cons 'same (parts old next-i (+ next-i count))) found)))))))

    ;; How many neighbouring places a list begins with.
    (define (run-length common)
      (let loop ((count 1) (common common))
        (let ((rest (cdr common)))
          (if (and (pair? rest)
                   (= (+ 1 (caar common)) (caar rest))
                   (= (+ 1 (cdar common)) (cdar rest)))
              (loop (+ count 1) rest)
              count))))

    ;;; Three texts

    ;; The changes to a base: (START END LINES), END exclusive.
    (define (hunks base text)
      (let loop ((chunks (text-differences base text)) (place 0) (found '()))
        (match chunks
          (() (reverse found))
          ((('same . parts) . rest) (loop rest (+ place (length parts)) found))
          ((('changed old new) . rest)
           (let ((end (+ place (length old))))
             (loop rest end (cons (list place end new) found)))))))

    ;; Two texts that were made from the same base as one, and the number of places where both have
    ;; changed the same lines. There both versions stand, between lines that say so.
    (define* (merge-texts base mine theirs
                          #:key (theirs-mark "<<<<<<< the other version") (middle-mark "=======")
                          (mine-mark ">>>>>>> your version"))
      (let ((base-lines (lines base)) (conflicts 0))
        (define (base-range start end) (vector->list (vector-copy base-lines start end)))
        ;; The lines of a region after the hunks of one side.
        (define (applied hunks start end)
          (match hunks
            (() (base-range start end))
            (((from to lines) . rest)
             (append (base-range start from) lines (applied rest to end)))))
        (define (settle start end ours others)
          (let ((mine (applied ours start end)) (theirs (applied others start end)))
            (cond ((or (null? others) (equal? mine theirs)) mine)
                  ((null? ours) theirs)
                  (else
                   (set! conflicts (+ conflicts 1))
                   (append (list theirs-mark) theirs (list middle-mark) mine (list mine-mark))))))
        (define (take-touching hunks end)
          (span (lambda (hunk) (<= (car hunk) end)) hunks))
        ;; All hunks of both sides that touch each other from the first on.
        (define (region ours others end taken-ours taken-others continue)
          (receive (more-ours ours) (take-touching ours end)
            (receive (more-others others) (take-touching others end)
              (if (and (null? more-ours) (null? more-others))
                  (continue end taken-ours taken-others ours others)
                  (region ours others
                          (fold max end (map cadr (append more-ours more-others)))
                          (append taken-ours more-ours)
                          (append taken-others more-others)
                          continue)))))
        (let loop ((place 0) (ours (hunks base mine)) (others (hunks base theirs)) (found '()))
          (if (and (null? ours) (null? others))
              (values (string-join
                       (concatenate
                        (reverse (cons (base-range place (vector-length base-lines)) found)))
                       "\n")
                      conflicts)
              (let ((start (apply min (map caar (filter pair? (list ours others))))))
                (region ours others start '() '()
                        (lambda (end taken-ours taken-others ours others)
                          (loop end ours others
                                (cons* (settle start end taken-ours taken-others)
                                       (base-range place start)
                                       found)))))))))))
