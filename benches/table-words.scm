;;; expect: 95 835000 the 95000 Counting the words of a text: characters one by one, a string for
;;; each word, a table of counts, a sorted list.
(import (scheme base) (scheme char) (scheme write) (srfi 69) (srfi 132))
(define text
  "A program is read whole, expanded whole, compiled whole and then run. The reader makes data of
the text and keeps the place of each datum, so that a message can show the line that it is about.
The expander finds out what each name means; what is left is a small language of a dozen forms.
The compiler turns that into code for a machine with registers, and the machine runs it at once.
Code that runs often takes another way, beside the running program: what happens is written to a
log, a worker reads the log and makes a plan, and from the plan the fast code is made. When
something happens that the plan did not foresee, the fast code is left and the program goes on in
the slow code, as if nothing had been. The heap is collected while the program waits, the young
objects often and the old ones seldom. Of all this a program sees nothing, but for its speed.")
(define (letter? character)
  (char-alphabetic? character))
(define (count-words! table text)
  (let ((end (string-length text)))
    (let loop ((i 0))
      (if (< i end)
          (if (letter? (string-ref text i))
              (let word ((j (+ i 1)))
                (if (and (< j end) (letter? (string-ref text j)))
                    (word (+ j 1))
                    (begin
                      (hash-table-update!/default table
                                                  (string-downcase (substring text i j))
                                                  (lambda (count) (+ count 1))
                                                  0)
                      (loop j))))
              (loop (+ i 1)))))))
(define (by-frequency table)
  (list-sort (lambda (a b)
               (or (> (cdr a) (cdr b))
                   (and (= (cdr a) (cdr b))
                        (string<? (car a) (car b)))))
             (hash-table->alist table)))
(define (frequencies times)
  (let ((table (make-hash-table equal?)))
    (do ((i 0 (+ i 1)))
        ((= i times) (by-frequency table))
      (count-words! table text))))
(define (total counts)
  (let loop ((rest counts) (sum 0))
    (if (null? rest)
        sum
        (loop (cdr rest) (+ sum (cdar rest))))))
(define counts (frequencies 5000))
(display (length counts))
(display " ")
(display (total counts))
(display " ")
(display (caar counts))
(display " ")
(display (cdar counts))
(newline)
