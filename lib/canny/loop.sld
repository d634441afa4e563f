;;; (canny loop): loops with iterators and accumulators, which expand to named lets.
;;;
;;; (loop [name] (clause ...) [=> final] body ...)
;;;
;;; An iterator is a macro that is used as
;;;   (iterator (variable ...) (argument ...) next . rest)
;;; and expands to
;;;   (next ((outer expression) ...)           evaluated once, one after the other
;;;         ((state initial step) ...)         variables of the loop
;;;         (end? ...)                         the loop ends when one is true
;;;         ((variable value) ...)             bound one after the other in each round
;;;         . rest)
;;; A step sees what the loop's variables and the values are.  An accumulator is used as
;;;   (accumulator (argument ...) next . rest)
;;; and expands to
;;;   (next ((state initial update) ...) result . rest)
;;;
;;; How it works: %clauses reads the clauses into levels, one for each loop, outermost last, and
;;; into a list of accumulators; %emit writes the loops. The variables of accumulators are passed
;;; through all of them. The macros %clauses and %add-... pass along
;;;   whole     (name final body)
;;;   levels    those that are complete
;;;   level     (outer state end values steps), the last of which are the clauses behind the
;;;             iterators
;;;   states    of the accumulators
;;;   results   ((name expression) ...)
;;; Everything is collected in reverse order, except that lists which an iterator or accumulator
;;; gives stay together.

(define-library (canny loop)
  (export loop
          for with nested into while until
          in-list in-vector in-string in-bytevector in-range up-from in-port in-lines in-generator
          in-hash-table
          listing listing-reverse appending summing multiplying counting minimizing maximizing
          vectoring stringing string-appending bytevectoring hashing)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data hash-tables)
          (only (canny machine syntax-extensions) while until))
  (begin

    (define-syntax define-keywords
      (syntax-rules ()
        ((_ keyword ...)
         (begin
           (define-syntax keyword
             (syntax-rules ()
               ((_ . anything)
                (syntax-error "this keyword stands in the clauses of a loop" keyword))))
           ...))))

    (define-keywords for with nested into)

    (define-syntax loop
      (syntax-rules (=>)
        ((_ (clause ...) => final . body)
         (%clauses (#f (=> final) body) () (() () () () ()) () () (clause ...)))
        ((_ (clause ...) . body)
         (%clauses (#f () body) () (() () () () ()) () () (clause ...)))
        ((_ name (clause ...) => final . body)
         (%clauses ((name) (=> final) body) () (() () () () ()) () () (clause ...)))
        ((_ name (clause ...) . body)
         (%clauses ((name) () body) () (() () () () ()) () () (clause ...)))
        ((_ . other)
         (syntax-error "loop: expected (loop [name] (clause ...) [=> final] body ...)"))))

    (define-syntax %clauses
      (syntax-rules (for with nested into let let-values when unless while until do)
        ((_ whole (level ...) current states results ())
         (%emit (current level ...) () whole states results))
        ;; A loop inside of the one before.
        ((_ whole levels (outer () ends values ()) states results ((nested) . clauses))
         (%clauses whole levels (outer () ends values ()) states results clauses))
        ((_ whole (level ...) current states results ((nested) . clauses))
         (%clauses whole (current level ...) (() () () () ()) states results clauses))
        ((_ whole levels (outer state ends values ()) states results
            ((for variable ... (iterator argument ...)) . clauses))
         (iterator (variable ...) (argument ...) %add-iterator
                   whole levels (outer state ends values ()) states results clauses))
        ((_ whole (level ...) current states results
            ((for variable ... (iterator argument ...)) . clauses))
         (iterator (variable ...) (argument ...) %add-iterator
                   whole (current level ...) (() () () () ()) states results clauses))
        ((_ whole levels current states results ((for . other) . clauses))
         (syntax-error "loop: expected (for variable ... (iterator argument ...))" (for . other)))
        ;; Variables of the program's own.
        ((_ whole levels current states results ((with variable initial) . clauses))
         (%clauses whole levels current (((variable initial variable)) . states) results clauses))
        ((_ whole levels current states results ((with variable initial step) . clauses))
         (%clauses whole levels current (((variable initial step)) . states) results clauses))
        ((_ whole levels current states results ((with . other) . clauses))
         (syntax-error "loop: expected (with variable initial [step])" (with . other)))
        ;; Steps between iterators and body.
        ((_ whole levels (outer state ends values steps) states results ((let . rest) . clauses))
         (%clauses whole levels (outer state ends values ((let . rest) . steps))
                   states results clauses))
        ((_ whole levels (outer state ends values steps) states results
            ((let-values . rest) . clauses))
         (%clauses whole levels (outer state ends values ((let-values . rest) . steps))
                   states results clauses))
        ((_ whole levels (outer state ends values steps) states results ((when test) . clauses))
         (%clauses whole levels (outer state ends values ((when test) . steps))
                   states results clauses))
        ((_ whole levels (outer state ends values steps) states results ((unless test) . clauses))
         (%clauses whole levels (outer state ends values ((unless test) . steps))
                   states results clauses))
        ((_ whole levels (outer state ends values steps) states results ((while test) . clauses))
         (%clauses whole levels (outer state ends values ((while test) . steps))
                   states results clauses))
        ((_ whole levels (outer state ends values steps) states results ((until test) . clauses))
         (%clauses whole levels (outer state ends values ((until test) . steps))
                   states results clauses))
        ((_ whole levels (outer state ends values steps) states results ((do . rest) . clauses))
         (%clauses whole levels (outer state ends values ((do . rest) . steps))
                   states results clauses))
        ;; Accumulators.
        ((_ whole levels current states results
            ((into name (accumulator argument ...)) . clauses))
         (accumulator (argument ...) %add-accumulator name
                      whole levels current states results clauses))
        ((_ whole levels current states results ((accumulator argument ...) . clauses))
         (accumulator (argument ...) %add-accumulator result
                      whole levels current states results clauses))
        ((_ whole levels current states results (clause . clauses))
         (syntax-error "loop: this is no clause" clause))))

    (define-syntax %add-iterator
      (syntax-rules ()
        ((_ outer* state* ends* values*
            whole levels (outer state ends values steps) states results clauses)
         (%clauses whole levels
                   ((outer* . outer) (state* . state) (ends* . ends) (values* . values) steps)
                   states results clauses))
        ((_ . other)
         (syntax-error
          "loop: an iterator is expected in (for variable ... (iterator argument ...))"))))

    (define-syntax %add-accumulator
      (syntax-rules ()
        ((_ states* result name whole levels current states results clauses)
         (%clauses whole levels current (states* . states) ((name result) . results) clauses))
        ((_ . other)
         (syntax-error "loop: an accumulator is expected in this clause"))))

    ;; Puts the levels and the states in order, then writes the loops.
    (define-syntax %emit
      (syntax-rules ()
        ((_ () levels whole states results)
         (%order-states states () levels whole results))
        ((_ ((outer state ends values steps) . more) levels whole states results)
         (%order-level outer () state () ends () values () steps ()
                       more levels whole states results))))

    (define-syntax %order-level
      (syntax-rules ()
        ((_ ((o ...) . outer) (o* ...) . rest)
         (%order-level outer (o ... o* ...) . rest))
        ((_ () o* ((s ...) . state) (s* ...) . rest)
         (%order-level () o* state (s ... s* ...) . rest))
        ((_ () o* () s* ((e ...) . ends) (e* ...) . rest)
         (%order-level () o* () s* ends (e ... e* ...) . rest))
        ((_ () o* () s* () e* ((v ...) . values) (v* ...) . rest)
         (%order-level () o* () s* () e* values (v ... v* ...) . rest))
        ((_ () o* () s* () e* () v* (step . steps) (t* ...) . rest)
         (%order-level () o* () s* () e* () v* steps (step t* ...) . rest))
        ((_ () o* () s* () e* () v* () t* more (done ...) . rest)
         (%emit more ((o* s* e* v* t*) done ...) . rest))))

    (define-syntax %order-states
      (syntax-rules ()
        ((_ ((s ...) . more) (s* ...) . rest)
         (%order-states more (s ... s* ...) . rest))
        ((_ () ((state initial update) ...) levels (name final body) results)
         (%loops levels (name body) ((state update) ...) (initial ...)
                 (%finish final results ())))))

    ;; The loops, the outermost first.
    (define-syntax %loops
      (syntax-rules ()
        ((_ (((outer ...) ((variable initial step) ...) (end? ...) (value ...) steps) . inner)
            whole ((state update) ...) (first ...) result)
         (let* (outer ...)
           (let next ((variable initial) ... (state first) ...)
             (let ((finish (lambda () result))
                   (skip (lambda () (next step ... state ...))))
               (if (or end? ...)
                   (finish)
                   (let* (value ...)
                     (%steps steps finish skip (next step ...) inner whole
                             ((state update) ...))))))))))

    (define-syntax %steps
      (syntax-rules (let let-values when unless while until do)
        ((_ ((let name expression) . steps) . rest)
         (let ((name expression)) (%steps steps . rest)))
        ((_ ((let-values names expression) . steps) . rest)
         (let-values ((names expression)) (%steps steps . rest)))
        ((_ ((when test) . steps) finish skip . rest)
         (if test (%steps steps finish skip . rest) (skip)))
        ((_ ((unless test) . steps) finish skip . rest)
         (if test (skip) (%steps steps finish skip . rest)))
        ((_ ((while test) . steps) finish skip . rest)
         (if test (%steps steps finish skip . rest) (finish)))
        ((_ ((until test) . steps) finish skip . rest)
         (if test (finish) (%steps steps finish skip . rest)))
        ((_ ((do expression ...) . steps) . rest)
         (begin expression ... (%steps steps . rest)))
        ((_ () finish skip (next step ...) () (#f (body ...)) ((state update) ...))
         (begin body ... (next step ... update ...)))
        ((_ () finish skip (next step ...) () ((name) (body ...)) ((state update) ...))
         (let ((name (lambda () (next step ... update ...))))
           body ...))
        ((_ () finish skip (next step ...) inner whole ((state update) ...))
         (%loops inner whole ((state update) ...) (state ...) (next step ... state ...)))
        ((_ (step . steps) . rest)
         (syntax-error "loop: this clause is not right" step))))

    ;; The value of the whole loop.
    (define-syntax %finish
      (syntax-rules (=>)
        ((_ final (result . results) (result* ...))
         (%finish final results (result result* ...)))
        ((_ (=> final) () ((name expression) ...))
         (let ((name expression) ...) final))
        ((_ () () ()) (if #f #f))
        ((_ () () ((name expression))) expression)
        ((_ () () ((name expression) ...)) (values expression ...))))

    ;; Iterators.

    ;; Wrong uses: of an iterator as an accumulator, or of one with other variables or arguments.
    (define-syntax %wrong-iterator
      (syntax-rules ()
        ((_ (name (variable ...) (argument ...)) expected)
         (syntax-error expected (for variable ... (name argument ...))))
        ((_ (name arguments next) expected)
         (syntax-error expected (name . arguments)))))

    ;; Whether the end of a list is a right one; called at the end only.
    (define (%check-end rest)
      (or (null? rest)
          (%type-error 'in-list 1 "list" rest)))

    (define-syntax in-list
      (syntax-rules ()
        ((_ (element) arguments next . rest)
         (in-list (element pair) arguments next . rest))
        ((_ (element pair) (list) next . rest)
         (next ()
               ((pair list (cdr pair)))
               ((if (pair? pair) #f (%check-end pair)))
               ((element (car pair)))
               . rest))
        ((_ variables arguments . rest)
         (%wrong-iterator (in-list variables arguments)
                          "loop: expected (for element [pair] (in-list list)), not"))))

    (define (%check-natural number who)
      (if (and (exact-integer? number) (>= number 0))
          number
          (%type-error who 2 "index" number)))

    (define-syntax define-indexed-iterators
      (syntax-rules ()
        ((_ (name length ref) ...)
         (begin
           (define-syntax name
             (syntax-rules ()
               ((_ (element) arguments next . rest)
                (name (element index) arguments next . rest))
               ((_ (element index) (sequence) next . rest)
                (next ((whole sequence) (end (length whole)))
                      ((index 0 (+ index 1)))
                      ((>= index end))
                      ((element (ref whole index)))
                      . rest))
               ((_ (element index) (sequence start) next . rest)
                (next ((whole sequence) (end (length whole)) (first (%check-natural start 'name)))
                      ((index first (+ index 1)))
                      ((>= index end))
                      ((element (ref whole index)))
                      . rest))
               ((_ (element index) (sequence start end) next . rest)
                (next ((whole sequence)
                       (first (%check-natural start 'name))
                       (last (%check-natural end 'name)))
                      ((index first (+ index 1)))
                      ((>= index last))
                      ((element (ref whole index)))
                      . rest))
               ((_ variables arguments . rest)
                (%wrong-iterator (name variables arguments)
                                 "loop: expected (for element [index] (iterator sequence [start \
                                  [end]])), not"))))
           ...))))

    (define-indexed-iterators
      (in-vector vector-length vector-ref)
      (in-string string-length string-ref)
      (in-bytevector bytevector-length bytevector-u8-ref))

    (define-syntax in-range
      (syntax-rules ()
        ((_ (number) (end) next . rest)
         (in-range (number) (0 end) next . rest))
        ((_ (number) (start end) next . rest)
         (next ((first start) (last end))
               ((current first (+ current 1)))
               ((>= current last))
               ((number current))
               . rest))
        ((_ (number) (start end step) next . rest)
         (next ((first start) (last end) (distance step))
               ((current first (+ current distance)))
               ((if (< distance 0) (<= current last) (>= current last)))
               ((number current))
               . rest))
        ((_ variables arguments . rest)
         (%wrong-iterator (in-range variables arguments)
                          "loop: expected (for number (in-range [start] end [step])), not"))))

    (define-syntax up-from
      (syntax-rules ()
        ((_ variables (start) next . rest)
         (up-from variables (start 1) next . rest))
        ((_ (number) (start step) next . rest)
         (next ((first start) (distance step))
               ((current first (+ current distance)))
               ()
               ((number current))
               . rest))
        ((_ variables arguments . rest)
         (%wrong-iterator (up-from variables arguments)
                          "loop: expected (for number (up-from start [step])), not"))))

    (define-syntax in-port
      (syntax-rules ()
        ((_ variables (port) next . rest)
         (in-port variables (port read-char) next . rest))
        ((_ (item) (port reader) next . rest)
         (next ((source port) (read reader))
               ((current (read source) (read source)))
               ((eof-object? current))
               ((item current))
               . rest))
        ((_ variables arguments . rest)
         (%wrong-iterator (in-port variables arguments)
                          "loop: expected (for item (in-port port [reader])), not"))))

    (define-syntax in-lines
      (syntax-rules ()
        ((_ (line) () next . rest)
         (in-lines (line) ((current-input-port)) next . rest))
        ((_ (line) (port) next . rest)
         (next ((source port))
               ((current (read-line source) (read-line source)))
               ((eof-object? current))
               ((line current))
               . rest))
        ((_ variables arguments . rest)
         (%wrong-iterator (in-lines variables arguments)
                          "loop: expected (for line (in-lines [port])), not"))))

    (define-syntax in-generator
      (syntax-rules ()
        ((_ (item) (generator) next . rest)
         (next ((give generator))
               ((current (give) (give)))
               ((eof-object? current))
               ((item current))
               . rest))
        ((_ variables arguments . rest)
         (%wrong-iterator (in-generator variables arguments)
                          "loop: expected (for item (in-generator procedure)), not"))))

    ;; The associations as they are at the start.
    (define-syntax in-hash-table
      (syntax-rules ()
        ((_ (key value) (table) next . rest)
         (next ()
               ((entries (hash-table->alist table) (cdr entries)))
               ((null? entries))
               ((key (caar entries)) (value (cdar entries)))
               . rest))
        ((_ variables arguments . rest)
         (%wrong-iterator (in-hash-table variables arguments)
                          "loop: expected (for key value (in-hash-table table)), not"))))

    ;; Wrong uses of accumulators.
    (define-syntax %not-an-iterator
      (syntax-rules ()
        ((_ name)
         (syntax-error
          "loop: an accumulator has no variables: it is used alone, or in (into name (accumulator \
           argument ...))"
          name))))
    (define-syntax %wrong-arguments
      (syntax-rules ()
        ((_ form expected)
         (syntax-error expected form))))

    ;; Accumulators.  Each takes a condition as well: (listing expression (if condition)).

    (define-syntax define-accumulators
      (syntax-rules ()
        ((_ (name state initial (expression update) result) ...)
         (begin
           (define-syntax name
             (syntax-rules (if)
               ((_ variables (argument (... ...)) . rest)
                (%not-an-iterator name))
               ((_ (expression (if condition)) next . rest)
                (next ((state initial (if condition update state))) result . rest))
               ((_ (expression) next . rest)
                (next ((state initial update)) result . rest))
               ((_ arguments . rest)
                (%wrong-arguments (name . arguments)
                                  "loop: expected (accumulator expression [(if condition)]), \
                                   not"))))
           ...))))

    (define-accumulators
      (listing items '() (item (cons item items)) (reverse items))
      (listing-reverse items '() (item (cons item items)) items)
      (appending items '() (list (append-reverse list items)) (reverse items))
      (summing sum 0 (number (+ sum number)) sum)
      (multiplying product 1 (number (* product number)) product)
      (counting count 0 (test (if test (+ count 1) count)) count)
      (minimizing least #f
                  (number (let ((value number)) (if (and least (<= least value)) least value)))
                  least)
      (maximizing greatest #f
                  (number
                   (let ((value number)) (if (and greatest (>= greatest value)) greatest value)))
                  greatest)
      (vectoring items '() (item (cons item items)) (%reverse-list->vector items))
      (stringing characters '() (character (cons character characters))
                 (list->string (reverse characters)))
      (string-appending strings '() (string (cons string strings))
                        (%apply string-append (reverse strings)))
      (bytevectoring bytes '() (byte (cons byte bytes)) (%apply bytevector (reverse bytes))))

    ;; (hashing key value [table]): into a new table that compares by equal?, or into one that there
    ;; is.
    (define-syntax hashing
      (syntax-rules ()
        ((_ variables (argument ...) . rest)
         (%not-an-iterator hashing))
        ((_ (key value) next . rest)
         (hashing (key value (make-hash-table equal?)) next . rest))
        ((_ (key value target) next . rest)
         (next ((table target (begin (hash-table-set! table key value) table))) table . rest))
        ((_ arguments . rest)
         (%wrong-arguments (hashing . arguments)
                           "loop: expected (hashing key value [table]), not"))))))
