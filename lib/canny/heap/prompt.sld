;;; (canny heap prompt): short procedures that print tables, for a prompt with a heap snapshot.
;;;
;;;     (use-heap! (open-heap "app.heap"))
;;;     (types)
;;;     (find (and (type? 'entry) (retained > 1MB)))
;;;     (more)
;;;
;;; They print and have no value. `(canny heap analysis)` has what gives values.

(define-library (canny heap prompt)
  (export use-heap! the-heap summary types find more object why in out paths kept duplicates unused
          compare growth snapshot help)
  (import (scheme base) (scheme write) (canny primitives) (canny syntax) (canny machine arguments)
          (canny heap analysis))
  (begin

    ;; The heap of the prompt.
    (define current #f)

    (define (use-heap! heap)
      (check-argument 'use-heap! 1 heap? "heap" heap)
      (set! current heap)
      (set! shown #f))

    (define (the-heap)
      (or current
          (error "there is no heap yet; expected (use-heap! (open-heap FILE)) before")))

    ;; Tables.

    (define (field row key)
      (let ((found (assq key row)))
        (and found (cdr found))))

    (define (bytes-text count)
      (let loop ((value (abs count)) (units '("B" "kB" "MB" "GB" "TB")))
        (if (and (>= value 9995/10) (pair? (cdr units)))
            (loop (/ value 1000) (cdr units))
            (string-append
             (if (negative? count) "-" "")
             (let* ((tenths (round (* value 10)))
                    (whole (quotient tenths 10)))
               (if (or (integer? value) (>= value 100))
                   (number->string (round value))
                   (string-append (number->string whole) "."
                                  (number->string (remainder tenths 10)))))
             " " (car units)))))

    (define (count-text count)
      (let loop ((digits (number->string count)) (rest ""))
        (let ((length (string-length digits)))
          (if (<= length 3)
              (string-append digits rest)
              (loop (substring digits 0 (- length 3))
                    (string-append "," (substring digits (- length 3) length) rest))))))

    ;; Control characters would disturb the terminal.
    (define (printable text)
      (string-map (lambda (char)
                    (if (or (char<? char #\space) (char<=? #\delete char #\x9f))
                        #\xfffd
                        char))
                  text))

    (define (pad text width)
      (string-append (make-string (max 0 (- width (string-length text))) #\space) text))

    ;; Numbers are on the right of their columns; the last column takes the rest.
    (define (print-table titles rows)
      (let* ((lines (cons titles rows))
             (widths (let loop ((index 0))
                       (if (= (+ index 1) (length titles))
                           '()
                           (cons (apply max
                                        (map (lambda (line)
                                               (string-length (list-ref line index)))
                                             lines))
                                 (loop (+ index 1)))))))
        (for-each
         (lambda (line)
           (let loop ((cells line) (widths widths))
             (if (pair? widths)
                 (begin
                   (write-string (pad (car cells) (car widths)))
                   (write-string "  ")
                   (loop (cdr cells) (cdr widths)))
                 (write-string (printable (car cells)))))
           (newline))
         lines)))

    ;; The page that `more` continues, and how its rows are shown.
    (define shown #f)

    (define (show-page page titles row->cells)
      (if (null? (page-rows page))
          (begin (write-string "nothing") (newline))
          (begin
            (print-table titles (map row->cells (page-rows page)))
            (let ((end (+ (page-first page) (length (page-rows page)))))
              (if (or (< end (page-count page)) (> (page-first page) 0))
                  (begin
                    (write-string (string-append (count-text end) " of "
                                                 (count-text (page-count page))
                                                 (if (< end (page-count page))
                                                     "; (more) shows the next ones"
                                                     "")))
                    (newline))))))
      (set! shown (lambda () (show-next page titles row->cells))))

    (define (show-next page titles row->cells)
      (let ((next (next-page page)))
        (if next
            (show-page next titles row->cells)
            (begin (write-string "there is no more") (newline)))))

    ;; The next page of the last table.
    (define (more)
      (if shown
          (shown)
          (begin (write-string "there is no table yet") (newline))))

    (define (object-cells object)
      (list (number->string (heap-object-id object))
            (bytes-text (heap-object-size object))
            (bytes-text (heap-object-retained object))
            (heap-object-label object)))

    (define object-titles '("id" "bytes" "retained" "object"))

    (define (edge-cells edge)
      (append (object-cells-but-label (heap-edge-object edge))
              (list (string-append (or (heap-edge-name edge) "")
                                   (if (heap-edge-weak? edge) " (weak)" "")
                                   ": " (heap-object-label (heap-edge-object edge))))))

    (define (object-cells-but-label object)
      (let ((cells (object-cells object)))
        (list (car cells) (cadr cells) (car (cddr cells)))))

    ;; Commands.

    ;; An object, or the object with a number.
    (define (object-of id)
      (if (heap-object? id)
          id
          (heap-ref (the-heap) id)))

    (define (summary)
      (let ((heap (the-heap)))
        (write-string (string-append (or (field (heap-information heap) 'program) "a program")
                                     ", process "
                                     (number->string (field (heap-information heap) 'pid))
                                     ", snapshot " (number->string (heap-number heap))))
        (newline)
        (print-table '("number" "objects" "bytes" "reason")
                     (map (lambda (row)
                            (list (number->string (field row 'number))
                                  (count-text (field row 'objects))
                                  (bytes-text (field row 'bytes))
                                  (field row 'reason)))
                          (heap-snapshots heap)))))

    (define* (types #:key (by 'type) (sort 'retained) (filter "") (count 20))
      (show-page (heap-types (the-heap) #:by by #:sort sort #:filter filter #:count count)
                 '("objects" "bytes" "retained" "name")
                 (lambda (row)
                   (list (count-text (field row 'objects))
                         (bytes-text (field row 'bytes))
                         (bytes-text (field row 'retained))
                         (field row 'name)))))

    (define* (show-objects form #:key (sort 'retained) (count 20))
      (let ((page (heap-objects (the-heap) form #:sort sort #:count count)))
        (show-page page object-titles object-cells)
        (write-string (string-append (count-text (page-count page)) " objects, "
                                     (bytes-text (page-bytes page))))
        (newline)))

    (define-syntax find
      (syntax-rules ()
        ((_ form option ...)
         (show-objects (quasiquote form) option ...))))

    (define (object id)
      (let ((object (object-of id)))
        (print-table object-titles (list (object-cells object)))
        (let ((text (heap-object-text object)))
          (if text
              (begin (write text) (newline))))
        (for-each (lambda (fact)
                    (write-string (string-append (symbol->string (car fact)) ": "
                                                 (count-text (cdr fact))))
                    (newline))
                  (heap-object-facts object))
        (why object)))

    (define (why id)
      (write-string (printable (why-alive (object-of id))))
      (newline))

    (define (in id)
      (show-page (heap-object-incoming (object-of id) #:count 20)
                 '("id" "bytes" "retained" "held by") edge-cells))

    (define (out id)
      (show-page (heap-object-outgoing (object-of id) #:count 20)
                 '("id" "bytes" "retained" "holds") edge-cells))

    ;; The objects that an object alone keeps alive.
    (define (kept id)
      (show-page (heap-object-dominated (object-of id) #:count 20) object-titles object-cells))

    (define* (paths id #:key (count 3))
      (for-each (lambda (path)
                  (print-table '("id" "bytes" "retained" "step") (map edge-cells path))
                  (newline))
                (heap-object-paths (object-of id) #:count count)))

    (define (duplicates)
      (show-page (heap-duplicates (the-heap) #:count 20)
                 '("copies" "saves" "string")
                 (lambda (row)
                   (list (count-text (field row 'copies))
                         (bytes-text (field row 'saved))
                         (heap-object-label (field row 'object))))))

    (define (unused)
      (show-page (heap-unused (the-heap) #:count 20)
                 '("used" "room" "saves" "id" "object")
                 (lambda (row)
                   (list (count-text (field row 'used))
                         (count-text (field row 'room))
                         (bytes-text (field row 'bytes))
                         (number->string (heap-object-id (field row 'object)))
                         (heap-object-label (field row 'object))))))

    ;; The changes between two snapshots of the file.
    (define (compare before after)
      (let* ((heap (the-heap))
             (found (heap-difference (heap-at heap before) (heap-at heap after) #:count 20)))
        (print-table '("growth" "before" "after" "type")
                     (map (lambda (row)
                            (list (bytes-text (field row 'growth))
                                  (bytes-text (field (field row 'before) 'bytes))
                                  (bytes-text (field (field row 'after) 'bytes))
                                  (field row 'name)))
                          (field found 'rows)))))

    (define (growth)
      (call-with-values (lambda () (heap-suspects (the-heap) #:count 20))
        (lambda (types paths)
          (print-table '("score" "growth" "type or path")
                       (map (lambda (row)
                              (list (number->string (/ (round (* 100 (field row 'score))) 100))
                                    (bytes-text (field row 'growth))
                                    (join (vector->list (field row 'path)))))
                            (append types paths))))))

    (define (join names)
      (if (null? names)
          ""
          (let loop ((text (car names)) (rest (cdr names)))
            (if (null? rest)
                text
                (loop (string-append text " > " (car rest)) (cdr rest))))))

    ;; Has the other procedures look at another snapshot of the file.
    (define (snapshot number)
      (use-heap! (heap-at (the-heap) number))
      (summary))

    (define (help)
      (for-each
       (lambda (line) (write-string line) (newline))
       '("(summary)            the snapshots of the file"
         "(snapshot N)         look at snapshot N"
         "(types)              types by retained bytes; #:by, #:sort, #:filter, #:count"
         "(find FORM)          objects, such as (find (and (type? 'entry) (retained > 1MB)))"
         "(more)               the next page of the last table"
         "(object ID)          an object"
         "(why ID)             why it is alive"
         "(in ID) (out ID)     the edges to it and from it"
         "(paths ID)           paths from the roots"
         "(kept ID)            the objects that it alone keeps alive"
         "(duplicates)         equal strings"
         "(unused)             room that is not used"
         "(compare N M)        what changed between two snapshots"
         "(growth)             types and paths that grew over the snapshots"
         "heap                 the file, for (canny heap analysis)")))))
