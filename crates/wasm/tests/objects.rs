//! Objects of guests stay as long as they are used, and make room for others when they are not.

use canny_wasm::{Extern, Function, Imports, Limits, Module, Reason, Referent, Store, Trap};

/// An instance of a guest in a store whose memories, tables and objects have so many bytes.
struct Guest {
    store: Store,
    exports: Vec<(String, Extern)>,
}

impl Guest {
    fn new(text: &str, bytes: u64) -> Guest {
        let mut store = Store::new();
        store.set_memory_limit(Some(bytes));
        let module = Module::read(text.as_bytes().to_vec()).unwrap();
        let instance = store.instantiate(&module, &Imports::default()).unwrap();
        let exports = instance.exports(&store);
        Guest { store, exports }
    }

    fn function(&self, name: &str) -> Function {
        let found = self.exports.iter().find(|(export, _)| export == name);
        match found {
            Some((_, Extern::Function(function))) => *function,
            _ => panic!("there is no function {name}"),
        }
    }

    fn call(&mut self, name: &str, arguments: &[u64]) -> Result<Vec<u64>, Trap> {
        let function = self.function(name);
        self.store.call(function, arguments)
    }
}

const LISTS: &str = r#"(module
    (type $node (struct (field $value i64) (field $next (ref null $node))))
    (func $list (param $count i32) (result (ref null $node))
        (local $it (ref null $node))
        (loop $again
            (if (local.get $count) (then
                (local.set $it
                    (struct.new $node (i64.extend_i32_u (local.get $count)) (local.get $it)))
                (local.set $count (i32.sub (local.get $count) (i32.const 1)))
                (br $again))))
        (local.get $it))
    (func $sum (export "sum-of") (param $it (ref null $node)) (result i64)
        (local $sum i64)
        (block $end
            (loop $again
                (br_on_null $end (local.get $it))
                (drop)
                (local.set $sum (i64.add (local.get $sum)
                    (struct.get $node $value (local.get $it))))
                (local.set $it (struct.get $node $next (local.get $it)))
                (br $again)))
        (local.get $sum))
    ;; Many lists, of which each is needed for a short time.
    (func (export "short-lived") (param $lists i32) (param $length i32) (result i64)
        (local $sum i64)
        (loop $again
            (local.set $sum (i64.add (local.get $sum) (call $sum (call $list (local.get $length)))))
            (local.set $lists (i32.sub (local.get $lists) (i32.const 1)))
            (br_if $again (local.get $lists)))
        (local.get $sum))
    (func (export "sum") (param i32) (result i64) (call $sum (call $list (local.get 0))))
    ;; A list is held by a frame, as an operand only.
    (func $deep (export "deep") (param $depth i32) (result i64)
        (if (result i64) (local.get $depth)
            (then
                (call $list (i32.const 10))
                (call $deep (i32.sub (local.get $depth) (i32.const 1)))
                (call $after))
            (else (call $sum (call $list (i32.const 3000))))))
    (func $after (param $it (ref null $node)) (param i64) (result i64)
        (i64.add (call $sum (local.get $it)) (local.get 1)))
)"#;

#[test]
fn a_million_objects_fit_little_memory() {
    let mut guest = Guest::new(LISTS, 256 << 10);
    let sum = guest.call("short-lived", &[1000, 1000]).unwrap();
    assert_eq!(sum, [1000 * 500_500]);
    assert!(guest.store.memory_bytes() <= 256 << 10);
}

#[test]
fn frames_hold_objects() {
    let mut guest = Guest::new(LISTS, 512 << 10);
    let sum = 55 * 100 + 3000 * 3001 / 2;
    for _ in 0..5 {
        assert_eq!(guest.call("deep", &[100]).unwrap(), [sum]);
    }
}

#[test]
fn too_many_objects_are_a_trap() {
    let mut guest = Guest::new(LISTS, 256 << 10);
    let exhausted = Err(Trap::Reason(Reason::HeapExhausted));
    assert_eq!(guest.call("sum", &[100_000]), exhausted);
    // The objects of a run that has ended are free.
    assert_eq!(guest.call("sum", &[2000]).unwrap(), [2_001_000]);
    assert_eq!(guest.call("sum", &[100_000]), exhausted);
}

#[test]
fn searches_use_fuel() {
    // A search for many objects is followed by each few objects that are made.
    let mut guest = Guest::new(LISTS, 4 << 20);
    let sum = guest.function("sum");
    let limits = Limits {
        fuel: Some(200_000),
        ..Limits::default()
    };
    let few = guest.store.call_within(sum, &[1000], limits).unwrap();
    assert_eq!(few, [500_500]);
    let spent = 200_000 - guest.store.fuel().unwrap();
    guest.store.set_fuel(Some(200_000));
    guest.store.call(sum, &[50_000]).unwrap();
    let spent_for_many = 200_000 - guest.store.fuel().unwrap();
    assert!(
        spent_for_many > 50 * spent + 5000,
        "{spent_for_many} and {spent}"
    );
}

const PLACES: &str = r#"(module
    (type $box (struct (field (mut i64))))
    (type $link (struct (field (ref $box)) (field (mut anyref)) (field (mut exnref))))
    (type $boxes (array (mut (ref null $box))))
    (type $many (array i64))
    (tag $tag (param (ref $link)))
    (global $one (mut anyref) (ref.null none))
    (global $outside (mut externref) (ref.null extern))
    (table $table 4 anyref)
    (table $caught 1 exnref)
    (elem $kept (ref $box) (item (struct.new $box (i64.const 7))))
    (func $box (param i64) (result (ref $box)) (struct.new $box (local.get 0)))
    (func $value (param anyref) (result i64)
        (struct.get $box 0 (ref.cast (ref $box) (local.get 0))))
    (func (export "fill")
        (local $link (ref $link))
        (global.set $one (array.new $boxes (call $box (i64.const 1)) (i32.const 3)))
        (global.set $outside (extern.convert_any (call $box (i64.const 20))))
        (table.set $table (i32.const 3) (call $box (i64.const 300)))
        ;; An exception and a struct that refer to each other.
        (local.set $link (struct.new $link
            (call $box (i64.const 4000)) (ref.null none) (ref.null exn)))
        (table.set $caught (i32.const 0)
            (block $handler (result exnref)
                (try_table (catch_all_ref $handler) (throw $tag (local.get $link)))
                (unreachable)))
        (struct.set $link 1 (local.get $link) (call $box (i64.const 50000)))
        (struct.set $link 2 (local.get $link) (table.get $caught (i32.const 0))))
    (func (export "waste") (param $count i32)
        (loop $again
            (drop (array.new $many (i64.const -1) (i32.const 100)))
            (drop (block $handler (result exnref)
                (try_table (catch_all_ref $handler) (throw $tag (struct.new $link
                    (call $box (i64.const -1)) (ref.null none) (ref.null exn))))
                (unreachable)))
            (local.set $count (i32.sub (local.get $count) (i32.const 1)))
            (br_if $again (local.get $count))))
    (func $link (result (ref $link))
        (block $handler (result (ref $link))
            (try_table (catch $tag $handler) (throw_ref (table.get $caught (i32.const 0))))
            (unreachable)))
    (func (export "sum") (result i64)
        (local $again exnref)
        (call $value (array.get $boxes
            (ref.cast (ref $boxes) (global.get $one)) (i32.const 2)))
        (i64.add (call $value (any.convert_extern (global.get $outside))))
        (i64.add (call $value (table.get $table (i32.const 3))))
        (i64.add (call $value (struct.get $link 0 (call $link))))
        (i64.add (call $value (struct.get $link 1 (call $link))))
        (table.init $table $kept (i32.const 0) (i32.const 0) (i32.const 1))
        (i64.add (call $value (table.get $table (i32.const 0)))))
    (func (export "forget")
        (global.set $one (ref.null none))
        (global.set $outside (ref.null extern))
        (table.fill $table (i32.const 0) (ref.null none) (i32.const 4))
        (table.set $caught (i32.const 0) (ref.null exn)))
    (func (export "one") (result anyref) (global.get $one))
    (func (export "give") (param anyref) (result i32) (ref.test (ref $boxes) (local.get 0)))
)"#;

#[test]
fn objects_are_kept_wherever_references_are() {
    let mut guest = Guest::new(PLACES, 64 << 10);
    guest.call("fill", &[]).unwrap();
    for _ in 0..3 {
        guest.call("waste", &[3000]).unwrap();
        assert_eq!(guest.call("sum", &[]).unwrap(), [54_328]);
    }
    let before = guest.store.memory_bytes();
    guest.call("forget", &[]).unwrap();
    guest.call("waste", &[3000]).unwrap();
    let mut words = 0;
    guest.store.each_word(|_| words += 1);
    assert!(words > 0 && guest.store.memory_bytes() <= before.max(64 << 10));
}

#[test]
fn the_host_sees_what_words_are() {
    let mut guest = Guest::new(PLACES, 64 << 10);
    assert_eq!(guest.call("one", &[]).unwrap(), [0]);
    guest.call("fill", &[]).unwrap();
    let one = guest.call("one", &[]).unwrap()[0];
    assert_eq!(guest.store.referent(one), Referent::Array);
    assert_eq!(guest.call("give", &[one]).unwrap(), [1]);
    for number in [0, 1, -1, (1 << 30) - 1, -(1 << 30)] {
        let word = guest.store.i31(number).unwrap();
        assert_eq!(guest.store.referent(word), Referent::I31(number));
        assert_eq!(guest.call("give", &[word]).unwrap(), [0]);
    }
    assert!(guest.store.i31(1 << 30).is_none());
    assert!(guest.store.i31(-(1 << 30) - 1).is_none());
    assert_eq!(guest.store.referent(0x5cee << 48), Referent::Extern);
}

/// A held reference is a root until it is released, and its number is used again.
#[test]
fn held_references_are_roots() {
    let text = "(module
        (type $box (struct (field (mut i32)) (field (mut v128)) (field i64)))
        (type $bytes (array (mut i8)))
        (func (export \"box\") (param i32) (result (ref $box))
          (struct.new $box (local.get 0) (v128.const i64x2 1 2) (i64.const -1)))
        (func (export \"churn\") (param i32)
          (loop (drop (array.new $bytes (i32.const 7) (i32.const 1000)))
                (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))";
    let mut guest = Guest::new(text, 4 << 20);
    let word = guest.call("box", &[41]).unwrap()[0];
    let number = guest.store.hold(word);
    guest.call("churn", &[5000]).unwrap();
    assert_eq!(guest.store.held(number), Some(word));
    assert_eq!(guest.store.field_count(word), Some(3));
    assert_eq!(guest.store.field(word, 0), Some(41));
    assert_eq!(guest.store.field(word, 1), Some(2 << 64 | 1));
    assert_eq!(guest.store.field(word, 2), Some(u128::from(u64::MAX)));
    assert_eq!(guest.store.field(word, 3), None);
    assert!(guest.store.set_field(word, 1, 5 << 64 | 4));
    assert!(!guest.store.set_field(word, 3, 0));
    assert_eq!(guest.store.field(word, 1), Some(5 << 64 | 4));
    assert_eq!(guest.store.field(word, 2), Some(u128::from(u64::MAX)));
    guest.store.release(number);
    guest.store.release(number);
    assert_eq!(guest.store.held(number), None);
    guest.call("churn", &[5000]).unwrap();
    // The place belongs to nothing, or to another object.
    assert_ne!(guest.store.field_count(word), Some(3));
    let other = guest.call("box", &[42]).unwrap()[0];
    assert_eq!(guest.store.hold(other), number);
    assert_ne!(guest.store.hold(other), number);
}
