;;; (srfi 209): enums and enum sets.
;;;
;;; An enum type has its enums in a vector, by ordinal, and in a table by name. An enum set is a
;;; type and an exact integer whose bit of an enum's ordinal says whether the enum is a member. It
;;; is never changed, so that the linear-update procedures are the pure ones.

(define-library (srfi 209)
  (export enum-type? enum? enum-type-contains? enum=? enum<? enum>? enum<=? enum>=?
          make-enum-type enum-type enum-name enum-ordinal enum-value
          enum-name->enum enum-ordinal->enum enum-name->ordinal enum-name->value
          enum-ordinal->name enum-ordinal->value
          enum-type-size enum-min enum-max enum-type-enums enum-type-names enum-type-values
          enum-next enum-prev make-enum-comparator
          enum-empty-set enum-type->enum-set enum-set list->enum-set enum-set-projection
          enum-set-copy make-enumeration enum-set-universe enum-set-constructor
          enum-set? enum-set-contains? enum-set-member? enum-set-empty? enum-set-disjoint?
          enum-set=? enum-set<? enum-set>? enum-set<=? enum-set>=? enum-set-subset?
          enum-set-any? enum-set-every? enum-set-type enum-set-indexer
          enum-set-adjoin enum-set-delete enum-set-delete-all
          (rename enum-set-adjoin enum-set-adjoin!) (rename enum-set-delete enum-set-delete!)
          (rename enum-set-delete-all enum-set-delete-all!)
          enum-set-size enum-set->enum-list enum-set->list enum-set-count
          enum-set-filter enum-set-remove
          (rename enum-set-filter enum-set-filter!) (rename enum-set-remove enum-set-remove!)
          enum-set-map->list enum-set-for-each enum-set-fold
          enum-set-complement enum-set-union enum-set-intersection enum-set-difference
          enum-set-xor
          (rename enum-set-complement enum-set-complement!)
          (rename enum-set-union enum-set-union!)
          (rename enum-set-intersection enum-set-intersection!)
          (rename enum-set-difference enum-set-difference!)
          (rename enum-set-xor enum-set-xor!)
          define-enum define-enumeration)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (canny data comparators))
  (begin

    (define-record-type <enum-type>
      (%make-enum-type enums names comparator)
      enum-type?
      (enums type-enums set-type-enums!)
      (names type-names)
      (comparator type-comparator set-type-comparator!))

    (define-record-type <enum>
      (make-enum type name ordinal value)
      enum?
      (type enum-type)
      (name enum-name)
      (ordinal enum-ordinal)
      (value enum-value))

    (define-record-type <enum-set>
      (make-enum-set type members)
      enum-set?
      (type set-type)
      (members set-members))

    (define (check-type who position object)
      (check-argument who position enum-type? "enum type" object))

    (define (check-enum who position object)
      (check-argument who position enum? "enum" object))

    (define (check-set who position object)
      (check-argument who position enum-set? "enum set" object))

    (define (check-member who type enum)
      (check-enum who 1 enum)
      (if (not (eq? (enum-type enum) type))
          (error "the enum is not of the type" who enum)))

    ;; Types.

    (define (make-enum-type specifications)
      (check-list 'make-enum-type 1 specifications)
      (let* ((names (%make-hash-table 'eq #f 0))
             (type (%make-enum-type #f names #f)))
        (let loop ((rest specifications) (ordinal 0) (enums '()))
          (if (null? rest)
              (set-type-enums! type (list->vector (reverse enums)))
              (let* ((specification (car rest))
                     (pair? (and (pair? specification)
                                 (pair? (cdr specification))
                                 (null? (cddr specification))))
                     (name (if pair? (car specification) specification))
                     (enum (make-enum type name ordinal
                                      (if pair? (cadr specification) ordinal))))
                (check-argument 'make-enum-type 1 symbol? "list of names" name)
                (if (%hash-table-contains? names name)
                    (error "make-enum-type: a name is given twice" name))
                (%hash-table-set! names name enum)
                (loop (cdr rest) (+ ordinal 1) (cons enum enums)))))
        (set-type-comparator!
         type
         (make-comparator (lambda (object) (and (enum? object) (eq? (enum-type object) type)))
                          eq?
                          (lambda (left right) (< (enum-ordinal left) (enum-ordinal right)))
                          (lambda (enum) (symbol-hash (enum-name enum)))))
        type))

    (define (enum-type-contains? type enum)
      (check-type 'enum-type-contains? 1 type)
      (check-enum 'enum-type-contains? 2 enum)
      (eq? (enum-type enum) type))

    (define-syntax define-comparison
      (syntax-rules ()
        ((_ name holds?)
         (define (name enum . enums)
           (check-enum 'name 1 enum)
           (let ((type (enum-type enum)))
             (for-each (lambda (other) (check-member 'name type other)) enums)
             (let loop ((left enum) (rest enums))
               (or (null? rest)
                   (and (holds? (enum-ordinal left) (enum-ordinal (car rest)))
                        (loop (car rest) (cdr rest))))))))))

    (define-comparison enum=? =)
    (define-comparison enum<? <)
    (define-comparison enum>? >)
    (define-comparison enum<=? <=)
    (define-comparison enum>=? >=)

    (define (find-name type name)
      (%hash-table-ref (type-names type) name #f))

    (define (enum-name->enum type name)
      (check-type 'enum-name->enum 1 type)
      (check-argument 'enum-name->enum 2 symbol? "symbol" name)
      (find-name type name))

    (define (enum-ordinal->enum type ordinal)
      (check-type 'enum-ordinal->enum 1 type)
      (check-index 'enum-ordinal->enum 2 ordinal)
      (and (< ordinal (vector-length (type-enums type)))
           (vector-ref (type-enums type) ordinal)))

    (define (named who type name)
      (check-type who 1 type)
      (check-argument who 2 symbol? "symbol" name)
      (or (find-name type name)
          (error "the enum type has no enum of the name" who name)))

    (define (numbered who type ordinal)
      (check-type who 1 type)
      (or (enum-ordinal->enum type ordinal)
          (error "the enum type has no enum of the ordinal" who ordinal)))

    (define (enum-name->ordinal type name) (enum-ordinal (named 'enum-name->ordinal type name)))
    (define (enum-name->value type name) (enum-value (named 'enum-name->value type name)))
    (define (enum-ordinal->name type ordinal)
      (enum-name (numbered 'enum-ordinal->name type ordinal)))
    (define (enum-ordinal->value type ordinal)
      (enum-value (numbered 'enum-ordinal->value type ordinal)))

    (define (enum-type-size type)
      (check-type 'enum-type-size 1 type)
      (vector-length (type-enums type)))

    (define (check-not-empty who type)
      (check-type who 1 type)
      (if (= (vector-length (type-enums type)) 0)
          (%range-error who 1 "the enum type is empty" type)))

    (define (enum-min type)
      (check-not-empty 'enum-min type)
      (vector-ref (type-enums type) 0))

    (define (enum-max type)
      (check-not-empty 'enum-max type)
      (vector-ref (type-enums type) (- (vector-length (type-enums type)) 1)))

    (define (enum-type-enums type)
      (check-type 'enum-type-enums 1 type)
      (vector->list (type-enums type)))

    (define (enum-type-names type) (%map1 enum-name (enum-type-enums type)))
    (define (enum-type-values type) (%map1 enum-value (enum-type-enums type)))

    (define (enum-next enum)
      (check-enum 'enum-next 1 enum)
      (enum-ordinal->enum (enum-type enum) (+ (enum-ordinal enum) 1)))

    (define (enum-prev enum)
      (check-enum 'enum-prev 1 enum)
      (and (> (enum-ordinal enum) 0)
           (enum-ordinal->enum (enum-type enum) (- (enum-ordinal enum) 1))))

    (define (make-enum-comparator type)
      (check-type 'make-enum-comparator 1 type)
      (type-comparator type))

    ;; Sets.

    (define (bit enum)
      (arithmetic-shift 1 (enum-ordinal enum)))

    (define (universe-of type)
      (- (arithmetic-shift 1 (vector-length (type-enums type))) 1))

    (define (enum-empty-set type)
      (check-type 'enum-empty-set 1 type)
      (make-enum-set type 0))

    (define (enum-type->enum-set type)
      (check-type 'enum-type->enum-set 1 type)
      (make-enum-set type (universe-of type)))

    (define (add-all who type members enums)
      (let loop ((rest enums) (members members))
        (if (null? rest)
            (make-enum-set type members)
            (begin
              (check-member who type (car rest))
              (loop (cdr rest) (bitwise-ior members (bit (car rest))))))))

    (define (enum-set type . enums)
      (check-type 'enum-set 1 type)
      (add-all 'enum-set type 0 enums))

    (define (list->enum-set type enums)
      (check-type 'list->enum-set 1 type)
      (check-list 'list->enum-set 2 enums)
      (add-all 'list->enum-set type 0 enums))

    (define (set-of-names who type names)
      (add-all who type 0 (%map1 (lambda (name) (named who type name)) names)))

    (define (enum-set-projection type-or-set set)
      (check-set 'enum-set-projection 2 set)
      (let ((type (if (enum-set? type-or-set) (set-type type-or-set) type-or-set)))
        (check-type 'enum-set-projection 1 type)
        (set-of-names 'enum-set-projection type (enum-set->list set))))

    (define (enum-set-copy set)
      (check-set 'enum-set-copy 1 set)
      (make-enum-set (set-type set) (set-members set)))

    (define (make-enumeration names)
      (enum-type->enum-set (make-enum-type (%map1 (lambda (name) (list name name)) names))))

    (define (enum-set-universe set)
      (check-set 'enum-set-universe 1 set)
      (enum-type->enum-set (set-type set)))

    (define (enum-set-constructor set)
      (check-set 'enum-set-constructor 1 set)
      (lambda (names) (set-of-names 'enum-set-constructor (set-type set) names)))

    (define (enum-set-type set)
      (check-set 'enum-set-type 1 set)
      (set-type set))

    (define (enum-set-indexer set)
      (check-set 'enum-set-indexer 1 set)
      (lambda (name)
        (let ((enum (find-name (set-type set) name)))
          (and enum (enum-ordinal enum)))))

    (define (has? set enum)
      (bit-set? (enum-ordinal enum) (set-members set)))

    (define (enum-set-contains? set enum)
      (check-set 'enum-set-contains? 1 set)
      (check-member 'enum-set-contains? (set-type set) enum)
      (has? set enum))

    (define (enum-set-member? name set)
      (check-set 'enum-set-member? 2 set)
      (has? set (named 'enum-set-member? (set-type set) name)))

    (define (enum-set-empty? set)
      (check-set 'enum-set-empty? 1 set)
      (= (set-members set) 0))

    (define (check-same-type who left right)
      (check-set who 1 left)
      (check-set who 2 right)
      (if (not (eq? (set-type left) (set-type right)))
          (error "the enum sets have different types" who left right)))

    (define-syntax define-relation
      (syntax-rules ()
        ((_ name (left right) holds)
         (define (name left-set right-set)
           (check-same-type 'name left-set right-set)
           (let ((left (set-members left-set)) (right (set-members right-set)))
             holds)))))

    (define (subset? left right)
      (= (bitwise-and left right) left))

    (define-relation enum-set-disjoint? (left right) (= (bitwise-and left right) 0))
    (define-relation enum-set=? (left right) (= left right))
    (define-relation enum-set<? (left right) (and (not (= left right)) (subset? left right)))
    (define-relation enum-set>? (left right) (and (not (= left right)) (subset? right left)))
    (define-relation enum-set<=? (left right) (subset? left right))
    (define-relation enum-set>=? (left right) (subset? right left))

    (define (enum-set-subset? left right)
      (check-set 'enum-set-subset? 1 left)
      (check-set 'enum-set-subset? 2 right)
      (let ((names (enum-set->list right)))
        (let loop ((rest (enum-set->list left)))
          (or (null? rest)
              (and (memq (car rest) names)
                   (loop (cdr rest)))))))

    ;; The members, by their ordinals.
    (define (members set)
      (let ((enums (type-enums (set-type set))) (bits (set-members set)))
        (let loop ((index (- (vector-length enums) 1)) (list '()))
          (cond ((< index 0) list)
                ((bit-set? index bits) (loop (- index 1) (cons (vector-ref enums index) list)))
                (else (loop (- index 1) list))))))

    (define (enum-set-any? wanted? set)
      (check-procedure 'enum-set-any? 1 wanted?)
      (check-set 'enum-set-any? 2 set)
      (let loop ((rest (members set)))
        (and (pair? rest)
             (or (and (wanted? (car rest)) #t)
                 (loop (cdr rest))))))

    (define (enum-set-every? wanted? set)
      (check-procedure 'enum-set-every? 1 wanted?)
      (check-set 'enum-set-every? 2 set)
      (let loop ((rest (members set)))
        (or (null? rest)
            (and (wanted? (car rest))
                 (loop (cdr rest))))))

    (define (enum-set-adjoin set . enums)
      (check-set 'enum-set-adjoin 1 set)
      (add-all 'enum-set-adjoin (set-type set) (set-members set) enums))

    (define (enum-set-delete set . enums)
      (check-set 'enum-set-delete 1 set)
      (delete-all 'enum-set-delete set enums))

    (define (enum-set-delete-all set enums)
      (check-set 'enum-set-delete-all 1 set)
      (delete-all 'enum-set-delete-all set enums))

    (define (delete-all who set enums)
      (let ((out (add-all who (set-type set) 0 enums)))
        (make-enum-set (set-type set)
                       (bitwise-and (set-members set) (bitwise-not (set-members out))))))

    (define (enum-set-size set)
      (check-set 'enum-set-size 1 set)
      (bit-count (set-members set)))

    (define (enum-set->enum-list set)
      (check-set 'enum-set->enum-list 1 set)
      (members set))

    (define (enum-set->list set)
      (check-set 'enum-set->list 1 set)
      (%map1 enum-name (members set)))

    (define (enum-set-count wanted? set)
      (check-procedure 'enum-set-count 1 wanted?)
      (enum-set-size (enum-set-filter wanted? set)))

    (define (enum-set-filter wanted? set)
      (check-procedure 'enum-set-filter 1 wanted?)
      (check-set 'enum-set-filter 2 set)
      (let loop ((rest (members set)) (bits 0))
        (cond ((null? rest) (make-enum-set (set-type set) bits))
              ((wanted? (car rest)) (loop (cdr rest) (bitwise-ior bits (bit (car rest)))))
              (else (loop (cdr rest) bits)))))

    (define (enum-set-remove unwanted? set)
      (check-procedure 'enum-set-remove 1 unwanted?)
      (enum-set-filter (lambda (enum) (not (unwanted? enum))) set))

    (define (enum-set-map->list procedure set)
      (check-procedure 'enum-set-map->list 1 procedure)
      (check-set 'enum-set-map->list 2 set)
      (%map1 procedure (members set)))

    (define (enum-set-for-each procedure set)
      (check-procedure 'enum-set-for-each 1 procedure)
      (check-set 'enum-set-for-each 2 set)
      (for-each procedure (members set)))

    (define (enum-set-fold procedure state set)
      (check-procedure 'enum-set-fold 1 procedure)
      (check-set 'enum-set-fold 3 set)
      (let loop ((rest (members set)) (state state))
        (if (null? rest)
            state
            (loop (cdr rest) (procedure (car rest) state)))))

    (define (enum-set-complement set)
      (check-set 'enum-set-complement 1 set)
      (make-enum-set (set-type set)
                     (bitwise-xor (universe-of (set-type set)) (set-members set))))

    (define-syntax define-operation
      (syntax-rules ()
        ((_ name (left right) members)
         (define (name left-set right-set)
           (check-same-type 'name left-set right-set)
           (let ((left (set-members left-set)) (right (set-members right-set)))
             (make-enum-set (set-type left-set) members))))))

    (define-operation enum-set-union (left right) (bitwise-ior left right))
    (define-operation enum-set-intersection (left right) (bitwise-and left right))
    (define-operation enum-set-difference (left right) (bitwise-and left (bitwise-not right)))
    (define-operation enum-set-xor (left right) (bitwise-xor left right))

    ;; Syntax.

    (define-syntax define-enum
      (syntax-rules ()
        ((_ type-name (specification ...) set-name)
         (begin
           (define type (make-enum-type '(specification ...)))
           (define-syntax type-name
             (syntax-rules ()
               ((_1 name) (named 'type-name type 'name))))
           (define-syntax set-name
             (syntax-rules ()
               ((_1 name (... ...)) (set-of-names 'set-name type '(name (... ...))))))))))

    (define-syntax define-enumeration
      (syntax-rules ()
        ((_ type-name (specification ...) set-name)
         (begin
           (define type (make-enum-type '(specification ...)))
           (define-syntax type-name
             (syntax-rules ()
               ((_1 name) (enum-name (named 'type-name type 'name)))))
           (define-syntax set-name
             (syntax-rules ()
               ((_1 name (... ...)) (set-of-names 'set-name type '(name (... ...))))))))))))
