#!/usr/bin/env canny
;;; Sudoku by guessing: a solver on `amb`, the operator that chooses well.
;;;
;;;     canny examples/sudoku.scm
;;;     canny examples/sudoku.scm FILE      a grid of nine lines, 0 or . for an empty square
;;;
;;; (amb-from choices) returns one of the choices; a later (fail) goes back to the latest choice
;;; and returns another.  Continuations do the going back, so the solver itself reads as if it
;;; always guessed right.

(import (scheme base)
        (scheme char)
        (scheme file)
        (scheme process-context)
        (scheme write))

;;; amb.

;; The procedure to call when a choice was wrong; it takes no arguments.
(define fail #f)

(define guesses 0)

(define (amb-from choices)
  (let ((outer-fail fail))
    (call-with-current-continuation
     (lambda (return)
       (let try ((rest choices))
         (if (null? rest)
             (begin
               (set! fail outer-fail)
               (outer-fail))
             (call-with-current-continuation
              (lambda (next)
                (set! fail (lambda () (next #f)))
                (set! guesses (+ guesses 1))
                (return (car rest)))))
         (try (cdr rest)))))))

;;; The grid: a vector of 81 numbers, 0 for an empty square.  Squares are undone when a choice is
;;; taken back, because the vector is shared by all continuations.

(define (parse lines)
  (list->vector
   (map (lambda (char) (or (digit-value char) 0))
        (apply append (map string->list lines)))))

(define (row-of square) (quotient square 9))
(define (column-of square) (remainder square 9))
(define (box-of square)
  (+ (* 3 (quotient (row-of square) 3))
     (quotient (column-of square) 3)))

;; For each square, the list of the squares that must differ from it.
(define peers
  (let ((all (let loop ((i 80) (l '())) (if (< i 0) l (loop (- i 1) (cons i l))))))
    (vector-map
     (lambda (square)
       (let keep ((rest all) (kept '()))
         (cond ((null? rest) kept)
               ((and (not (= (car rest) square))
                     (or (= (row-of (car rest)) (row-of square))
                         (= (column-of (car rest)) (column-of square))
                         (= (box-of (car rest)) (box-of square))))
                (keep (cdr rest) (cons (car rest) kept)))
               (else (keep (cdr rest) kept)))))
     (list->vector all))))

;; The digits that no peer of a square has.
(define (candidates grid square)
  (let ((seen (make-vector 10 #f)))
    (for-each (lambda (peer) (vector-set! seen (vector-ref grid peer) #t))
              (vector-ref peers square))
    (let loop ((digit 9) (free '()))
      (cond ((= digit 0) free)
            ((vector-ref seen digit) (loop (- digit 1) free))
            (else (loop (- digit 1) (cons digit free)))))))

;; Calls `found` with the empty square that has the fewest candidates, and those; `full` when
;; there is none.
(define (tightest-square grid found full)
  (let loop ((square 0) (best #f) (best-candidates '()) (best-count 10))
    (cond ((= square 81)
           (if best (found best best-candidates) (full)))
          ((> (vector-ref grid square) 0)
           (loop (+ square 1) best best-candidates best-count))
          (else
           (let* ((free (candidates grid square))
                  (count (length free)))
             (if (< count best-count)
                 (loop (+ square 1) square free count)
                 (loop (+ square 1) best best-candidates best-count)))))))

(define (solve! grid)
  (tightest-square
   grid
   (lambda (square digits)
     (let ((before fail))
       ;; Undo the square on the way back.
       (set! fail (lambda ()
                    (vector-set! grid square 0)
                    (before)))
       (vector-set! grid square (amb-from digits))
       (solve! grid)))
   (lambda () grid)))

;; The solved grid, or #f.
(define (solve grid)
  (set! guesses 0)
  (call-with-current-continuation
   (lambda (return)
     (set! fail (lambda () (return #f)))
     (solve! (vector-copy grid)))))

;;; Output.

(define (display-grid grid)
  (do ((row 0 (+ row 1)))
      ((= row 9))
    (if (and (> row 0) (= 0 (remainder row 3)))
        (begin (write-string "------+-------+------") (newline)))
    (do ((column 0 (+ column 1)))
        ((= column 9))
      (if (and (> column 0) (= 0 (remainder column 3)))
          (write-string "| "))
      (let ((digit (vector-ref grid (+ (* 9 row) column))))
        (display (if (= digit 0) "." digit)))
      (if (< column 8) (write-char #\space)))
    (newline)))

(define (run title lines)
  (let ((grid (parse lines)))
    (write-string title)
    (newline)
    (display-grid grid)
    (let ((solution (solve grid)))
      (newline)
      (if solution
          (display-grid solution)
          (begin (write-string "no solution") (newline)))
      (display guesses)
      (write-string " guesses")
      (newline)
      (newline))))

(define (read-lines port)
  (let loop ((lines '()))
    (let ((line (read-line port)))
      (cond ((eof-object? line) (reverse lines))
            ((string=? line "") (loop lines))
            (else (loop (cons line lines)))))))

(let ((arguments (cdr (command-line))))
  (if (pair? arguments)
      (run (car arguments) (call-with-input-file (car arguments) read-lines))
      (begin
        (run "Easy"
             '("..3.2.6.." "9..3.5..1" "..18.64.." "..81.29.." "7.......8"
               "..67.82.." "..26.95.." "8..2.3..9" "..5.1.3.."))
        (run "Hard"
             '("4.....8.5" ".3......." "...7....." ".2.....6." "....8.4.."
               "....1...." "...6.3.7." "5..2....." "1.4......"))
        (run "Impossible"
             '("12345678." "........." "........9" "........." "........."
               "........." "........." "........." ".........")))))
