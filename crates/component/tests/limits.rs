//! Components that ask for more than they are given: errors, and not the end of the process.

use std::fmt::Write;

use canny_component::{Component, Imports, Made, to_binary};
use canny_wasm::{Error, Store};

fn made(store: &mut Store, text: &str) -> Result<Made, Error> {
    let component = Component::new(to_binary(text.as_bytes().to_vec())?)?;
    component.instantiate(store, &mut Imports::default(), 0)
}

fn fault(text: &str) -> String {
    match made(&mut Store::new(), text) {
        Ok(_) => "none".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn types_are_not_too_deep() {
    let text = |levels: usize| {
        let mut text = "(component (type $t0 (option u8))".to_owned();
        for level in 1..levels {
            let _ = write!(text, "(type $t{level} (option $t{}))", level - 1);
        }
        text + ")"
    };
    assert_eq!(fault(&text(90)), "none");
    let error = fault(&text(20_000));
    assert!(error.contains("type nesting is too deep"), "{error}");
}

#[test]
fn instances_are_not_too_many() {
    let text = |levels: usize| {
        let mut text = "(component (component $c0)".to_owned();
        for level in 1..levels {
            let inner = level - 1;
            let twice = "(instance (instantiate $o)) (instance (instantiate $o))".to_owned();
            let _ = write!(
                text,
                "(component $c{level} (alias outer 1 $c{inner} (component $o)) {twice})"
            );
        }
        let _ = write!(text, "(instance (instantiate $c{})))", levels - 1);
        text
    };
    assert_eq!(fault(&text(5)), "none");
    let error = fault(&text(40));
    assert!(error.contains("more than 10000 instances"), "{error}");
}

/// A section of a binary.
fn section(number: u8, contents: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number];
    let mut length = contents.len();
    while length >= 0x80 {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend(contents);
    bytes
}

/// As binaries, since texts have a limit of their own.
#[test]
fn components_are_not_too_deep() {
    let nested = |levels: usize| {
        let beginning = b"\0asm\x0d\0\x01\0".to_vec();
        let mut component = beginning.clone();
        for _ in 1..levels {
            let inner = section(4, &component);
            let instance = section(5, &[1, 0, 0, 0]);
            component = [beginning.clone(), inner, instance].concat();
        }
        let component = Component::new(component)?;
        component.instantiate(&mut Store::new(), &mut Imports::default(), 0)
    };
    assert!(nested(100).is_ok());
    let Err(error) = nested(900) else {
        panic!("900 levels are taken");
    };
    let error = error.to_string();
    assert!(error.contains("more than 100 inside"), "{error}");
}

/// Few bytes of a guest stand for many values, since lists may lie in the same place.
#[test]
fn values_do_not_take_more_than_their_share() {
    let fields = "u8 ".repeat(200);
    let pair = r"\00\00\00\00\00\20\00\00";
    for (kind, data) in [
        (format!("(list (list (tuple {fields})))"), pair),
        ("(list (list u8))".to_owned(), r"\00\00\00\00\00\00\20\00"),
        ("(list string)".to_owned(), r"\00\00\00\00\00\00\20\00"),
    ] {
        let text = format!(
            r#"(component
              (core module $m
                (memory (export "memory") 40)
                (data (i32.const 2600000) "\00\00\20\00\00\20\00\00")
                (func $fill
                  (local $at i32)
                  (loop $more
                    (i64.store offset=2097152 (local.get $at) (i64.load (i32.const 2600008)))
                    (br_if $more (i32.lt_u
                      (local.tee $at (i32.add (local.get $at) (i32.const 8)))
                      (i32.const 65536)))))
                (data (i32.const 2600008) "{data}")
                (start $fill)
                (func (export "give") (result i32) (i32.const 2600000)))
              (core instance $i (instantiate $m))
              (func (export "give") (result {kind})
                (canon lift (core func $i "give") (memory (core memory $i "memory")))))"#
        );
        let mut store = Store::new();
        let made = made(&mut store, &text).unwrap();
        let function = made.instance.function("give").unwrap();
        let error = function.call(&mut store, &[]).unwrap_err().to_string();
        assert!(
            error.contains("take more than 536870912 bytes"),
            "{kind}: {error}"
        );
    }
}
