;;; (canny heap analysis): files of heap snapshots, and what keeps objects alive.
;;;
;;;     (define heap (open-heap "app.heap"))
;;;     (objects heap (and (type? 'entry) (retained > 1MB)))
;;;     (why-alive (heap-ref heap 42))
;;;
;;; A heap is one snapshot of a file. Lists come in pages. The machine makes graph, dominators and
;;; tables when a question needs them. It does so on a thread of its own, so other tasks go on.
;;; Questions and answers are JSON; `%heap-question` is for servers that pass them on.

(define-library (canny heap analysis)
  (export open-heap heap? heap-at heap-path heap-number heap-information heap-snapshots
          heap-types heap-objects objects
          heap-ref heap-object? heap-object-heap heap-object-id heap-object-type
          heap-object-family heap-object-label heap-object-size heap-object-retained
          heap-object-file heap-object-line heap-object-text heap-object-facts
          heap-object-distance heap-object-identity heap-object-dominators heap-object-dominated
          heap-object-outgoing heap-object-incoming heap-object-paths why-alive
          heap-edge? heap-edge-name heap-edge-weak? heap-edge-object
          page? page-rows page-count page-first page-bytes next-page
          heap-duplicates heap-unused heap-difference heap-suspects
          %heap-question)
  (import (scheme base) (scheme write) (canny primitives) (canny syntax) (canny machine arguments)
          (canny json))
  (begin

    (define-record-type heap
      (make-heap %handle path number %series)
      heap?
      ;; Fields whose names begin with % are not printed.
      (%handle heap-handle)
      (path heap-path)
      ;; From 1.
      (number heap-number)
      ;; The answer about the file, which needs no graph.
      (%series heap-series))

    (define-record-type heap-object
      (new-heap-object %heap %brief id label)
      heap-object?
      (%heap heap-object-heap)
      (%brief heap-object-brief)
      (id heap-object-id)
      (label heap-object-label))

    (define (make-heap-object heap brief)
      (new-heap-object heap brief (field brief 'id) (field brief 'label)))

    (define-record-type heap-edge
      (make-heap-edge name weak? object)
      heap-edge?
      (name heap-edge-name)
      (weak? heap-edge-weak?)
      (object heap-edge-object))

    (define-record-type page
      (make-page rows first count bytes %more)
      page?
      (rows page-rows)
      (first page-first)
      ;; Of all pages.
      (count page-count)
      (bytes page-bytes)
      ;; Gives the page behind this one.
      (%more page-more))

    ;; Questions.

    (define (failed who message)
      (error (string-append (symbol->string who) ": " message)))

    (define (answer-of who answer)
      (if (string? answer)
          (string->json answer #:null #f)
          (failed who (car answer))))

    (define (ask who heap what . fields)
      (let loop ((fields fields) (question '()))
        (if (pair? fields)
            (let ((value (cadr fields)))
              (loop (cddr fields)
                    (cons (cons (car fields)
                                (if (symbol? value) (symbol->string value) value))
                          question)))
            (answer-of who
                       (%heap-file-ask (heap-handle heap)
                                       (json->string (cons (cons 'ask what) question)))))))

    (define (ask-here who heap what . fields)
      (apply ask who heap what 'snapshot (heap-number heap) fields))

    ;; The answer to a question in JSON, as JSON; a list with a message if there is none.
    (define (%heap-question heap question)
      (check-argument '%heap-question 1 heap? "heap" heap)
      (check-argument '%heap-question 2 string? "string" question)
      (%heap-file-ask (heap-handle heap) question))

    (define (field answer key)
      (let ((found (assq key answer)))
        (and found (cdr found))))

    (define (list-of answer key)
      (vector->list (field answer key)))

    (define (check-heap who object)
      (check-argument who 1 heap? "heap" object))

    (define (check-object who object)
      (check-argument who 1 heap-object? "heap object" object))

    (define (check-page who first count)
      (if (not (exact-nonnegative-integer? first))
          (raise-bad-option who "#:first" "an index" first))
      (if (not (and (exact-nonnegative-integer? count) (<= 1 count 10000)))
          (raise-bad-option who "#:count" "1 to 10000" count)))

    (define (check-choice who keyword choices object)
      (if (not (memq object choices))
          (raise-bad-option who keyword
                            (let loop ((text (symbol->string (car choices)))
                                       (rest (cdr choices)))
                              (cond ((null? rest) text)
                                    ((null? (cdr rest))
                                     (string-append text " or " (symbol->string (car rest))))
                                    (else
                                     (loop (string-append text ", " (symbol->string (car rest)))
                                           (cdr rest)))))
                            object)))

    ;; A page of the rows of an answer, each made by `convert`; `ask-from` asks for those from an
    ;; index on.
    (define (answer->page answer key convert first bytes ask-from)
      (let* ((rows (map convert (list-of answer key)))
             (next (+ first (length rows))))
        (make-page rows first (field answer 'count) (field answer bytes)
                   (and (pair? rows) (< next (field answer 'count))
                        (lambda () (ask-from next))))))

    ;; The page behind a page, or #f.
    (define (next-page page)
      (check-argument 'next-page 1 page? "page" page)
      (let ((more (page-more page)))
        (and more (more))))

    ;; Files.

    ;; Opens a file. The snapshot is the last one with objects unless a number says which.
    (define* (open-heap path #:key (snapshot #f))
      (check-argument 'open-heap 1 string? "string" path)
      (let ((handle (%heap-file-open path)))
        (if (string? handle)
            (failed 'open-heap handle))
        (let* ((series (answer-of 'open-heap (%heap-file-ask handle "{\"ask\":\"series\"}")))
               (heap (make-heap handle path (field series 'default) series)))
          (if snapshot
              (heap-at heap snapshot)
              heap))))

    ;; Another snapshot of the same file.
    (define (heap-at heap number)
      (check-heap 'heap-at heap)
      (check-index 'heap-at 2 number)
      (let ((count (vector-length (field (heap-series heap) 'snapshots))))
        (if (not (<= 1 number count))
            (%range-error 'heap-at 2
                          (string-append "the number of a snapshot, 1 to "
                                         (number->string count))
                          number))
        (make-heap (heap-handle heap) (heap-path heap) number (heap-series heap))))

    ;; An association list about the process and the file.
    (define (heap-information heap)
      (check-heap 'heap-information heap)
      (map (lambda (key) (cons key (field (heap-series heap) key)))
           '(program arguments pid version started note)))

    ;; The snapshots of the file, as association lists.
    (define (heap-snapshots heap)
      (check-heap 'heap-snapshots heap)
      (list-of (heap-series heap) 'snapshots))

    ;; Tables.

    ;; Sums of groups, as association lists in pages.
    (define* (heap-types heap #:key (by 'type) (sort 'bytes) (filter "") (retained? #t)
                         (first 0) (count 50))
      (check-heap 'heap-types heap)
      (check-choice 'heap-types "#:by" '(type family library file place label) by)
      (check-choice 'heap-types "#:sort" '(name objects bytes retained) sort)
      (if (not (string? filter))
          (raise-bad-option 'heap-types "#:filter" "a string" filter))
      (check-page 'heap-types first count)
      (let ask-from ((first first))
        (answer->page
         (ask-here 'heap-types heap "types" 'by by 'sort sort 'filter filter
                   'retained (and retained? #t) 'first first 'count count)
         'rows values first 'bytes ask-from)))

    ;; Queries.

    ;; The form as text; objects in it are their numbers.
    (define (query-text form)
      (let ((port (open-output-string))
            (plain (let plain ((form form) (depth 0))
                     (cond ((> depth 1000)
                            (failed 'heap-objects "the query is nested too deeply"))
                           ((pair? form)
                            (cons (plain (car form) (+ depth 1)) (plain (cdr form) (+ depth 1))))
                           ((heap-object? form) (heap-object-id form))
                           ((or (symbol? form) (string? form) (number? form) (null? form)
                                (boolean? form))
                            form)
                           (else
                            (error "heap-objects: a query has names, strings and numbers, not"
                                   form))))))
        (write-simple plain port)
        (get-output-string port)))

    ;; The objects that a form describes, in pages.
    (define* (heap-objects heap form #:key (sort 'retained) (first 0) (count 50))
      (check-heap 'heap-objects heap)
      (check-choice 'heap-objects "#:sort" '(node size retained distance) sort)
      (check-page 'heap-objects first count)
      (let ((query (query-text form)))
        (let ask-from ((first first))
          (answer->page
           (ask-here 'heap-objects heap "objects" 'query query 'sort sort
                     'first first 'count count)
           'objects (brief->object heap) first 'bytes ask-from))))

    ;; The same with the form as it is written; `,` evaluates.
    (define-syntax objects
      (syntax-rules ()
        ((_ heap form option ...)
         (heap-objects heap (quasiquote form) option ...))))

    ;; Objects.

    (define (brief->object heap)
      (lambda (brief) (make-heap-object heap brief)))

    (define (details who object)
      (check-object who object)
      (ask-here who (heap-object-heap object) "object" 'id (heap-object-id object)))

    ;; The object with a number.
    (define (heap-ref heap id)
      (check-heap 'heap-ref heap)
      (check-argument 'heap-ref 2 exact-nonnegative-integer? "number of an object" id)
      (if (>= id 4294967296)
          (%range-error 'heap-ref 2 "the number of an object" id))
      (make-heap-object heap (ask-here 'heap-ref heap "object" 'id id)))

    (define-syntax define-brief
      (syntax-rules ()
        ((_ (name key) ...)
         (begin
           (define (name object)
             (check-object 'name object)
             (field (heap-object-brief object) 'key)) ...))))

    (define-brief
      (heap-object-type type)
      (heap-object-family family)
      (heap-object-size size)
      (heap-object-retained retained)
      (heap-object-file file)
      (heap-object-line line))

    ;; The text of an object as far as the file has it, or #f.
    (define (heap-object-text object)
      (field (details 'heap-object-text object) 'text))

    ;; Numbers about an object: an association list.
    (define (heap-object-facts object)
      (field (details 'heap-object-facts object) 'facts))

    ;; Edges of a shortest path from the root.
    (define (heap-object-distance object)
      (field (details 'heap-object-distance object) 'distance))

    ;; A number that the same object has in all snapshots of the file, or #f.
    (define (heap-object-identity object)
      (check-object 'heap-object-identity object)
      (ask-here 'heap-object-identity (heap-object-heap object) "identity"
                'id (heap-object-id object)))

    ;; The objects through which all paths lead, the nearest to the root first.
    (define (heap-object-dominators object)
      (map (brief->object (heap-object-heap object))
           (list-of (details 'heap-object-dominators object) 'dominators)))

    (define (page-of who object what key convert first count)
      (check-object who object)
      (check-page who first count)
      (let ask-from ((first first))
        (answer->page (ask-here who (heap-object-heap object) what 'id (heap-object-id object)
                                'first first 'count count)
                      key convert first 'bytes ask-from)))

    ;; The children in the dominator tree, in pages.
    (define* (heap-object-dominated object #:key (first 0) (count 50))
      (check-object 'heap-object-dominated object)
      (page-of 'heap-object-dominated object "dominated" 'objects
               (brief->object (heap-object-heap object)) first count))

    (define (edge-of object)
      (lambda (answer)
        (make-heap-edge (field answer 'name) (field answer 'weak)
                        (make-heap-object (heap-object-heap object) (field answer 'object)))))

    (define* (heap-object-outgoing object #:key (first 0) (count 50))
      (check-object 'heap-object-outgoing object)
      (page-of 'heap-object-outgoing object "outgoing" 'edges (edge-of object) first count))

    (define* (heap-object-incoming object #:key (first 0) (count 50))
      (check-object 'heap-object-incoming object)
      (page-of 'heap-object-incoming object "incoming" 'edges (edge-of object) first count))

    ;; Paths from the root, the shortest first: lists of edges. The first edge leads to the root.
    (define* (heap-object-paths object #:key (count 5))
      (check-object 'heap-object-paths object)
      (check-page 'heap-object-paths 0 count)
      (map (lambda (path)
             (map (lambda (step)
                    (make-heap-edge (field step 'edge) #f
                                    (make-heap-object (heap-object-heap object) step)))
                  (list-of path 'steps)))
           (list-of (ask-here 'heap-object-paths (heap-object-heap object) "paths"
                              'id (heap-object-id object) 'count count)
                    'paths)))

    ;; Why an object is alive, in a sentence or two.
    (define (why-alive object)
      (check-object 'why-alive object)
      (ask-here 'why-alive (heap-object-heap object) "why" 'id (heap-object-id object)))

    ;; Waste.

    (define (waste who heap what bytes first count)
      (check-heap who heap)
      (check-page who first count)
      (let ask-from ((first first))
        (answer->page (ask-here who heap what 'first first 'count count)
                      'rows
                      (lambda (row)
                        (cons (cons 'object (make-heap-object heap (field row 'object)))
                              (remove-object row)))
                      first bytes ask-from)))

    (define (remove-object row)
      (cond ((null? row) '())
            ((eq? (caar row) 'object) (cdr row))
            (else (cons (car row) (remove-object (cdr row))))))

    ;; Equal strings, those first that waste most.
    (define* (heap-duplicates heap #:key (first 0) (count 50))
      (waste 'heap-duplicates heap "duplicates" 'saved first count))

    ;; Objects with room that they do not use, those first that waste most.
    (define* (heap-unused heap #:key (first 0) (count 50))
      (waste 'heap-unused heap "unused" 'bytes first count))

    ;; Series.

    (define (difference-entry entry)
      (case (car entry)
        ((rows paths) (cons (car entry) (vector->list (cdr entry))))
        ((compared) (cons 'compared (string->symbol (cdr entry))))
        (else entry)))

    ;; The changes from one snapshot to another one, of the same file or not: an association list.
    (define* (heap-difference before after #:key (first 0) (count 50))
      (check-heap 'heap-difference before)
      (check-argument 'heap-difference 2 heap? "heap" after)
      (check-page 'heap-difference first count)
      (let ((answer
             (if (eq? (heap-handle before) (heap-handle after))
                 (ask 'heap-difference before "compare"
                      'before (heap-number before) 'after (heap-number after)
                      'first first 'count count)
                 (answer-of 'heap-difference
                            (%heap-file-compare (heap-handle before) (heap-number before)
                                                (heap-handle after) (heap-number after)
                                                first count)))))
        (map difference-entry answer)))

    ;; Types and paths that grew in most steps of the series: two lists.
    (define* (heap-suspects heap #:key (count 50))
      (check-heap 'heap-suspects heap)
      (check-page 'heap-suspects 0 count)
      (let ((answer (ask 'heap-suspects heap "growth" 'count count)))
        (values (list-of answer 'types) (list-of answer 'paths))))))
