;;; (canny wasm): components, whose functions take and give objects of Scheme.

(import (scheme base) (scheme write) (canny wasm) (canny tasks) (canny test)
        (only (canny base) procedure-name collect-garbage iota))

;; The message of what an expression raises.
(define-syntax message
  (syntax-rules ()
    ((_ expression)
     (guard (e ((error-object? e) (error-object-message e)))
       expression
       'nothing-raised))))

(define allocator
  "(core module $libc
     (memory (export \"memory\") 2)
     (global $next (mut i32) (i32.const 1024))
     (func (export \"realloc\") (param i32 i32 i32 i32) (result i32)
       (local $at i32)
       (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
       (global.set $next (i32.add (local.get $at) (local.get 3)))
       (local.get $at))
     (func (export \"pair\") (param i32 i32) (result i32)
       (i32.store (i32.const 16) (local.get 0))
       (i32.store (i32.const 20) (local.get 1))
       (i32.const 16))
     (func (export \"same\") (param i32) (result i32) (local.get 0))
     (func (export \"wide\") (param i64) (result i64) (local.get 0))
     (func (export \"byte-and-word\") (param i32 i32) (result i32)
       (i32.store8 (i32.const 32) (local.get 0))
       (i32.store (i32.const 36) (local.get 1))
       (i32.const 32))
     (func (export \"two-bytes\") (param i32 i32) (result i32)
       (i32.store8 (i32.const 48) (local.get 0))
       (i32.store8 (i32.const 49) (local.get 1))
       (i32.const 48)))
   (core instance $libc (instantiate $libc))")

(define lists "(memory (core memory $libc \"memory\")) (realloc (core func $libc \"realloc\"))")

;; A component whose function `f` gives what it gets.
(define (identity type function . types)
  (instantiate-component
   (compile-component
    (string-append "(component " allocator (apply string-append types)
                   "(func (export \"f\") (param \"x\" " type ") (result " type ")
                      (canon lift (core func $libc \"" function "\") " lists ")))"))))

(define (given type function object . types)
  (call-export (apply identity type function types) "f" object))

(test-group "values"
  (test '(#t #f) (map (lambda (x) (given "bool" "same" x)) '(#t #f)))
  (test -128 (given "s8" "same" -128))
  (test 65535 (given "u16" "same" 65535))
  (test 18446744073709551615 (given "u64" "wide" 18446744073709551615))
  (test -9223372036854775808 (given "s64" "wide" -9223372036854775808))
  (test #\λ (given "char" "same" #\λ))
  (test "Wörld λ" (given "string" "pair" "Wörld λ"))
  (test '() (given "(list string)" "pair" '()))
  (test '("a" "b") (given "(list string)" "pair" '("a" "b")))
  (test '("a" "b") (given "(list string)" "pair" #("a" "b")))
  (test (bytevector 1 255) (given "(list u8)" "pair" (bytevector 1 255)))
  (test (bytevector 1 255) (given "(list u8)" "pair" '(1 255)))
  (test '(1/2 0.25) (map (lambda (x) (if (= x 0.5) 1/2 x)) (given "(list f64)" "pair" '(1/2 0.25))))
  (test '(("a" 1) ("b" 2)) (given "(map string u32)" "pair" '(("a" 1) ("b" 2))))
  (test '(7 8) (given "(list u32 2)" "pair" '(7 8)))
  (test 5 (given "(option u32)" "byte-and-word" 5))
  (test #f (given "(option u32)" "byte-and-word" #f))
  ;; A value that would be #f itself has a mark.
  (test '(some . #f) (given "(option bool)" "two-bytes" '(some . #f)))
  (test #f (given "(option bool)" "two-bytes" #f)))

(test-group "types with names"
  (define enum "(type $e (enum \"red\" \"green\")) (export $e' \"colour\" (type $e))")
  (test 'green (given "$e'" "same" 'green enum))
  (test "f: argument 'x' is not of type enum { red, green }"
        (message (given "$e'" "same" 'blue enum)))
  (define flags "(type $f (flags \"read\" \"write\")) (export $f' \"modes\" (type $f))")
  (test '(write) (given "$f'" "same" '(write) flags))
  (test '() (given "$f'" "same" '() flags))
  (define variant
    "(type $v (variant (case \"none\") (case \"some\" u32))) (export $v' \"choice\" (type $v))")
  (test '(some . 4) (given "$v'" "byte-and-word" '(some . 4) variant))
  (test 'none (given "$v'" "byte-and-word" 'none variant))
  (define record
    "(type $r (record (field \"on\" u8) (field \"n\" u32))) (export $r' \"row\" (type $r))")
  (test '((on . 1) (n . 70000)) (given "$r'" "byte-and-word" '((n . 70000) (on . 1)) record))
  (test "f: argument 'x' is not of type record { on: u8, n: u32 }, with a field 'n'"
        (message (given "$r'" "byte-and-word" '((on . 1)) record)))
  (test "f: argument 'x' is not of type u8 in the field 'on'"
        (message (given "$r'" "byte-and-word" '((on . 256) (n . 1)) record)))
  (test "f: argument 'x' is not of type record { on: u8, n: u32 }, as an association list"
        (message (given "$r'" "byte-and-word" '((on . 1) (n . 1) (other . 1)) record))))

(test-group "wrong arguments"
  (define i (identity "u8" "same"))
  (test "f: argument 'x' is not of type u8" (message (call-export i "f" 256)))
  (test "f: argument 'x' is not of type u8" (message (call-export i "f" -1)))
  (test "f: func(x: u8) -> u8 was given 0 arguments" (message (call-export i "f")))
  ;; Nothing has happened, so that the instance is of use.
  (test 5 (call-export i "f" 5))
  (test "the instance exports no function g" (message (call-export i "g"))))

(define calc
  (compile-component
   (string-append
    "(component
       (import \"log\" (func $log (param \"text\" string)))
       (import \"docs:calc/host@1.0.0\" (instance $host
         (export \"counter\" (type $counter (sub resource)))
         (export \"[constructor]counter\" (func (param \"start\" u32) (result (own $counter))))
         (export \"[method]counter.next\" (func (param \"self\" (borrow $counter)) (result u32)))
         (export \"fetch\" (func (param \"key\" string) (result (result u32 (error string)))))))
       (alias export $host \"counter\" (type $counter))"
    allocator
    "  (core func $log (canon lower (func $log) (memory (core memory $libc \"memory\"))))
       (core func $new (canon lower (func $host \"[constructor]counter\")))
       (core func $next (canon lower (func $host \"[method]counter.next\")))
       (core func $drop (canon resource.drop $counter))
       (core func $fetch (canon lower (func $host \"fetch\") " lists "))
       (core module $m
         (import \"\" \"log\" (func $log (param i32 i32)))
         (import \"\" \"new\" (func $new (param i32) (result i32)))
         (import \"\" \"next\" (func $next (param i32) (result i32)))
         (import \"\" \"drop\" (func $drop (param i32)))
         (import \"\" \"fetch\" (func $fetch (param i32 i32 i32)))
         (func (export \"greet\") (param i32 i32) (call $log (local.get 0) (local.get 1)))
         (func (export \"count\") (param i32) (result i32)
           (local $c i32) (local $r i32)
           (local.set $c (call $new (local.get 0)))
           (drop (call $next (local.get $c)))
           (local.set $r (call $next (local.get $c)))
           (call $drop (local.get $c))
           (local.get $r))
         (func (export \"get\") (param i32 i32) (result i32)
           (call $fetch (local.get 0) (local.get 1) (i32.const 64))
           (i32.const 64)))
       (core instance $m (instantiate $m (with \"\" (instance
         (export \"log\" (func $log)) (export \"new\" (func $new)) (export \"next\" (func $next))
         (export \"drop\" (func $drop)) (export \"fetch\" (func $fetch))))))
       (func (export \"greet\") (param \"name\" string) (canon lift (core func $m \"greet\") " lists
    "))
       (func (export \"count\") (param \"from\" u32) (result u32)
         (canon lift (core func $m \"count\")))
       (func (export \"get\") (param \"key\" string) (result (result u32 (error string)))
         (canon lift (core func $m \"get\") " lists ")))")))

(define (calc-with log fetch)
  (instantiate-component
   calc
   #:imports `(("log" . ,log)
               ("docs:calc/host@1.0.0"
                ("counter" . resource)
                ("[constructor]counter" . ,vector)
                ("[method]counter.next"
                 . ,(lambda (counter)
                      (vector-set! counter 0 (+ 1 (vector-ref counter 0)))
                      (vector-ref counter 0)))
                ("fetch" . ,fetch)))))

(test-group "procedures of Scheme"
  (define logged '())
  (define i
    (calc-with (lambda (text) (set! logged (cons text logged)))
               (lambda (key)
                 (cond ((string=? key "a") 42)
                       ((string=? key "wrong") 'no-number)
                       ((string=? key "other") (raise 'other))
                       (else (raise-component-error (string-append "no " key)))))))
  (call-export i "greet" "Wörld")
  (test '("Wörld") logged)
  ;; Objects of Scheme are resources; their places are used again.
  (test 7 (call-export i "count" 5))
  (test (iota 300 2) (map (lambda (n) (call-export i "count" n)) (iota 300)))
  (test 42 (call-export i "get" "a"))
  (test '("no b") (guard (e ((component-error? e) (list (component-error-value e))))
                    (call-export i "get" "b")))
  (test "the result of fetch is not of type u32"
        (message (call-export i "get" "wrong")))
  ;; That call was left in the middle.
  (test "cannot enter component instance: a call is in progress or was ended by a trap"
        (message (call-export i "get" "a")))
  (define j (calc-with values (lambda (key) (raise 'other))))
  (test 'other (guard (e (#t e)) (call-export j "get" "a")))
  ;; A procedure may wait.
  (define k (calc-with values (lambda (key) (sleep 0.01) (string-length key))))
  (test '(3 2)
        (let* ((other (calc-with values (lambda (key) (sleep 0.005) (string-length key))))
               (one (spawn (lambda () (call-export k "get" "abc"))))
               (two (spawn (lambda () (call-export other "get" "ab")))))
          (list (await one) (await two)))))

;; Two components in one: a function of the outer calls one of the inner, which calls a procedure.
(define nested
  (compile-component
   "(component
      (import \"ask\" (func $ask (param \"n\" u32) (result u32)))
      (component $Inner
        (import \"ask\" (func $ask (param \"n\" u32) (result u32)))
        (core func $ask (canon lower (func $ask)))
        (core module $m
          (import \"\" \"ask\" (func $ask (param i32) (result i32)))
          (func (export \"twice\") (param i32) (result i32)
            (i32.add (call $ask (local.get 0)) (call $ask (i32.add (local.get 0) (i32.const 1))))))
        (core instance $i (instantiate $m (with \"\" (instance (export \"ask\" (func $ask))))))
        (func (export \"twice\") (param \"n\" u32) (result u32)
          (canon lift (core func $i \"twice\"))))
      (instance $inner (instantiate $Inner (with \"ask\" (func $ask))))
      (component $Outer
        (import \"twice\" (func $twice (param \"n\" u32) (result u32)))
        (core func $twice (canon lower (func $twice)))
        (core module $m
          (import \"\" \"twice\" (func $twice (param i32) (result i32)))
          (func (export \"run\") (param i32) (result i32)
            (i32.mul (call $twice (local.get 0)) (i32.const 10))))
        (core instance $i (instantiate $m (with \"\" (instance (export \"twice\" (func $twice))))))
        (func (export \"run\") (param \"n\" u32) (result u32) (canon lift (core func $i \"run\"))))
      (instance $outer (instantiate $Outer (with \"twice\" (func $inner \"twice\"))))
      (export \"run\" (func $outer \"run\")))"))

(test-group "a component calls another one, which calls a procedure"
  (define (run-with ask n)
    (call-export (instantiate-component nested #:imports `(("ask" . ,ask))) "run" n))
  (test 110 (run-with values 5))
  (test 110 (run-with (lambda (n) (sleep 0.001) n) 5))
  (test 110 (await (spawn (lambda () (run-with (lambda (n) (sleep 0.001) n) 5)))))
  (test 'no (guard (e (#t e)) (run-with (lambda (n) (if (= n 6) (raise 'no) n)) 5)))
  ;; One inside of the other, in two instances.
  (test 2400 (run-with (lambda (n) (run-with values n)) 5))
  ;; A call that is cancelled while both wait.
  (define waiting (spawn (lambda () (run-with (lambda (n) (sleep 60) n) 5))))
  (sleep 0.01)
  (cancel! waiting)
  (test-true (guard (e (#t #t)) (await waiting) #f)))

(test-group "imports"
  (test '("" "log" "func(text: string)") (car (component-imports calc)))
  (test '("docs:calc/host@1.0.0" "[method]counter.next" "func(self: borrow<counter>) -> u32")
        (list-ref (component-imports calc) 3))
  (test '("" "count" "func(from: u32) -> u32") (cadr (component-exports calc)))
  (test "the function log of type func(text: string) is missing"
        (let ((text (message (instantiate-component
                              calc #:imports `(("docs:calc/host@1.0.0" ("counter" . resource)
                                                ("[constructor]counter" . ,vector)
                                                ("[method]counter.next" . ,car)
                                                ("fetch" . ,string-length)))))))
          text))
  (test "an element of #:imports is not a list of a name and pairs of names and procedures"
        (message (instantiate-component calc #:imports '(5))))
  (test-true (component? calc))
  (test-false (component-instance? calc))
  (test 'count (procedure-name (instance-export (calc-with values values) "count")))
  (test-true (wasm-error? (guard (e (#t e)) (compile-component "(component (func 5))"))))
  (test-true
   (wasm-error? (guard (e (#t e)) (compile-component (bytevector 0 97 115 109 13 0 1 0 7 255))))))

(test-group "resources of guests"
  (define source
    (string-append
     "(component
        (core module $d
          (global $sum (mut i32) (i32.const 0))
          (func (export \"dtor\") (param i32)
            (global.set $sum (i32.add (global.get $sum) (local.get 0))))
          (func (export \"sum\") (result i32) (global.get $sum))
          (func (export \"value\") (param i32) (result i32) (local.get 0)))
        (core instance $d (instantiate $d))
        (type $item (resource (rep i32) (dtor (core func $d \"dtor\"))))
        (core func $new (canon resource.new $item))
        (core func $rep (canon resource.rep $item))
        (core func $drop (canon resource.drop $item))
        (core module $m
          (import \"\" \"new\" (func $new (param i32) (result i32)))
          (import \"\" \"rep\" (func $rep (param i32) (result i32)))
          (import \"\" \"drop\" (func $drop (param i32)))
          (func (export \"make\") (param i32) (result i32) (call $new (local.get 0)))
          (func (export \"take\") (param i32) (result i32)
            (local $r i32)
            (local.set $r (call $rep (local.get 0)))
            (call $drop (local.get 0))
            (local.get $r)))
        (core instance $m (instantiate $m (with \"\" (instance
          (export \"new\" (func $new)) (export \"rep\" (func $rep))
          (export \"drop\" (func $drop))))))
        (export $item' \"item\" (type $item))
        (func (export \"make\") (param \"n\" u32) (result (own $item'))
          (canon lift (core func $m \"make\")))
        (func (export \"value\") (param \"item\" (borrow $item')) (result u32)
          (canon lift (core func $d \"value\")))
        (func (export \"take\") (param \"item\" (own $item')) (result u32)
          (canon lift (core func $m \"take\")))
        (func (export \"sum\") (result u32) (canon lift (core func $d \"sum\"))))"))
  (define i (instantiate-component (compile-component source)))
  (define item (call-export i "make" 10))
  (test-true (guest-resource? item))
  (test "item" (guest-resource-type item))
  (test 10 (call-export i "value" item))
  (test 10 (call-export i "value" item))
  (test 10 (call-export i "take" item))
  (test 10 (call-export i "sum"))
  (test "take: argument 'item' is not of type item: this one was passed on or dropped"
        (message (call-export i "take" item)))
  (test-false (drop-guest-resource! i item))
  (define other (call-export i "make" 5))
  (test-true (drop-guest-resource! i other))
  (test 15 (call-export i "sum"))
  ;; One of another instance has another type.
  (define j (instantiate-component (compile-component source)))
  (test "value: argument 'item' is not of type borrow<item>"
        (message (call-export j "value" (call-export i "make" 1))))
  (test "value: argument 'item' is not of type borrow<item>" (message (call-export j "value" 5)))
  ;; The collector ends those that nobody has.
  (define k (instantiate-component (compile-component source)))
  (for-each (lambda (n) (call-export k "make" 1)) (iota 100))
  (collect-garbage)
  (collect-garbage)
  (test-true (<= 90 (begin (call-export k "sum") (call-export k "sum")) 100)))

(test-finish)
