;;; (srfi 225): dictionaries.
;;;
;;; A dictionary type object is a vector with a procedure for each id, an index into it. Procedures
;;; that the maker of a type lacks are made of the seven that each type has. These are dictionary?,
;;; dict-pure?, dict-size, dict-comparator, dict-find-update!, dict-map and dict-remove. They may
;;; be fewer, as dict-remove has a default, too.
;;;
;;; Updates of an impure dictionary change it, those of a pure one do not; both give the dictionary
;;; that results.

(define-library (srfi 225)
  (export dictionary? dict-empty? dict-contains? dict=? dict-pure? dict-ref dict-ref/default
          dict-comparator dict-set! dict-adjoin! dict-delete! dict-delete-all! dict-replace!
          dict-intern! dict-update! dict-update/default! dict-pop! dict-find-update!
          dict-map dict-filter dict-remove dict-size dict-count dict-any dict-every
          dict-keys dict-values dict-entries dict-fold dict-map->list dict->alist
          dict-for-each dict->generator dict-set!-accumulator dict-adjoin!-accumulator
          dictionary?-id dict-empty?-id dict-contains?-id dict=?-id dict-pure?-id dict-ref-id
          dict-ref/default-id dict-comparator-id dict-set!-id dict-adjoin!-id dict-delete!-id
          dict-delete-all!-id dict-replace!-id dict-intern!-id dict-update!-id
          dict-update/default!-id dict-pop!-id dict-find-update!-id dict-map-id dict-filter-id
          dict-remove-id dict-size-id dict-count-id dict-any-id dict-every-id dict-keys-id
          dict-values-id dict-entries-id dict-fold-id dict-map->list-id dict->alist-id
          dict-for-each-id dict->generator-id dict-set!-accumulator-id
          dict-adjoin!-accumulator-id
          dto? make-dto dto-ref make-alist-dto
          dictionary-error dictionary-error? dictionary-message dictionary-irritants
          eqv-alist-dto equal-alist-dto srfi-69-dto hash-table-dto srfi-126-dto mapping-dto
          hash-mapping-dto)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (canny data comparators) (canny data hash-tables)
          (srfi 126) (srfi 146) (srfi 146 hash))
  (begin

    (define-record-type <dto>
      (%make-dto procedures)
      dto?
      (procedures dto-procedures))

    (define-record-type <dictionary-error>
      (make-dictionary-error message irritants)
      dictionary-error?
      (message dictionary-message)
      (irritants dictionary-irritants))

    (define (dictionary-error message . irritants)
      (raise (make-dictionary-error message irritants)))

    ;; (define-generics count number (name id) ...) gives the ids the numbers from `number` on,
    ;; defines the procedures, and `count` as the number after the last.
    (define-syntax define-generics
      (syntax-rules ()
        ((_ count number) (define count number))
        ((_ count number (name id) clause ...)
         (begin
           (define id number)
           (define (name dto . arguments)
             (check-argument 'name 1 dto? "dictionary type object" dto)
             (%apply (vector-ref (dto-procedures dto) id) (cons dto arguments)))
           (define-generics count (+ 1 id) clause ...)))))

    (define-generics id-count 0
      (dictionary? dictionary?-id)
      (dict-empty? dict-empty?-id)
      (dict-contains? dict-contains?-id)
      (dict=? dict=?-id)
      (dict-pure? dict-pure?-id)
      (dict-ref dict-ref-id)
      (dict-ref/default dict-ref/default-id)
      (dict-comparator dict-comparator-id)
      (dict-set! dict-set!-id)
      (dict-adjoin! dict-adjoin!-id)
      (dict-delete! dict-delete!-id)
      (dict-delete-all! dict-delete-all!-id)
      (dict-replace! dict-replace!-id)
      (dict-intern! dict-intern!-id)
      (dict-update! dict-update!-id)
      (dict-update/default! dict-update/default!-id)
      (dict-pop! dict-pop!-id)
      (dict-find-update! dict-find-update!-id)
      (dict-map dict-map-id)
      (dict-filter dict-filter-id)
      (dict-remove dict-remove-id)
      (dict-size dict-size-id)
      (dict-count dict-count-id)
      (dict-any dict-any-id)
      (dict-every dict-every-id)
      (dict-keys dict-keys-id)
      (dict-values dict-values-id)
      (dict-entries dict-entries-id)
      (dict-fold dict-fold-id)
      (dict-map->list dict-map->list-id)
      (dict->alist dict->alist-id)
      (dict-for-each dict-for-each-id)
      (dict->generator dict->generator-id)
      (dict-set!-accumulator dict-set!-accumulator-id)
      (dict-adjoin!-accumulator dict-adjoin!-accumulator-id))

    ;; Defaults.

    (define defaults
      (make-vector id-count
                   (lambda (dto . arguments)
                     (dictionary-error "the dictionary type lacks this procedure" dto))))

    (define-syntax define-default
      (syntax-rules ()
        ((_ (id . formals) body ...)
         (vector-set! defaults id (lambda formals body ...)))))

    (define (no-such-key key)
      (dictionary-error "the key has no value" key))

    ;; Calls `add` with a dictionary and each key and value of a list in which they alternate.
    (define (add-all dict arguments add)
      (let loop ((rest arguments) (dict dict))
        (cond ((null? rest) dict)
              ((null? (cdr rest)) (dictionary-error "a key has no value" (car rest)))
              (else (loop (cddr rest) (add dict (car rest) (cadr rest)))))))

    (define (set-one! dto dict key value)
      (dict-find-update! dto dict key
                         (lambda (insert ignore) (insert value))
                         (lambda (key old update delete) (update key value))))

    (define (adjoin-one! dto dict key value)
      (dict-find-update! dto dict key
                         (lambda (insert ignore) (insert value))
                         (lambda (key old update delete) (ignore-all dict))))

    (define (ignore-all dict)
      dict)

    (define (delete-one! dto dict key)
      (dict-find-update! dto dict key
                         (lambda (insert ignore) (ignore))
                         (lambda (key old update delete) (delete))))

    (define-default (dict-empty?-id dto dict)
      (= (dict-size dto dict) 0))

    (define-default (dict-contains?-id dto dict key)
      (dict-find-update! dto dict key
                         (lambda (insert ignore) #f)
                         (lambda (key value update delete) #t)))

    (define-default (dict=?-id dto same? left right)
      (and (= (dict-size dto left) (dict-size dto right))
           (dict-every dto
                       (lambda (key value)
                         (dict-find-update! dto right key
                                            (lambda (insert ignore) #f)
                                            (lambda (key other update delete)
                                              (and (same? value other) #t))))
                       left)))

    (define-default (dict-ref-id dto dict key . options)
      (let ((failure (if (pair? options) (car options) (lambda () (no-such-key key))))
            (success (if (and (pair? options) (pair? (cdr options))) (cadr options) values)))
        (dict-find-update! dto dict key
                           (lambda (insert ignore) (failure))
                           (lambda (key value update delete) (success value)))))

    (define-default (dict-ref/default-id dto dict key default)
      (dict-ref dto dict key (lambda () default)))

    (define-default (dict-set!-id dto dict . arguments)
      (add-all dict arguments (lambda (dict key value) (set-one! dto dict key value))))

    (define-default (dict-adjoin!-id dto dict . arguments)
      (add-all dict arguments (lambda (dict key value) (adjoin-one! dto dict key value))))

    (define-default (dict-delete!-id dto dict . keys)
      (dict-delete-all! dto dict keys))

    (define-default (dict-delete-all!-id dto dict keys)
      (let loop ((rest keys) (dict dict))
        (if (null? rest)
            dict
            (loop (cdr rest) (delete-one! dto dict (car rest))))))

    (define-default (dict-replace!-id dto dict key value)
      (dict-find-update! dto dict key
                         (lambda (insert ignore) (ignore))
                         (lambda (key old update delete) (update key value))))

    (define-default (dict-intern!-id dto dict key failure)
      (dict-find-update! dto dict key
                         (lambda (insert ignore)
                           (let ((value (failure)))
                             (values (insert value) value)))
                         (lambda (key value update delete) (values dict value))))

    (define-default (dict-update!-id dto dict key updater . options)
      (let ((failure (if (pair? options) (car options) (lambda () (no-such-key key))))
            (success (if (and (pair? options) (pair? (cdr options))) (cadr options) values)))
        (dict-find-update! dto dict key
                           (lambda (insert ignore) (insert (updater (failure))))
                           (lambda (key value update delete)
                             (update key (updater (success value)))))))

    (define-default (dict-update/default!-id dto dict key updater default)
      (dict-update! dto dict key updater (lambda () default)))

    (define-default (dict-pop!-id dto dict)
      (let ((entry (dict-any dto cons dict)))
        (if (not entry)
            (dictionary-error "the dictionary is empty" dict))
        (values (delete-one! dto dict (car entry)) (car entry) (cdr entry))))

    (define-default (dict-filter-id dto wanted? dict)
      (dict-remove dto (lambda (key value) (not (wanted? key value))) dict))

    (define-default (dict-remove-id dto unwanted? dict)
      (dict-delete-all! dto
                        dict
                        (dict-fold dto
                                   (lambda (key value keys)
                                     (if (unwanted? key value) (cons key keys) keys))
                                   '()
                                   dict)))

    (define-default (dict-count-id dto wanted? dict)
      (dict-fold dto
                 (lambda (key value total) (if (wanted? key value) (+ total 1) total))
                 0
                 dict))

    (define-default (dict-any-id dto wanted? dict)
      (let loop ((rest (dict->alist dto dict)))
        (and (pair? rest)
             (or (wanted? (caar rest) (cdar rest))
                 (loop (cdr rest))))))

    (define-default (dict-every-id dto wanted? dict)
      (let loop ((rest (dict->alist dto dict)) (last #t))
        (if (null? rest)
            last
            (let ((result (wanted? (caar rest) (cdar rest))))
              (and result (loop (cdr rest) result))))))

    (define-default (dict-keys-id dto dict)
      (%map1 car (dict->alist dto dict)))

    (define-default (dict-values-id dto dict)
      (%map1 cdr (dict->alist dto dict)))

    (define-default (dict-entries-id dto dict)
      (let ((alist (dict->alist dto dict)))
        (values (%map1 car alist) (%map1 cdr alist))))

    (define-default (dict-fold-id dto procedure state dict)
      (let loop ((rest (dict->alist dto dict)) (state state))
        (if (null? rest)
            state
            (loop (cdr rest) (procedure (caar rest) (cdar rest) state)))))

    (define-default (dict-map->list-id dto procedure dict)
      (%map1 (lambda (entry) (procedure (car entry) (cdr entry))) (dict->alist dto dict)))

    ;; A map that changes nothing sees all associations.
    (define-default (dict->alist-id dto dict)
      (let ((reversed '()))
        (dict-map dto
                  (lambda (key value)
                    (set! reversed (cons (cons key value) reversed))
                    value)
                  dict)
        (reverse reversed)))

    ;; The associations from the key `start` on, and before the key `end`, if these are given.
    (define (part-of dto dict bounds)
      (let ((alist (dict->alist dto dict)))
        (if (null? bounds)
            alist
            (let ((comparator (dict-comparator dto dict)))
              (if (not (and comparator (comparator-ordered? comparator)))
                  (dictionary-error "the dictionary has no order" dict))
              (let ((less? (comparator-ordering-predicate comparator)))
                (let loop ((rest alist) (reversed '()))
                  (cond ((null? rest) (reverse reversed))
                        ((less? (caar rest) (car bounds)) (loop (cdr rest) reversed))
                        ((and (pair? (cdr bounds)) (not (less? (caar rest) (cadr bounds))))
                         (loop (cdr rest) reversed))
                        (else (loop (cdr rest) (cons (car rest) reversed))))))))))

    (define-default (dict-for-each-id dto procedure dict . bounds)
      (for-each (lambda (entry) (procedure (car entry) (cdr entry)))
                (part-of dto dict bounds)))

    (define-default (dict->generator-id dto dict . bounds)
      (let ((rest (part-of dto dict bounds)))
        (lambda ()
          (if (pair? rest)
              (let ((entry (car rest)))
                (set! rest (cdr rest))
                entry)
              (eof-object)))))

    (define (accumulator dict add)
      (lambda (object)
        (if (eof-object? object)
            dict
            (set! dict (add dict (car object) (cdr object))))))

    (define-default (dict-set!-accumulator-id dto dict)
      (accumulator dict (lambda (dict key value) (dict-set! dto dict key value))))

    (define-default (dict-adjoin!-accumulator-id dto dict)
      (accumulator dict (lambda (dict key value) (dict-adjoin! dto dict key value))))

    ;; Type objects.

    (define (check-id who position id)
      (if (not (and (exact-nonnegative-integer? id) (< id id-count)))
          (%type-error who position "id of a dictionary procedure" id)))

    (define (make-dto . arguments)
      (let ((procedures (vector-copy defaults)))
        (let loop ((rest arguments) (position 1))
          (if (pair? rest)
              (begin
                (check-id 'make-dto position (car rest))
                (if (null? (cdr rest))
                    (dictionary-error "an id has no procedure" (car rest)))
                (check-procedure 'make-dto (+ position 1) (cadr rest))
                (vector-set! procedures (car rest) (cadr rest))
                (loop (cddr rest) (+ position 2)))))
        (%make-dto procedures)))

    (define (dto-ref dto id)
      (check-argument 'dto-ref 1 dto? "dictionary type object" dto)
      (check-id 'dto-ref 2 id)
      (vector-ref (dto-procedures dto) id))

    ;; Association lists.

    (define (alist? object)
      (and (list? object)
           (let loop ((rest object))
             (or (null? rest)
                 (and (pair? (car rest)) (loop (cdr rest)))))))

    (define (make-alist-dto same?)
      (check-procedure 'make-alist-dto 1 same?)
      (let ((comparator (make-comparator (lambda (object) #t) same? #f #f)))
        (define (without alist key)
          (let loop ((rest alist) (reversed '()))
            (cond ((null? rest) (reverse reversed))
                  ((same? key (caar rest)) (loop (cdr rest) reversed))
                  (else (loop (cdr rest) (cons (car rest) reversed))))))
        (define (find alist key)
          (let loop ((rest alist))
            (cond ((null? rest) #f)
                  ((same? key (caar rest)) (car rest))
                  (else (loop (cdr rest))))))
        (make-dto
         dictionary?-id (lambda (dto object) (alist? object))
         dict-pure?-id (lambda (dto alist) #t)
         dict-size-id (lambda (dto alist) (length alist))
         dict-comparator-id (lambda (dto alist) comparator)
         dict->alist-id (lambda (dto alist) (alist-copy alist))
         dict-map-id
         (lambda (dto procedure alist)
           (%map1 (lambda (entry) (cons (car entry) (procedure (car entry) (cdr entry)))) alist))
         dict-remove-id
         (lambda (dto unwanted? alist)
           (let loop ((rest alist) (reversed '()))
             (cond ((null? rest) (reverse reversed))
                   ((unwanted? (caar rest) (cdar rest)) (loop (cdr rest) reversed))
                   (else (loop (cdr rest) (cons (car rest) reversed))))))
         dict-find-update!-id
         (lambda (dto alist key failure success)
           (let ((entry (find alist key)))
             (if entry
                 (success (car entry)
                          (cdr entry)
                          (lambda (new-key new-value)
                            (cons (cons new-key new-value) (without alist key)))
                          (lambda () (without alist key)))
                 (failure (lambda (value) (cons (cons key value) alist))
                          (lambda () alist))))))))

    (define (alist-copy alist)
      (%map1 (lambda (entry) (cons (car entry) (cdr entry))) alist))

    (define eqv-alist-dto (make-alist-dto eqv?))
    (define equal-alist-dto (make-alist-dto equal?))

    ;; Dictionaries that are changed.  The operands are procedures of their library.

    (define absent (list 'absent))

    (define-syntax make-impure-dto
      (syntax-rules ()
        ((_ type? size equivalence hash-of ref set delete ->alist)
         (make-dto
          dictionary?-id (lambda (dto object) (type? object))
          dict-pure?-id (lambda (dto table) #f)
          dict-size-id (lambda (dto table) (size table))
          dict-comparator-id
          (lambda (dto table)
            (make-comparator (lambda (object) #t) (equivalence table) #f (hash-of table)))
          dict-ref/default-id (lambda (dto table key default) (ref table key default))
          dict-contains?-id (lambda (dto table key) (not (eq? (ref table key absent) absent)))
          dict->alist-id (lambda (dto table) (->alist table))
          dict-map-id
          (lambda (dto procedure table)
            (for-each (lambda (entry)
                        (set table (car entry) (procedure (car entry) (cdr entry))))
                      (->alist table))
            table)
          dict-remove-id
          (lambda (dto unwanted? table)
            (for-each (lambda (entry)
                        (if (unwanted? (car entry) (cdr entry))
                            (delete table (car entry))))
                      (->alist table))
            table)
          dict-find-update!-id
          (lambda (dto table key failure success)
            (let ((value (ref table key absent)))
              (if (eq? value absent)
                  (failure (lambda (value)
                             (set table key value)
                             table)
                           (lambda () table))
                  (success key
                           value
                           (lambda (new-key new-value)
                             (delete table key)
                             (set table new-key new-value)
                             table)
                           (lambda ()
                             (delete table key)
                             table)))))))))

    (define hash-table-dto
      (make-impure-dto hash-table? hash-table-size hash-table-equivalence-function
                       hash-table-hash-function hash-table-ref/default hash-table-set!
                       hash-table-delete! hash-table->alist))

    (define srfi-69-dto hash-table-dto)

    (define (hashtable->alist table)
      (hashtable-map->lset table cons))

    (define (hash-function-of table)
      (let ((hash (hashtable-hash-function table)))
        (cond ((pair? hash) (car hash))
              (hash hash)
              ((eq? (hashtable-equivalence-function table) eq?) hash-by-identity)
              (else hash-by-eqv))))

    (define srfi-126-dto
      (make-impure-dto hashtable? hashtable-size hashtable-equivalence-function
                       hash-function-of hashtable-ref hashtable-set! hashtable-delete!
                       hashtable->alist))

    ;; The mappings of SRFI 146.

    (define-syntax make-pure-dto
      (syntax-rules ()
        ((_ type? size comparator ref/default contains? ->alist search map-values remove)
         (make-dto
          dictionary?-id (lambda (dto object) (type? object))
          dict-pure?-id (lambda (dto mapping) #t)
          dict-size-id (lambda (dto mapping) (size mapping))
          dict-comparator-id (lambda (dto mapping) (comparator mapping))
          dict-ref/default-id
          (lambda (dto mapping key default) (ref/default mapping key default))
          dict-contains?-id (lambda (dto mapping key) (contains? mapping key))
          dict->alist-id (lambda (dto mapping) (->alist mapping))
          dict-map-id
          (lambda (dto procedure mapping)
            (map-values (lambda (key value) (values key (procedure key value)))
                        (comparator mapping)
                        mapping))
          dict-remove-id (lambda (dto unwanted? mapping) (remove unwanted? mapping))
          dict-find-update!-id
          (lambda (dto mapping key failure success)
            (define (first-value receive)
              (call-with-values receive (lambda (mapping object) mapping)))
            (if (contains? mapping key)
                ;; The result is that of `success`, not that of the search.
                (call-with-values
                  (lambda ()
                    (search mapping key
                            (lambda (insert ignore) (ignore #f))
                            (lambda (found value update delete) (delete (cons found value)))))
                  (lambda (without entry)
                    (success (car entry)
                             (cdr entry)
                             (lambda (new-key new-value)
                               (first-value
                                (lambda ()
                                  (search mapping key
                                          (lambda (insert ignore) (ignore #f))
                                          (lambda (found value update delete)
                                            (update new-key new-value #f))))))
                             (lambda () without))))
                (failure (lambda (value)
                           (first-value
                            (lambda ()
                              (search mapping key
                                      (lambda (insert ignore) (insert value #f))
                                      (lambda (found value update delete) (delete #f))))))
                         (lambda () mapping))))))))

    (define mapping-dto
      (make-pure-dto mapping? mapping-size mapping-key-comparator mapping-ref/default
                     mapping-contains? mapping->alist mapping-search mapping-map mapping-remove))

    (define hash-mapping-dto
      (make-pure-dto hashmap? hashmap-size hashmap-key-comparator hashmap-ref/default
                     hashmap-contains? hashmap->alist hashmap-search hashmap-map
                     hashmap-remove))))
