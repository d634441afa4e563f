;;; Guests on several threads: shared memories, atomic accesses, waits that park tasks.

(import (scheme base) (scheme write) (canny wasm) (canny tasks) (canny test)
        (only (canny base) filter iota))

(define-syntax trap-of
  (syntax-rules ()
    ((_ expression)
     (guard (e ((trap? e) (trap-kind e)))
       expression
       'no-trap))))

(define-syntax message
  (syntax-rules ()
    ((_ expression)
     (guard (e ((error-object? e) (error-object-message e)))
       expression
       'nothing-raised))))

;; A mutex at 0 protects the number at 8; the number at 16 is counted atomically.
(define module
  (compile-module
   "(module
      (import \"env\" \"memory\" (memory 1 4 shared))
      (func $lock
        (loop $again
          (if (i32.atomic.rmw.cmpxchg (i32.const 0) (i32.const 0) (i32.const 1))
            (then
              (drop (memory.atomic.wait32 (i32.const 0) (i32.const 1) (i64.const -1)))
              (br $again)))))
      (func $unlock
        (i32.atomic.store (i32.const 0) (i32.const 0))
        (drop (memory.atomic.notify (i32.const 0) (i32.const 1))))
      (func (export \"count\") (param $turns i32)
        (loop $next
          (call $lock)
          (i64.store (i32.const 8) (i64.add (i64.load (i32.const 8)) (i64.const 1)))
          (call $unlock)
          (drop (i64.atomic.rmw.add (i32.const 16) (i64.const 1)))
          (br_if $next (local.tee $turns (i32.sub (local.get $turns) (i32.const 1))))))
      (func (export \"wait\") (param $address i32) (param $timeout i64) (result i32)
        (memory.atomic.wait32 (local.get $address) (i32.const 0) (local.get $timeout)))
      (func (export \"notify\") (param $address i32) (param $count i32) (result i32)
        (memory.atomic.notify (local.get $address) (local.get $count)))
      (func (export \"grow\") (result i32) (memory.grow (i32.const 1)))
      (func (export \"size\") (result i32) (memory.size))
      (export \"memory\" (memory 0)))"))

(define (shared-memory-of maximum)
  (make-memory (make-store) 1 #:maximum maximum #:shared #t))

(define (shared-memory)
  (shared-memory-of 4))

;; An instance in a store of its own.
(define (guest-with memory . options)
  (apply instantiate module #:imports `(("env" ("memory" . ,memory))) options))

;; Notifies an address until as many calls as that were woken.
(define (wake-all memory address count)
  (let loop ((left count))
    (if (> left 0)
        (let ((woken (memory-notify! memory address #:count left)))
          (if (= woken 0) (sleep 0.001))
          (loop (- left woken))))))

(test-group "tasks count together"
  (define memory (shared-memory))
  (define tasks
    (map (lambda (number)
           (spawn (lambda () (call-export (guest-with memory) "count" 20000))))
         '(1 2 3 4)))
  (for-each await tasks)
  (test 80000 (memory-u64-ref memory 8))
  (test 80000 (memory-u64-ref memory 16))
  (test 0 (memory-u32-ref memory 0)))

(test-group "many calls count together"
  (define memory (shared-memory))
  (define tasks
    (map (lambda (number)
           (spawn
            (lambda ()
              (let ((guest (guest-with memory)))
                (let loop ((turns 20))
                  (if (> turns 0)
                      (begin
                        (call-export guest "count" 100)
                        (yield)
                        (loop (- turns 1)))))))))
         '(1 2 3 4 5 6 7 8)))
  (for-each await tasks)
  (test 16000 (memory-u64-ref memory 8))
  (test 16000 (memory-u64-ref memory 16)))

(test-group "waits"
  (define memory (shared-memory))
  (define guest (guest-with memory))
  (test 2 (call-export guest "wait" 32 0))
  (test 2 (call-export guest "wait" 32 1000000))
  (memory-u32-set! memory 32 5)
  (test 1 (call-export guest "wait" 32 -1))
  (memory-u32-set! memory 32 0)
  (test 0 (call-export guest "notify" 32 7))
  (test 0 (memory-notify! memory 32))
  (define sleeper (spawn (lambda () (call-export (guest-with memory) "wait" 32 -1))))
  (wake-all memory 32 1)
  (test 0 (await sleeper))
  ;; A guest wakes another one.
  (define other (spawn (lambda () (call-export (guest-with memory) "wait" 36 -1))))
  (let loop ()
    (if (= 0 (call-export guest "notify" 36 1))
        (begin (sleep 0.001) (loop))))
  (test 0 (await other))
  (test 'unaligned-atomic (trap-of (call-export guest "wait" 33 0)))
  (test 'out-of-bounds-memory (trap-of (call-export guest "wait" 65536 0)))
  (test 'unaligned-atomic (trap-of (memory-notify! memory 30)))
  (test 'out-of-bounds-memory (trap-of (memory-notify! memory 65536)))
  (test-error (memory-notify! memory 32 #:count -1)))

(test-group "waits park tasks"
  ;; Many more than there are threads.
  (define memory (shared-memory))
  (define tasks
    (map (lambda (number) (spawn (lambda () (call-export (guest-with memory) "wait" 40 -1))))
         (iota 300)))
  (wake-all memory 40 300)
  (test 0 (apply + (map await tasks)))
  (test 0 (memory-notify! memory 40)))

(test-group "waits end with their tasks"
  (define memory (shared-memory))
  (define guest (guest-with memory))
  (test 'late (call-with-timeout 0.02 (lambda () (call-export guest "wait" 32 -1))
                #:default 'late))
  ;; The store is free again, and nobody waits any more.
  (test 2 (call-export guest "wait" 32 0))
  (test 0 (memory-notify! memory 32))
  (define task (spawn (lambda () (call-export guest "wait" 32 -1))))
  (sleep 0.01)
  (test-assert (cancel! task))
  (test 'cancelled (guard (e ((cancelled-error? e) 'cancelled)) (await task)))
  (test 0 (memory-notify! memory 32))
  (test 1 (call-export guest "size"))
  (define limited
    (spawn (lambda () (call-export (guest-with memory) "wait" 32 -1)) #:time-limit 0.02))
  (test "the time limit of the task is over" (message (await limited)))
  (test 0 (memory-notify! memory 32)))

(test-group "shared memories belong to no store"
  (define memory (shared-memory))
  (test-assert (memory-shared? memory))
  (test-false (memory-shared? (make-memory (make-store) 1)))
  (define one (guest-with memory))
  (define other (guest-with (instance-export one "memory")))
  (test-false (eq? (instance-store one) (instance-store other)))
  (define third (guest-with memory #:store (instance-store one)))
  (test-assert (eq? (instance-store one) (instance-store third)))
  (test 1 (call-export one "grow"))
  (test 2 (call-export other "size"))
  (test 2 (memory-grow! (instance-export other "memory") 1))
  (test 3 (memory-pages memory))
  (memory-string-set! (instance-export one "memory") 100 "text\x0;")
  (test "text" (memory-c-string (instance-export other "memory") 100))
  (test #u8(116 101) (memory-bytes memory 100 102))
  (memory-f64-set! memory 104 1.5)
  (test 1.5 (memory-f64-ref (instance-export third "memory") 104))
  (memory-u16-set! memory 121 #xabcd)
  (test #xabcd (memory-u16-ref memory 121))
  (test 'out-of-bounds-memory (trap-of (memory-u32-ref memory 196606)))
  (test-error (make-memory (make-store) 1 #:shared #t))
  (test-error (make-memory (make-store #:memory-limit 1000) 1 #:maximum 1 #:shared #t))
  (test-error (guest-with memory #:memory-limit 1000))
  (test 'unshared-memory (trap-of (memory-notify! (make-memory (make-store) 1) 0)))
  (test-assert (wasm-error? (guard (e (#t e)) (guest-with (make-memory (make-store) 1))))))

(test-group "threads of a program for WASI"
  ;; The program gives the guest what begins a thread. Each thread writes a line.
  (define program
    (compile-module
     "(module
        (import \"env\" \"memory\" (memory 1 1 shared))
        (import \"wasi\" \"thread-spawn\" (func $spawn (param i32) (result i32)))
        (import \"wasi_snapshot_preview1\" \"fd_write\"
          (func $write (param i32 i32 i32 i32) (result i32)))
        (import \"wasi_snapshot_preview1\" \"random_get\"
          (func $random (param i32 i32) (result i32)))
        (import \"wasi_snapshot_preview1\" \"poll_oneoff\"
          (func $poll (param i32 i32 i32 i32) (result i32)))
        (export \"memory\" (memory 0))
        ;; Sleeps for a millisecond, and writes two bytes: a letter and the end of a line.
        (func (export \"wasi_thread_start\") (param $id i32) (param $base i32)
          (i64.store offset=72 (local.get $base) (i64.const 1000000))
          (drop (call $poll (i32.add (local.get $base) (i32.const 48))
                  (i32.add (local.get $base) (i32.const 128)) (i32.const 1)
                  (i32.add (local.get $base) (i32.const 96))))
          (i32.store offset=0 (local.get $base) (i32.add (local.get $base) (i32.const 8)))
          (i32.store offset=4 (local.get $base) (i32.const 2))
          (i32.store16 offset=8 (local.get $base)
            (i32.or (i32.const 0x0a40) (local.get $id)))
          (drop (call $write (i32.const 1) (local.get $base) (i32.const 1)
                  (i32.add (local.get $base) (i32.const 16))))
          (drop (i32.atomic.rmw.add (i32.const 0) (i32.const 1)))
          (drop (memory.atomic.notify (i32.const 0) (i32.const 1))))
        (func (export \"run\") (result i32)
          (local $left i32) (local $done i32)
          (local.set $left (i32.const 4))
          (loop $next
            (drop (call $spawn (i32.mul (local.get $left) (i32.const 256))))
            (br_if $next (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
          (loop $again
            (local.set $done (i32.atomic.load (i32.const 0)))
            (if (i32.lt_u (local.get $done) (i32.const 4))
              (then
                (drop (memory.atomic.wait32 (i32.const 0) (local.get $done) (i64.const -1)))
                (br $again))))
          (drop (call $random (i32.const 8) (i32.const 16)))
          (local.get $done)))"))
  (define wasi (make-wasi #:output 'memory))
  (define memory (shared-memory-of 1))
  (define threads 0)
  (define (guest)
    (instantiate program #:wasi wasi
                 #:imports `(("env" ("memory" . ,memory))
                             ("wasi" ("thread-spawn" . ,start-thread)))))
  (define (start-thread argument)
    (set! threads (+ threads 1))
    (let ((id threads))
      (spawn (lambda () (call-export (guest) "wasi_thread_start" id argument)))
      id))
  (test 4 (call-export (guest) "run"))
  (define output (utf8->string (wasi-output wasi)))
  (test 8 (string-length output))
  (for-each (lambda (letter)
              (test 1 (length (filter (lambda (char) (char=? char letter))
                                      (string->list output)))))
            '(#\A #\B #\C #\D))
  (test-false (and (= 0 (memory-u64-ref memory 8)) (= 0 (memory-u64-ref memory 16)))))

(test-finish)
