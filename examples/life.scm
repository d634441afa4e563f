#!/usr/bin/env canny
;;; Conway's Game of Life in the terminal.
;;;
;;;     canny examples/life.scm               a glider gun, five pictures
;;;     canny examples/life.scm GENERATIONS   moves, one picture after the other in place
;;;
;;; The world is a torus: what leaves on one side comes back on the other.

(import (scheme base)
        (scheme process-context)
        (scheme time)
        (scheme write))

(define width 48)
(define height 24)

(define glider-gun
  '("........................#..........."
    "......................#.#..........."
    "............##......##............##"
    "...........#...#....##............##"
    "##........#.....#...##.............."
    "##........#...#.##....#.#..........."
    "..........#.....#.......#..........."
    "...........#...#...................."
    "............##......................"))

;;; A world is a bytevector with one byte per cell: 1 for a living one.

(define (make-world)
  (make-bytevector (* width height) 0))

(define (cell-index column row)
  (+ (* (modulo row height) width)
     (modulo column width)))

(define (place! world pattern left top)
  (let next-row ((lines pattern) (row top))
    (unless (null? lines)
      (let ((line (car lines)))
        (do ((column 0 (+ column 1)))
            ((= column (string-length line)))
          (when (char=? (string-ref line column) #\#)
            (bytevector-u8-set! world (cell-index (+ left column) row) 1))))
      (next-row (cdr lines) (+ row 1)))))

;; The sum of the three cells of a row around a column.
(define (row-sum world left column right row-start)
  (+ (bytevector-u8-ref world (+ row-start left))
     (bytevector-u8-ref world (+ row-start column))
     (bytevector-u8-ref world (+ row-start right))))

(define (next-generation world)
  (let ((next (make-world)))
    (do ((row 0 (+ row 1)))
        ((= row height) next)
      (let ((above (* width (modulo (- row 1) height)))
            (here (* width row))
            (below (* width (modulo (+ row 1) height))))
        (do ((column 0 (+ column 1)))
            ((= column width))
          (let* ((left (modulo (- column 1) width))
                 (right (modulo (+ column 1) width))
                 (cell (bytevector-u8-ref world (+ here column)))
                 (neighbours (- (+ (row-sum world left column right above)
                                   (row-sum world left column right here)
                                   (row-sum world left column right below))
                                cell)))
            (when (or (= neighbours 3)
                      (and (= neighbours 2) (= cell 1)))
              (bytevector-u8-set! next (+ here column) 1))))))))

(define (population world)
  (let loop ((index 0) (total 0))
    (if (= index (* width height))
        total
        (loop (+ index 1) (+ total (bytevector-u8-ref world index))))))

;;; Pictures.

(define border
  (string-append "+" (make-string width #\-) "+"))

(define (display-world world generation)
  (write-string border)
  (newline)
  (do ((row 0 (+ row 1)))
      ((= row height))
    (write-char #\|)
    (do ((column 0 (+ column 1)))
        ((= column width))
      (write-char (if (= 1 (bytevector-u8-ref world (cell-index column row))) #\O #\space)))
    (write-char #\|)
    (newline))
  (write-string border)
  (newline)
  (write-string "generation ")
  (display generation)
  (write-string ", population ")
  (display (population world))
  (newline))

(define (start)
  (let ((world (make-world)))
    (place! world glider-gun 2 2)
    world))

(define (show-some every last)
  (let loop ((world (start)) (generation 0))
    (when (= 0 (modulo generation every))
      (display-world world generation))
    (when (< generation last)
      (loop (next-generation world) (+ generation 1)))))

;; Waits without sleeping, which the standard does not have.
(define (wait seconds)
  (let ((end (+ (current-jiffy) (* seconds (jiffies-per-second)))))
    (let loop ()
      (when (< (current-jiffy) end)
        (loop)))))

(define (animate generations)
  (write-string "\x1b;[2J")
  (let loop ((world (start)) (generation 0))
    (write-string "\x1b;[H")
    (display-world world generation)
    (flush-output-port)
    (when (< generation generations)
      (wait 1/20)
      (loop (next-generation world) (+ generation 1)))))

(let ((arguments (cdr (command-line))))
  (if (null? arguments)
      (show-some 30 120)
      (animate (or (string->number (car arguments)) 1000))))
