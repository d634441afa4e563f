;;; Part of (canny generic): classes, the records of methods, generic functions and calls, and their
;;; caches.
;;;
;;; The header of `(canny generic)` says how caches work and which invariants they have. It decides
;;; which procedures are cached.

(define-syntax define-class
  (syntax-rules ()
    ((_ name () constructor predicate field ...)
     (define-record-type name constructor predicate field ...))
    ((_ name (parent) constructor predicate field ...)
     (define-record-type (name parent) constructor predicate field ...))
    ((_ name (parent ...) . rest)
     (syntax-error "define-class: a class has one parent at most" (parent ...)))))

;; Below the keys of records; the classes of everything else, by key.
(define built-in-classes (make-vector 128 <object>))

(for-each
 (lambda (class example)
   (vector-set! built-in-classes (%class-key example) class))
 (list <fixnum> <bignum> <rational> <complex> <flonum> <pair> <null> <symbol> <keyword> <char>
       <boolean> <string> <vector> <bytevector> <procedure> <hash-table> <port> <eof-object>
       <condition> <class>)
 (list 0 (expt 2 100) 1/2 (make-rectangular 1 2) 1.5 '(1) '() 'a '#:a #\a #t "" '#() '#u8() car
       (%make-hash-table 'eq #f 0) (open-input-string "") (eof-object)
       (%make-condition 'error "" '() #f) <object>))

(define (class? object) (record-type? object))

(define (class-of object)
  (if (record? object)
      (record-type-descriptor object)
      (vector-ref built-in-classes (%class-key object))))

(define (class-name class) (record-type-name class))
(define (class-parent class) (record-type-parent class))

;; The class and those that it inherits from, most specific first.  Records are of the classes
;; <record> and <object>, whether their types say so or not.
(define (class-precedence-list class)
  (let loop ((current class) (chain '()))
    (cond ((not current)
           (append-reverse chain (list <record> <object>)))
          ((eq? current <object>)
           (append-reverse chain
                           (if (or (null? chain) (built-in? class))
                               (list <object>)
                               (list <record> <object>))))
          (else (loop (record-type-parent current) (cons current chain))))))

(define all-built-in
  (list <number> <complex> <real> <rational> <integer> <fixnum> <bignum> <flonum>
        <list> <pair> <null> <symbol> <keyword> <char> <boolean> <string> <vector> <bytevector>
        <procedure> <hash-table> <port> <eof-object> <condition> <class> <record>))

(define (built-in? class) (memq class all-built-in))

(define (subclass? class other)
  (and (memq other (class-precedence-list class)) #t))

(define (is-a? object class)
  (subclass? (class-of object) class))

;; Methods. The procedure of a method takes the procedure that `next-method` calls, and gives
;; the procedure that takes the arguments.

(define-record-type <method>
  (new-method specializers procedure)
  method?
  (specializers method-specializers)
  (procedure method-procedure))

(define (make-method specializers procedure)
  (for-each (lambda (class)
              (if (not (class? class))
                  (%type-error 'make-method 1 "list of classes" specializers)))
            specializers)
  (new-method specializers procedure))

(define-record-type <generic>
  (new-generic name parameters rest? procedure updater methods entries count slot-keys table
               limit sites)
  generic-object?
  (name object-name)
  (parameters object-parameters)
  (rest? object-rest?)
  (procedure object-procedure set-object-procedure!)
  ;; Sets a variable of the generic function: (slot keys procedure), ('table #f table), ('use
  ;; position boolean).
  (updater object-updater set-object-updater!)
  (methods object-methods set-object-methods!)
  ;; Entries of the cache, newest first; each a vector of key, classes and procedure.
  (entries object-entries set-object-entries!)
  (count object-count set-object-count!)
  (slot-keys object-slot-keys set-object-slot-keys!)
  (table object-table set-object-table!)
  (limit object-limit set-object-limit!)
  ;; The calls by name that have cached something.
  (sites object-sites set-object-sites!))

(define fields-of-generic 12)

(define %make-generic
  (lambda* (name parameters rest? #:key (class <generic>) (cache-limit 4096))
    (if (not (and (class? class) (subclass? class <generic>)))
        (%type-error 'define-generic 1 "class derived from <generic>" class))
    (let ((more (- (vector-length (record-type-field-names class)) fields-of-generic)))
      (apply %record class name parameters rest? #f #f '() '() 0 '() %empty-table cache-limit
             '()
             (make-list more #f)))))

;; Procedure → object.
(define objects (%make-hash-table 'eq 'ephemeral 0))

(define (%register-generic! object procedure update!)
  (set-object-procedure! object procedure)
  (set-object-updater! object update!)
  (%hash-table-set! objects procedure object))

(define (generic? object)
  (and (procedure? object) (%hash-table-contains? objects object)))

(define (generic-object generic)
  (object-of generic 'generic-object))

(define (object-of generic who)
  (cond ((generic-object? generic) generic)
        ((and (procedure? generic) (%hash-table-ref objects generic #f)))
        (else (%type-error who 1 "generic function" generic))))

(define (generic-name generic) (object-name (object-of generic 'generic-name)))
(define (generic-methods generic) (object-methods (object-of generic 'generic-methods)))

;; The cache.
;;
;; Threads read caches at any time; one at a time changes them, the one that took the token. A
;; thread that does not get it does without, unless methods change. A place is read keys first:
;; it gets its procedure before its keys, and between the keys of two procedures all threads
;; pass a safepoint. A lookup in a place has no safepoint. A place without keys has the generic
;; function.

(define token
  (let ((table (%make-hash-table 'eq #f 1)))
    (%hash-table-set! table 'free #t)
    table))

;; Changes whenever caches are cleared: what was computed before is not cached afterwards.
(define version 0)

;; Calls the procedure, unless another thread changes a cache; whether it did.
(define (change-alone change)
  (and (%hash-table-delete! token 'free)
       (begin
         (dynamic-wind (lambda () #f)
                       change
                       (lambda () (%hash-table-set! token 'free #t)))
         #t)))

(define (change-surely change)
  (if (not (change-alone change))
      (begin
        (%meet-threads)
        (change-surely change))))

(define slots 4)
;; Larger than a class key, and odd, so that the low bits of several packed keys differ if those
;; of one key differ.
(define key-factor 1049189)
;; The key of record types for which no number was left.
(define crowded 127)
;; Arguments whose classes make up a key.
(define positions-of-key 3)

;; Keys and procedures alternate; half of the places stay free, so that a search ends.
(define (make-table size)
  (make-vector (* 2 size) -1))

;; Shared by all generic functions; the first entry makes a larger one.
(define %empty-table (make-table 1))

(define (first-place table key)
  (bitwise-and (+ key key) (- (vector-length table) 2)))

(define (%cache-lookup table key)
  (let loop ((place (first-place table key)))
    (let ((there (vector-ref table place)))
      (cond ((eq? there key) (vector-ref table (+ place 1)))
            ((eq? there -1) #f)
            (else (loop (bitwise-and (+ place 2) (- (vector-length table) 2))))))))

(define (table-add! table key procedure)
  (let loop ((place (first-place table key)))
    (if (eq? (vector-ref table place) -1)
        (begin
          (vector-set! table (+ place 1) procedure)
          (vector-set! table place key))
        (loop (bitwise-and (+ place 2) (- (vector-length table) 2))))))

;; A table of twice the size with the same entries.
(define (larger-table table)
  (let* ((size (vector-length table))
         (larger (make-table size)))
    (let loop ((place 0))
      (if (< place size)
          (begin
            (if (not (eq? (vector-ref table place) -1))
                (table-add! larger (vector-ref table place) (vector-ref table (+ place 1))))
            (loop (+ place 2)))))
    larger))

(define (generic-cache generic)
  (map (lambda (entry) (cons (vector-ref entry 1) (vector-ref entry 2)))
       (object-entries (object-of generic 'generic-cache))))

(define (generic-cache-limit generic)
  (object-limit (object-of generic 'generic-cache-limit)))

(define (set-generic-cache-limit! generic limit)
  (let ((object (object-of generic 'set-generic-cache-limit!)))
    (if (not (and (fixnum? limit) (>= limit 0)))
        (%type-error 'set-generic-cache-limit! 2 "exact nonnegative integer" limit))
    (set-object-limit! object limit)
    (if (> (object-count object) limit)
        (clear-generic-cache! object))))

(define (clear-generic-cache! generic)
  (let ((object (object-of generic 'clear-generic-cache!)))
    (change-surely (lambda () (clear-cache! object)))))

(define (clear-cache! object)
  (let ((update! (object-updater object)))
    (set! version (+ version 1))
    (set-object-entries! object '())
    (set-object-count! object 0)
    (set-object-slot-keys! object '())
    (set-object-table! object %empty-table)
    (let loop ((slot 0))
      (if (< slot slots)
          (begin
            (update! slot '(-1 -1 -1) (object-procedure object))
            (loop (+ slot 1)))))
    (update! 'table #f %empty-table)
    (for-each reopen-call-site! (object-sites object))
    (let loop ((position 0))
      (if (< position (min positions-of-key (length (object-parameters object))))
          (begin
            (update! 'use position (specializes? object position))
            (loop (+ position 1)))))
    (%meet-threads)))

;; Whether a method looks at the class of the argument.
(define (specializes? object position)
  (some? (lambda (method)
           (let ((specializers (method-specializers method)))
             (and (> (length specializers) position)
                  (not (eq? (list-ref specializers position) <object>)))))
         (object-methods object)))

(define (some? test list)
  (and (pair? list)
       (or (test (car list))
           (some? test (cdr list)))))

;; The keys of the first classes, zeros for those that do not count; #f if one has no key of its
;; own.
(define (keys-of object classes)
  (let loop ((classes classes) (position 0))
    (if (or (null? classes) (= position positions-of-key))
        '()
        (let ((own (if (counts? object position) (class-key (car classes)) 0))
              (rest (loop (cdr classes) (+ position 1))))
          (and rest
               (not (eq? own crowded))
               (cons own rest))))))

(define (key-of-keys keys)
  (let loop ((keys (cdr keys)) (key (car keys)))
    (if (null? keys)
        key
        (loop (cdr keys) (+ (* key key-factor) (car keys))))))

;; With one parameter there is no look at whether it counts.
(define (counts? object position)
  (or (null? (cdr (object-parameters object)))
      (specializes? object position)))

(define (class-key class)
  (if (memq class all-built-in)
      (let loop ((key 0))
        (cond ((= key crowded) key)
              ((eq? (vector-ref built-in-classes key) class) key)
              (else (loop (+ key 1)))))
      (%record-type-key class)))

(define (add-entry! object keys classes procedure)
  (let ((count (object-count object))
        (update! (object-updater object))
        (key (key-of-keys keys)))
    (set-object-entries! object (cons (vector key classes procedure) (object-entries object)))
    (set-object-count! object (+ count 1))
    (if (< count slots)
        (begin
          (set-object-slot-keys! object (cons key (object-slot-keys object)))
          (update! count keys procedure))
        (let* ((table (object-table object))
               (is-full? (> (* 4 (+ 1 (- count slots))) (vector-length table)))
               (table (if is-full? (larger-table table) table)))
          (table-add! table key procedure)
          (set-object-table! object table)
          (update! 'table #f table)))))

(define (is-cached? object key)
  (or (memv key (object-slot-keys object))
      (%cache-lookup (object-table object) key)))

(define (add-generic-cache-entry! generic classes procedure)
  (add-since! (object-of generic 'add-generic-cache-entry!) classes procedure version))

;; Adds an entry that was computed when the version was this one.
(define (add-since! object classes procedure before)
  (let ((keys (keys-of object classes)))
    (if keys
        (change-alone
         (lambda ()
           (if (and (eq? before version)
                    (not (is-cached? object (key-of-keys keys))))
               (add-entry! object keys classes procedure)))))))

;; Calls by name.

;; The cache of one call.
(define-record-type <call-site>
  (new-call-site object updater entries changes misses open?)
  call-site?
  (object call-site-object)
  ;; Sets the variables of the call: (place keys procedure), and its state: (#f #f state).
  (updater call-site-updater)
  ;; Newest first; each a vector like those of the function.
  (entries call-site-own-entries set-call-site-own-entries!)
  ;; How many entries were made, and how often the function's cache had none, since it was
  ;; cleared.
  (changes call-site-changes set-call-site-changes!)
  (misses call-site-misses set-call-site-misses!)
  (open? call-site-open? set-call-site-open!))

(define places-of-call-site 2)
;; Entries that are made in turn, and misses that are waited for. Then a call is taken for one
;; that sees too many classes, or whose classes are not to be cached.
(define changes-max 8)
(define misses-max 64)
(define no-keys '(#f #f #f))

(define (call-site-generic site) (object-procedure (call-site-object site)))

(define (call-site-entries site)
  (map (lambda (entry) (cons (vector-ref entry 1) (vector-ref entry 2)))
       (call-site-own-entries site)))

(define (generic-call-sites generic)
  (object-sites (object-of generic 'generic-call-sites)))

(define (empty-call-site! site state)
  (let ((update! (call-site-updater site)))
    (set-call-site-own-entries! site '())
    (set-call-site-changes! site 0)
    (set-call-site-misses! site 0)
    (update! 0 no-keys (call-site-generic site))
    (update! 1 no-keys (call-site-generic site))
    (update! #f #f state)))

(define (clear-call-site! site)
  (change-surely
   (lambda ()
     (reopen-call-site! site)
     (%meet-threads))))

(define (reopen-call-site! site)
  (set-call-site-open! site #t)
  (empty-call-site! site site))

(define (close-call-site! site)
  (change-alone
   (lambda ()
     (set-call-site-open! site #f)
     (empty-call-site! site #t))))

;; The oldest entry makes room.
(define (add-call-site-entry! site classes procedure)
  (change-alone (lambda () (fill-call-site! site classes procedure))))

(define (fill-call-site! site classes procedure)
  (let* ((keys (keys-of (call-site-object site) classes))
         (others (call-site-own-entries site))
         (changes (call-site-changes site))
         (place (remainder changes places-of-call-site))
         (update! (call-site-updater site)))
    (if (and keys
             (call-site-open? site)
             (not (entry-of others (key-of-keys keys))))
        (begin
          (if (>= changes places-of-call-site)
              (begin
                (update! place no-keys (call-site-generic site))
                (%meet-threads)))
          (update! place keys procedure)
          (set-call-site-changes! site (+ changes 1))
          (set-call-site-own-entries!
           site
           (cons (vector (key-of-keys keys) classes procedure)
                 (if (null? others) '() (list (car others)))))))))

;; The function's cache may have been cleared since the lookup.
(define (is-entry? object classes procedure)
  (or (not (is-plain? object))
      (let ((entry (entry-for object classes)))
        (and entry (eq? (vector-ref entry 2) procedure)))))

(define (entry-of entries key)
  (and (pair? entries)
       (if (eqv? (vector-ref (car entries) 0) key)
           (car entries)
           (entry-of (cdr entries) key))))

(define (entry-for object classes)
  (let ((keys (keys-of object classes)))
    (and keys (entry-of (object-entries object) (key-of-keys keys)))))

(define (add-call-site! object update!)
  (let ((site (new-call-site object update! '() 0 0 #t)))
    (and (change-alone
          (lambda ()
            (set-object-sites! object (cons site (object-sites object)))
            (update! #f #f site)))
         site)))

(define (standard-cache-at-call-site! site classes procedure)
  (if (< (call-site-changes site) changes-max)
      (change-alone
       (lambda ()
         (if (is-entry? (call-site-object site) classes procedure)
             (fill-call-site! site classes procedure))))
      (close-call-site! site)))

(define (is-plain? object)
  (eq? (record-type-descriptor object) <generic>))
