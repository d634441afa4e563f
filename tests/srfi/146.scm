;;; SRFI 146: mappings, by order and by hash.

(import (scheme base) (srfi 128) (srfi 162) (srfi 146) (srfi 146 hash) (canny test))

(define order real-comparator)
(define (numbers . keys) (alist->mapping order (map (lambda (key) (cons key (* key key))) keys)))

;; Tests that mappings and hashmaps share.  `show` sorts.
(define (sorted alist)
  (let loop ((rest alist) (result '()))
    (if (null? rest)
        result
        (loop (cdr rest)
              (let insert ((list result))
                (if (or (null? list) (<? default-comparator (caar rest) (caar list)))
                    (cons (car rest) list)
                    (cons (car list) (insert (cdr list)))))))))

(define-syntax test-common
  (syntax-rules ()
    ((_ name other
        (mapping mapping-unfold mapping? mapping-contains? mapping-empty? mapping-disjoint?
                 mapping-ref mapping-ref/default mapping-key-comparator mapping-adjoin
                 mapping-adjoin!
                 mapping-set mapping-set! mapping-replace mapping-replace! mapping-delete
                 mapping-delete!
                 mapping-delete-all mapping-delete-all! mapping-intern mapping-intern!
                 mapping-update
                 mapping-update! mapping-update/default mapping-update!/default mapping-pop
                 mapping-pop!
                 mapping-search mapping-search! mapping-size mapping-find mapping-count mapping-any?
                 mapping-every? mapping-keys mapping-values mapping-entries mapping-map
                 mapping-map->list
                 mapping-for-each mapping-fold mapping-filter mapping-filter! mapping-remove
                 mapping-remove!
                 mapping-partition mapping-partition! mapping-copy mapping->alist alist->mapping
                 alist->mapping! mapping=? mapping<? mapping>? mapping<=? mapping>=?
                 mapping-union mapping-union! mapping-intersection mapping-intersection!
                 mapping-difference
                 mapping-difference! mapping-xor mapping-xor! make-mapping-comparator
                 mapping-comparator))
     (test-group name
       (define (show mapping) (sorted (mapping->alist mapping)))
       (define (show-values receiver)
         (call-with-values receiver
           (lambda objects
             (map (lambda (object) (if (mapping? object) (show object) object)) objects))))
       (define one (mapping order 1 'a 2 'b 3 'c))
       (define (wrong . ignored) (error "wrong"))
       (test '((1 . a) (2 . b)) (show (mapping order 1 'a 2 'b 1 'c)))
       (test-error (mapping order 1))
       (test-error (mapping order 'x 1))
       (test-error (mapping 1))
       (test-error (mapping (make-comparator symbol? = #f #f)))
       (test '((0 . 0) (1 . 1) (2 . 4))
             (show (mapping-unfold (lambda (i) (= i 3)) (lambda (i) (values i (* i i)))
                                   (lambda (i) (+ i 1)) 0 order)))
       (test #t (mapping? one))
       (test #f (mapping? other))
       (test #f (mapping? '()))
       (test #t (mapping-contains? one 1.0))
       (test #f (mapping-contains? one 4))
       (test #t (mapping-empty? (mapping order)))
       (test #f (mapping-empty? one))
       (test #t (mapping-disjoint? one (mapping order 4 'x)))
       (test #f (mapping-disjoint? (mapping order 4 'x 3 'y 5 'z 6 'w) one))
       (test-error (mapping-contains? other 1))
       (test 'b (mapping-ref one 2))
       (test-error (mapping-ref one 4))
       (test 'none (mapping-ref one 4 (lambda () 'none)))
       (test '(b) (mapping-ref one 2 wrong list))
       (test 'b (mapping-ref/default one 2 'none))
       (test 'none (mapping-ref/default one 4 'none))
       (test order (mapping-key-comparator one))
       (test '((1 . a) (2 . b) (3 . c) (4 . d)) (show (mapping-adjoin one 1 'x 4 'd)))
       (test '((1 . x) (2 . b) (3 . c) (4 . d)) (show (mapping-set one 1 'x 4 'd)))
       (test '((1 . a) (4 . d)) (show (mapping-adjoin! (mapping order 1 'a) 4 'd)))
       (test '((1 . d)) (show (mapping-set! (mapping order 1 'a) 1 'd)))
       (test '((1 . a) (2 . b) (3 . c)) (show one))
       (test-error (mapping-set one 'x 1))
       (test-error (mapping-set one 1))
       (test '((1 . x) (2 . b) (3 . c)) (show (mapping-replace one 1 'x)))
       (test '((1 . a) (2 . b) (3 . c)) (show (mapping-replace! one 4 'x)))
       (test '((2 . b)) (show (mapping-delete one 1 3 5)))
       (test '() (show (mapping-delete! (mapping order 1 'a) 1)))
       (test '((2 . b)) (show (mapping-delete-all one '(1 3 5))))
       (test '() (show (mapping-delete-all! (mapping order 1 'a) '(1))))
       (test '(((1 . a) (2 . b) (3 . c)) a) (show-values (lambda () (mapping-intern one 1 wrong))))
       (test '(((1 . a) (2 . b) (3 . c) (4 . d)) d)
             (show-values (lambda () (mapping-intern one 4 (lambda () 'd)))))
       (test '(((4 . d)) d)
             (show-values (lambda () (mapping-intern! (mapping order) 4 (lambda () 'd)))))
       (test '((1 . (a)) (2 . b) (3 . c)) (show (mapping-update one 1 list)))
       (test-error (mapping-update one 4 list))
       (test '((1 . (a)) (4 . (d)))
             (show
              (mapping-update (mapping-update! (mapping order 1 'a) 1 list) 4 list (lambda () 'd))))
       (test '((1 . ((a)))) (show (mapping-update (mapping order 1 'a) 1 list wrong list)))
       (test '((1 . (z))) (show (mapping-update/default (mapping order) 1 list 'z)))
       (test '((1 . (z))) (show (mapping-update!/default (mapping order) 1 list 'z)))
       (test '(() 1 a) (show-values (lambda () (mapping-pop (mapping order 1 'a)))))
       (test 'none (mapping-pop (mapping order) (lambda () 'none)))
       (test-error (mapping-pop! (mapping order)))
       (test '(((1 . a) (2 . b) (3 . c) (4 . d)) x)
             (show-values
              (lambda () (mapping-search one 4 (lambda (insert ignore) (insert 'd 'x)) wrong))))
       (test '(((1 . a) (2 . b) (3 . c)) x)
             (show-values
              (lambda () (mapping-search one 4 (lambda (insert ignore) (ignore 'x)) wrong))))
       (test '(((2 . b) (3 . c) (9 . z)) a)
             (show-values (lambda ()
                            (mapping-search one 1 wrong
                                            (lambda (key value update remove)
                                              (update 9 'z value))))))
       (test '(((2 . b) (3 . c)) 1)
             (show-values (lambda ()
                            (mapping-search! one 1.0 wrong
                                             (lambda (key value update remove) (remove key))))))
       (test 3 (mapping-size one))
       (test-values (2 'b) (mapping-find (lambda (key value) (even? key)) one wrong))
       (test 'none (mapping-find (lambda (key value) #f) one (lambda () 'none)))
       (test 2 (mapping-count (lambda (key value) (odd? key)) one))
       (test #t (mapping-any? (lambda (key value) (eq? value 'b)) one))
       (test #f (mapping-any? (lambda (key value) #f) one))
       (test #t (mapping-every? (lambda (key value) (symbol? value)) one))
       (test #f (mapping-every? (lambda (key value) (odd? key)) one))
       (test (map cdr (mapping->alist one)) (mapping-values one))
       (test (map car (mapping->alist one)) (mapping-keys one))
       (test (mapping->alist one)
             (call-with-values (lambda () (mapping-entries one)) (lambda (k v) (map cons k v))))
       (test '((a . 1) (b . 2) (c . 3))
             (show (mapping-map (lambda (key value) (values value key)) default-comparator one)))
       (test (mapping->alist one) (mapping-map->list cons one))
       (test 6
             (let ((sum 0)) (mapping-for-each (lambda (key value) (set! sum (+ sum key))) one) sum))
       (test 6 (mapping-fold (lambda (key value sum) (+ key sum)) 0 one))
       (define (odd-key? key value) (odd? key))
       (test '((1 . a) (3 . c)) (show (mapping-filter odd-key? one)))
       (test '((1 . a) (3 . c)) (show (mapping-filter! odd-key? one)))
       (test '((2 . b)) (show (mapping-remove odd-key? one)))
       (test '((2 . b)) (show (mapping-remove! odd-key? one)))
       (test '(((1 . a) (3 . c)) ((2 . b)))
             (show-values (lambda () (mapping-partition odd-key? one))))
       (test '(((1 . a) (3 . c)) ((2 . b)))
             (show-values (lambda () (mapping-partition! odd-key? one))))
       (test (show one) (show (mapping-copy one)))
       (test '((1 . a)) (show (alist->mapping order '((1 . a) (1 . b)))))
       (test '((1 . a) (2 . b)) (show (alist->mapping! (mapping order 1 'a) '((1 . x) (2 . b)))))
       (define two (mapping order 1 'a 2 'b))
       (test #t (mapping=? eq-comparator two (mapping order 2 'b 1 'a) two))
       (test #f (mapping=? eq-comparator two (mapping order 2 'b 1 'x)))
       (test #f (mapping=? eq-comparator two (mapping default-comparator 1 'a 2 'b)))
       (test #t (mapping<? eq-comparator two one))
       (test #f (mapping<? eq-comparator one one))
       (test #t (mapping>? eq-comparator one two (mapping order)))
       (test #t (mapping<=? eq-comparator two two one))
       (test #f (mapping<=? eq-comparator (mapping order 1 'x) one))
       (test #t (mapping>=? eq-comparator one one two))
       (define three (mapping order 3 'x 4 'y))
       (test '((1 . a) (2 . b) (3 . c) (4 . y)) (show (mapping-union one three)))
       (test '((3 . c)) (show (mapping-intersection one three)))
       (test '((1 . a) (2 . b)) (show (mapping-difference one three)))
       (test '((1 . a) (2 . b) (4 . y)) (show (mapping-xor one three)))
       (test '((1 . a) (2 . b) (3 . c) (4 . y)) (show (mapping-union! one three one)))
       (test '() (show (mapping-intersection! one three two)))
       (test '() (show (mapping-difference! one three two)))
       (test '((1 . a) (2 . b) (4 . y)) (show (mapping-xor! one three)))
       (test-error (mapping-union one (mapping default-comparator)))
       (test #t (=? mapping-comparator two (mapping order 1 'a 2 'b)))
       (test #t (=? default-comparator two (mapping order 1 'a 2 'b)))
       (test #f (=? (make-mapping-comparator default-comparator) one two))
       ;; Many keys, in a mixed order, and out again.
       (let fill ((index 0) (many (mapping order)))
         (if (< index 1000)
             (fill (+ index 1) (mapping-set many (modulo (* index 7919) 1009) index))
             (begin
               (test 1000 (mapping-size many))
               (test #t (mapping-every? (lambda (key value) (= key (modulo (* value 7919) 1009)))
                                        many))
               (let drain ((index 0) (many many))
                 (if (< index 1000)
                     (drain (+ index 1) (mapping-delete many (modulo (* index 7919) 1009)))
                     (test #t (mapping-empty? many)))))))))))

(test-common "mappings" (hashmap order)
  (mapping mapping-unfold mapping? mapping-contains? mapping-empty? mapping-disjoint?
           mapping-ref mapping-ref/default mapping-key-comparator mapping-adjoin mapping-adjoin!
           mapping-set mapping-set! mapping-replace mapping-replace! mapping-delete mapping-delete!
           mapping-delete-all mapping-delete-all! mapping-intern mapping-intern! mapping-update
           mapping-update! mapping-update/default mapping-update!/default mapping-pop mapping-pop!
           mapping-search mapping-search! mapping-size mapping-find mapping-count mapping-any?
           mapping-every? mapping-keys mapping-values mapping-entries mapping-map mapping-map->list
           mapping-for-each mapping-fold mapping-filter mapping-filter! mapping-remove
           mapping-remove!
           mapping-partition mapping-partition! mapping-copy mapping->alist alist->mapping
           alist->mapping! mapping=? mapping<? mapping>? mapping<=? mapping>=?
           mapping-union mapping-union! mapping-intersection mapping-intersection!
           mapping-difference
           mapping-difference! mapping-xor mapping-xor! make-mapping-comparator mapping-comparator))

(test-common "hashmaps" (mapping order)
  (hashmap hashmap-unfold hashmap? hashmap-contains? hashmap-empty? hashmap-disjoint?
           hashmap-ref hashmap-ref/default hashmap-key-comparator hashmap-adjoin hashmap-adjoin!
           hashmap-set hashmap-set! hashmap-replace hashmap-replace! hashmap-delete hashmap-delete!
           hashmap-delete-all hashmap-delete-all! hashmap-intern hashmap-intern! hashmap-update
           hashmap-update! hashmap-update/default hashmap-update!/default hashmap-pop hashmap-pop!
           hashmap-search hashmap-search! hashmap-size hashmap-find hashmap-count hashmap-any?
           hashmap-every? hashmap-keys hashmap-values hashmap-entries hashmap-map hashmap-map->list
           hashmap-for-each hashmap-fold hashmap-filter hashmap-filter! hashmap-remove
           hashmap-remove!
           hashmap-partition hashmap-partition! hashmap-copy hashmap->alist alist->hashmap
           alist->hashmap! hashmap=? hashmap<? hashmap>? hashmap<=? hashmap>=?
           hashmap-union hashmap-union! hashmap-intersection hashmap-intersection!
           hashmap-difference
           hashmap-difference! hashmap-xor hashmap-xor! make-hashmap-comparator hashmap-comparator))

(test-group "ordered keys"
  (define show mapping->alist)
  (define one (mapping/ordered order 1 'a 2 'b 3 'c))
  (test '((1 . a) (2 . b) (3 . c)) (show one))
  (test-error (mapping/ordered order 2 'a 1 'b))
  (test-error (mapping/ordered order 1 'a 1 'b))
  (test '((0 . 0) (1 . 1))
        (show (mapping-unfold/ordered (lambda (i) (= i 2)) (lambda (i) (values i i))
                                      (lambda (i) (+ i 1)) 0 order)))
  (test '((1 . a) (2 . b)) (show (alist->mapping/ordered order '((1 . a) (2 . b)))))
  (test '((1 . a) (2 . b) (3 . c) (4 . d)) (show (alist->mapping/ordered! one '((2 . x) (4 . d)))))
  (test-error (alist->mapping/ordered order '((2 . a) (1 . b))))
  (test 1 (mapping-min-key one))
  (test 3 (mapping-max-key one))
  (test 'a (mapping-min-value one))
  (test 'c (mapping-max-value one))
  (test-values (1 'a) (mapping-min-entry one))
  (test-values (3 'c) (mapping-max-entry one))
  (test-error (mapping-min-key (mapping order)))
  (test-error (mapping-max-entry (mapping order)))
  (test 2 (mapping-key-predecessor one 3 (lambda () 'none)))
  (test 'none (mapping-key-predecessor one 1 (lambda () 'none)))
  (test 2 (mapping-key-successor one 1.5 (lambda () 'none)))
  (test 'none (mapping-key-successor one 3 (lambda () 'none)))
  (test '((2 . b)) (show (mapping-range= one 2)))
  (test '((1 . a)) (show (mapping-range< one 2)))
  (test '((3 . c)) (show (mapping-range> one 2)))
  (test '((1 . a) (2 . b)) (show (mapping-range<= one 2)))
  (test '((2 . b) (3 . c)) (show (mapping-range>= one 2)))
  (test '() (show (mapping-range=! one 9)))
  (test '((1 . a) (2 . b) (3 . c)) (show (mapping-range<! one 9)))
  (test '() (show (mapping-range>! one 9)))
  (test '((1 . a)) (show (mapping-range<=! one 1.5)))
  (test '((2 . b) (3 . c)) (show (mapping-range>=! one 1.5)))
  (test '(((1 . a)) ((1 . a) (2 . b)) ((2 . b)) ((2 . b) (3 . c)) ((3 . c)))
        (map show (call-with-values (lambda () (mapping-split one 2)) list)))
  (test '(((1 . a)) ((1 . a) (2 . b)) ((2 . b)) ((2 . b) (3 . c)) ((3 . c)))
        (map show (call-with-values (lambda () (mapping-split! one 2)) list)))
  (test '((1 . 1) (2 . b) (5 . 25)) (show (mapping-catenate order (numbers 1) 2 'b (numbers 5))))
  (test '((1 . 1) (2 . b)) (show (mapping-catenate! (numbers 1) 2 'b (mapping order))))
  (test-error (mapping-catenate order (numbers 1) 1 'b (numbers 5)))
  (test-error (mapping-catenate order (numbers 1) 5 'b (numbers 5)))
  (test '((2 . a) (4 . b) (6 . c))
        (show (mapping-map/monotone (lambda (key value) (values (* 2 key) value)) order one)))
  (test-error (mapping-map/monotone! (lambda (key value) (values (- key) value)) order one))
  (test '(1 2 3) (mapping-fold/reverse (lambda (key value keys) (cons key keys)) '() one))
  (test #t (<? mapping-comparator (numbers 1 2) (numbers 1 2 3)))
  (test #t (<? mapping-comparator (numbers 1 2 9) (numbers 1 3)))
  (test #t (<? mapping-comparator (mapping order 1 'a) (mapping order 1 'b)))
  (test #f (<? mapping-comparator (numbers 1 2) (numbers 1 2)))
  (test-error (mapping (make-comparator symbol? eq? #f symbol-hash)))
  ;; Splits and joins of every size.
  (do ((size 0 (+ size 5)))
      ((= size 100))
    (let ((all (apply numbers (let loop ((i size) (keys '()))
                                (if (= i 0) keys (loop (- i 1) (cons i keys)))))))
      (do ((at 0 (+ at 3)))
          ((> at size))
        (let-values (((below up-to same from above) (mapping-split all at)))
          (test size (+ (mapping-size below) (mapping-size from)))
          (test size (+ (mapping-size up-to) (mapping-size above)))
          (test #t (mapping=? real-comparator all (mapping-union below same above)))
          (if (> at 0)
              (test #t (mapping=? real-comparator all
                                  (mapping-catenate order below at (* at at) above)))))))))

(test-group "hashes"
  (test 'a (hashmap-ref (hashmap (make-comparator symbol? eq? #f #f) 'x 'a) 'x))
  ;; All keys in one bucket.
  (define flat (make-comparator number? = #f (lambda (number) 7)))
  (let fill ((index 0) (map (hashmap flat)))
    (if (< index 50)
        (fill (+ index 1) (hashmap-set map index (* index index)))
        (begin
          (test 50 (hashmap-size map))
          (test 49 (hashmap-ref map 7))
          (test 50 (hashmap-size (hashmap-set map 7 'x)))
          (test 'none (hashmap-ref/default (hashmap-delete map 7) 7 'none))
          (test 49 (hashmap-size (hashmap-delete map 7))))))
  (test (comparator-hash hashmap-comparator (hashmap order 1 2 3 4))
        (comparator-hash hashmap-comparator (hashmap order 3 4 1 2)))
  (test 'found
        (hashmap-ref (hashmap hashmap-comparator (hashmap order 1 2) 'found) (hashmap order 1 2))))

(test-finish)
