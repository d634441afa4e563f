;;; (srfi 234): topological sorting.
;;;
;;; Nodes are numbered; the work is done on numbers, in time proportional to nodes and edges.  Only
;;; an equivalence that is none of eq?, eqv?, equal?, = and string=? makes looking a node up linear.

(define-library (srfi 234)
  (export topological-sort topological-sort/details edgelist->graph edgelist/inverted->graph
          graph->edgelist graph->edgelist/inverted connected-components)
  (import (canny syntax) (canny primitives) (only (canny data lists) for-each map assoc)
          (only (srfi 1) append-map))
  (begin

    (define (check-graph who graph)
      (if (not (and (list? graph)
                    (let loop ((rest graph))
                      (or (null? rest)
                          (and (pair? (car rest)) (list? (car rest)) (loop (cdr rest)))))))
          (%type-error who 1 "list of lists (node dependent ...)" graph)))

    ;; A procedure that gives the number of a node, and one that gives #f, for a new node, instead.
    (define (make-numbering same?)
      (let ((kind (cond ((eq? same? eq?) 'eq)
                        ((eq? same? eqv?) 'eqv)
                        ((eq? same? equal?) 'equal)
                        ((eq? same? string=?) 'string)
                        (else #f))))
        (if kind
            (let ((table (%make-hash-table kind #f 16)))
              (lambda (node)
                (or (%hash-table-ref table node #f)
                    (let ((number (%hash-table-count table)))
                      (%hash-table-set! table node number)
                      number))))
            (let ((numbers '()) (count 0))
              (lambda (node)
                (let ((entry (assoc node numbers same?)))
                  (if entry
                      (cdr entry)
                      (let ((number count))
                        (set! numbers (cons (cons node number) numbers))
                        (set! count (+ count 1))
                        number))))))))

    ;; Vectors of the nodes and of the lists of numbers of their dependents, by number.  Nodes have
    ;; numbers in the order of the graph, heads first.
    (define (number-graph who graph same?)
      (let* ((number (make-numbering same?))
             (heads (map (lambda (connection) (number (car connection))) graph))
             (dependents (map (lambda (connection) (map number (cdr connection))) graph))
             (size (let loop ((lists (cons heads dependents)) (size 0))
                     (if (null? lists)
                         size
                         (loop (cdr lists) (%apply max (cons size (map 1+ (car lists))))))))
             (nodes (make-vector size #f))
             (edges (make-vector size #f)))
        (for-each (lambda (connection) (for-each
                                        (lambda (node) (vector-set! nodes (number node) node))
                                        connection))
                  graph)
        (for-each (lambda (head numbers connection)
                    (if (vector-ref edges head)
                        (%range-error who 1 "a graph with one connection for each node"
                                      (car connection)))
                    (vector-set! nodes head (car connection))
                    (vector-set! edges head numbers))
                  heads dependents graph)
        (values nodes edges)))

    (define (dependents-of edges number)
      (or (vector-ref edges number) '()))

    (define topological-sort
      (case-lambda
        ((graph) (topological-sort graph equal?))
        ((graph same?)
         (let-values (((order message cycle) (topological-sort/details graph same?)))
           order))
        ((graph same? nodes)
         (let-values (((order message cycle) (topological-sort/details graph same? nodes)))
           order))))

    (define topological-sort/details
      (case-lambda
        ((graph) (sort-graph graph equal? #f))
        ((graph same?) (sort-graph graph same? #f))
        ((graph same? nodes)
         (if (not (vector? nodes))
             (%type-error 'topological-sort 3 "vector" nodes))
         (sort-graph graph same? nodes))))

    (define (sort-graph graph same? values-of-nodes)
      (check-graph 'topological-sort graph)
      (if (not (procedure? same?))
          (%type-error 'topological-sort 2 "procedure" same?))
      (let-values (((nodes edges) (number-graph 'topological-sort graph same?)))
        (let* ((size (vector-length nodes))
               (needs (make-vector size 0)))
          (define (node-of number)
            (let ((node (vector-ref nodes number)))
              (if values-of-nodes
                  (vector-ref values-of-nodes node)
                  node)))
          (define (each-number procedure)
            (let loop ((number 0))
              (if (< number size)
                  (begin
                    (procedure number)
                    (loop (+ number 1))))))
          (each-number
           (lambda (number)
             (for-each (lambda (dependent)
                         (vector-set! needs dependent (+ (vector-ref needs dependent) 1)))
                       (dependents-of edges number))))
          ;; `ready` is a queue: a list to take from, and a reversed list of what came later.
          (let loop ((ready (let collect ((number (- size 1)) (ready '()))
                              (cond ((< number 0) ready)
                                    ((= 0 (vector-ref needs number))
                                     (collect (- number 1) (cons number ready)))
                                    (else (collect (- number 1) ready)))))
                     (later '())
                     (order '())
                     (count 0))
            (cond ((pair? ready)
                   (let release ((dependents (dependents-of edges (car ready))) (later later))
                     (if (pair? dependents)
                         (let ((left (- (vector-ref needs (car dependents)) 1)))
                           (vector-set! needs (car dependents) left)
                           (release (cdr dependents)
                                    (if (= left 0) (cons (car dependents) later) later)))
                         (loop (cdr ready) later (cons (car ready) order) (+ count 1)))))
                  ((pair? later)
                   (loop (reverse later) '() order count))
                  ((= count size)
                   (values (map node-of (reverse order)) #f #f))
                  (else
                   (values #f "graph has circular dependency"
                           (map node-of (find-cycle edges needs)))))))))

    ;; The numbers of a cycle among the nodes that still need others. Each of them has a predecessor
    ;; among them, so walking back comes to a node a second time.
    (define (find-cycle edges needs)
      (let* ((size (vector-length needs))
             (predecessors (make-vector size #f))
             (seen (make-vector size #f)))
        (let loop ((number 0))
          (if (< number size)
              (begin
                (if (> (vector-ref needs number) 0)
                    (for-each (lambda (dependent) (vector-set! predecessors dependent number))
                              (dependents-of edges number)))
                (loop (+ number 1)))))
        (let walk ((number (let first ((number 0))
                             (if (> (vector-ref needs number) 0) number (first (+ number 1))))))
          (if (vector-ref seen number)
              (let around ((current (vector-ref predecessors number)) (cycle (list number)))
                (if (= current number)
                    (from-least cycle)
                    (around (vector-ref predecessors current) (cons current cycle))))
              (begin
                (vector-set! seen number #t)
                (walk (vector-ref predecessors number)))))))

    ;; A cycle is the same from any of its nodes on.
    (define (from-least cycle)
      (let ((least (%apply min cycle)))
        (let loop ((rest cycle) (before '()))
          (if (= (car rest) least)
              (append rest (reverse before))
              (loop (cdr rest) (cons (car rest) before))))))

    ;; Graphs and lists of edges.

    ;; Entries keep the order of their first edge; `find` looks an entry up by its node.
    (define (collect-edges edges node-of dependent-of find)
      (let loop ((rest edges) (entries '()))
        (if (null? rest)
            (map (lambda (entry) (cons (car entry) (reverse (cdr entry)))) (reverse entries))
            (let* ((node (node-of (car rest)))
                   (dependent (dependent-of (car rest)))
                   (entry (find node entries)))
              (if entry
                  (begin
                    (set-cdr! entry (cons dependent (cdr entry)))
                    (loop (cdr rest) entries))
                  (loop (cdr rest) (cons (list node dependent) entries)))))))

    ;; With `assoc` a table finds the entries.
    (define (finder find)
      (if (eq? find assoc)
          (let ((table (%make-hash-table 'equal #f 16)) (known '()))
            (lambda (node entries)
              ;; An entry made since the last call is the first of the list.
              (if (not (eq? entries known))
                  (begin
                    (%hash-table-set! table (caar entries) (car entries))
                    (set! known entries)))
              (%hash-table-ref table node #f)))
          find))

    (define (check-edges who edges)
      (if (not (and (list? edges)
                    (let loop ((rest edges))
                      (or (null? rest)
                          (and (list? (car rest)) (= 2 (length (car rest)))
                               (loop (cdr rest)))))))
          (%type-error who 1 "list of lists of two nodes" edges)))

    (define edgelist->graph
      (case-lambda
        ((edges) (edgelist->graph edges assoc))
        ((edges find)
         (check-edges 'edgelist->graph edges)
         (collect-edges edges car cadr (finder find)))))

    (define edgelist/inverted->graph
      (case-lambda
        ((edges) (edgelist/inverted->graph edges assoc))
        ((edges find)
         (check-edges 'edgelist/inverted->graph edges)
         (collect-edges edges cadr car (finder find)))))

    (define (graph->edgelist graph)
      (check-graph 'graph->edgelist graph)
      (append-map (lambda (connection)
                    (map (lambda (dependent) (list (car connection) dependent))
                         (cdr connection)))
                  graph))

    (define (graph->edgelist/inverted graph)
      (check-graph 'graph->edgelist/inverted graph)
      (append-map (lambda (connection)
                    (map (lambda (dependent) (list dependent (car connection)))
                         (cdr connection)))
                  graph))

    ;; The strongly connected components, by Tarjan's algorithm.
    (define (connected-components graph)
      (check-graph 'connected-components graph)
      (let-values (((nodes edges) (number-graph 'connected-components graph equal?)))
        (let* ((size (vector-length nodes))
               (indexes (make-vector size #f))
               (lows (make-vector size #f))
               (on-stack (make-vector size #f))
               (next 0)
               (stack '())
               (components '()))
          (define (lower! number index)
            (if (< index (vector-ref lows number))
                (vector-set! lows number index)))
          (define (visit number)
            (vector-set! indexes number next)
            (vector-set! lows number next)
            (vector-set! on-stack number #t)
            (set! next (+ next 1))
            (set! stack (cons number stack))
            (for-each (lambda (dependent)
                        (cond ((not (vector-ref indexes dependent))
                               (visit dependent)
                               (lower! number (vector-ref lows dependent)))
                              ((vector-ref on-stack dependent)
                               (lower! number (vector-ref indexes dependent)))))
                      (dependents-of edges number))
            (if (= (vector-ref lows number) (vector-ref indexes number))
                (let pop ((component '()))
                  (let ((top (car stack)))
                    (set! stack (cdr stack))
                    (vector-set! on-stack top #f)
                    (let ((component (cons (vector-ref nodes top) component)))
                      (if (= top number)
                          (set! components (cons component components))
                          (pop component)))))))
          (let loop ((number 0))
            (if (< number size)
                (begin
                  (if (not (vector-ref indexes number))
                      (visit number))
                  (loop (+ number 1)))))
          (reverse components))))))
