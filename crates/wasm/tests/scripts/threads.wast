;; Atomic accesses: places of operands, evaluation order, segments of shared memories, fences.

(module
  (memory (export "memory") 1 3 shared)
  (data (i32.const 8) "\01\02\03\04\05\06\07\08")
  (data $late "\10\20\30\40")
  (global $turn (mut i32) (i32.const 0))

  (func $note (param $digit i32)
    (global.set $turn
      (i32.add (i32.mul (global.get $turn) (i32.const 10)) (local.get $digit))))

  (func $noted (param $digit i32) (param $value i32) (result i32)
    (call $note (local.get $digit))
    (local.get $value))

  ;; Operands are computed in order, and the old value is the result.
  (func (export "order") (result i32 i32)
    (global.set $turn (i32.const 0))
    (i32.atomic.rmw.cmpxchg
      (call $noted (i32.const 1) (i32.const 8))
      (call $noted (i32.const 2) (i32.const 0x04030201))
      (call $noted (i32.const 3) (i32.const 5)))
    (global.get $turn))

  ;; A variable as an operand keeps its old value when it changes meanwhile.
  (func (export "variable") (param $x i32) (result i32)
    (i32.atomic.rmw.add (i32.const 16) (local.get $x))
    (local.get $x)
    (local.set $x (i32.const 100))
    (i32.atomic.rmw.add (i32.const 16) (local.get $x))
    (i32.atomic.load (i32.const 16))
    (i32.add) (i32.add) (i32.add))

  ;; A result goes straight to a variable.
  (func (export "tee") (result i64)
    (local $old i64)
    (i64.atomic.store (i32.const 24) (i64.const -2))
    (local.set $old (i64.atomic.rmw.xchg (i32.const 24) (i64.const 7)))
    (i64.sub (i64.atomic.load (i32.const 24)) (local.get $old)))

  ;; Results of narrow accesses have no sign.
  (func (export "narrow") (result i64 i32)
    (i64.atomic.store (i32.const 32) (i64.const -1))
    (i64.atomic.rmw32.sub_u (i32.const 36) (i64.const 0x1ffffffff))
    (i32.atomic.rmw16.or_u (i32.const 34) (i32.const 0)))

  ;; The expected value is cut to the width.
  (func (export "wrapped") (result i32 i32)
    (i32.atomic.store8 (i32.const 40) (i32.const 0x11))
    (i32.atomic.rmw8.cmpxchg_u (i32.const 40) (i32.const 0x7711) (i32.const 0x22))
    (i32.atomic.load8_u (i32.const 40)))

  (func (export "fenced") (param i32) (result i32)
    (i32.add (local.get 0) (i32.const 1))
    (atomic.fence)
    (i32.add (i32.const 1)))

  (func (export "late") (result i32)
    (memory.init $late (i32.const 64) (i32.const 0) (i32.const 4))
    (data.drop $late)
    (i32.atomic.load (i32.const 64)))

  (func (export "late again") (memory.init $late (i32.const 64) (i32.const 0) (i32.const 1)))
  (func (export "unaligned constant") (result i32) (i32.atomic.load offset=1 (i32.const 0)))
  (func (export "aligned sum") (result i32) (i32.atomic.load offset=3 (i32.const 5)))
  (func (export "far") (result i64)
    (i64.atomic.load offset=0xfffffff8 (i32.const 0xfffffff8)))
  (func (export "wait64") (param i64 i64) (result i32)
    (memory.atomic.wait64 (i32.const 72) (local.get 0) (local.get 1)))
  (func (export "unaligned wait") (result i32)
    (memory.atomic.wait64 (i32.const 76) (i64.const 0) (i64.const 0)))
)

(assert_return (invoke "order") (i32.const 0x04030201) (i32.const 123))
(assert_return (invoke "variable" (i32.const 3)) (i32.const 109))
(assert_return (invoke "tee") (i64.const 9))
(assert_return (invoke "narrow") (i64.const 0xffffffff) (i32.const 0xffff))
(assert_return (invoke "wrapped") (i32.const 0x11) (i32.const 0x22))
(assert_return (invoke "fenced" (i32.const 5)) (i32.const 7))
(assert_return (invoke "late") (i32.const 0x40302010))
(assert_trap (invoke "late again") "out of bounds memory access")
(assert_trap (invoke "unaligned constant") "unaligned atomic")
(assert_return (invoke "aligned sum") (i32.const 5))
(assert_trap (invoke "far") "out of bounds memory access")
(assert_return (invoke "wait64" (i64.const 1) (i64.const -1)) (i32.const 1))
(assert_return (invoke "wait64" (i64.const 0) (i64.const 1000)) (i32.const 2))
(assert_trap (invoke "unaligned wait") "unaligned atomic")

(assert_invalid (module (memory 1 shared)) "shared memory must have maximum")
(assert_unlinkable
  (module (import "spectest" "memory" (memory 1 2 shared)))
  "incompatible import type")
(assert_unlinkable
  (module (import "spectest" "shared_memory" (memory 1 2)))
  "incompatible import type")

;; An access that is outside of its memory and not aligned: both tiers say the same.
(module
  (memory 1 1 shared)
  (memory $other 1 1 shared)
  (func (export "first") (result i64) (i64.atomic.load (i32.const -524287)))
  (func (export "second") (result i64) (i64.atomic.load $other (i32.const -524287))))
(assert_trap (invoke "first") "unaligned atomic")
(assert_trap (invoke "second") "out of bounds memory access")
