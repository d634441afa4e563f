//! A component that calls functions of preview 2 through the canonical ABI: resources, lists and results
//! have the types that its interfaces demand.

use std::sync::Arc;

use canny_component::{Answer, Component, Imports, Value, to_binary};
use canny_io::Handle;
use canny_wasi::Settings;
use canny_wasi::preview2::{Network, World};
use canny_wasm::Store;

/// Copies standard input to standard output, until the input ends or fails.
const COPY: &str = r#"
(component
  (import "wasi:io/error@0.2.0" (instance $errors
    (export "error" (type (sub resource)))))
  (alias export $errors "error" (type $error))
  (import "wasi:io/streams@0.2.0" (instance $streams
    (export "input-stream" (type $input (sub resource)))
    (export "output-stream" (type $output (sub resource)))
    (alias outer 1 $error (type $outer-error))
    (export "error" (type $error (eq $outer-error)))
    (type $failure (variant (case "last-operation-failed" (own $error)) (case "closed")))
    (export "stream-error" (type $stream-error (eq $failure)))
    (export "[method]input-stream.blocking-read" (func
      (param "self" (borrow $input)) (param "len" u64)
      (result (result (list u8) (error $stream-error)))))
    (export "[method]output-stream.blocking-write-and-flush" (func
      (param "self" (borrow $output)) (param "contents" (list u8))
      (result (result (error $stream-error)))))))
  (alias export $streams "input-stream" (type $input))
  (alias export $streams "output-stream" (type $output))
  (import "wasi:cli/stdin@0.2.3" (instance $stdin
    (alias outer 1 $input (type $outer-input))
    (export "input-stream" (type $input (eq $outer-input)))
    (export "get-stdin" (func (result (own $input))))))
  (import "wasi:cli/stdout@0.2.6" (instance $stdout
    (alias outer 1 $output (type $outer-output))
    (export "output-stream" (type $output (eq $outer-output)))
    (export "get-stdout" (func (result (own $output))))))
  (core module $allocator
    (memory (export "memory") 1)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024)))
  (core instance $allocator (instantiate $allocator))
  (core func $get-stdin (canon lower (func $stdin "get-stdin")))
  (core func $get-stdout (canon lower (func $stdout "get-stdout")))
  (core func $read (canon lower (func $streams "[method]input-stream.blocking-read")
    (memory (core memory $allocator "memory")) (realloc (core func $allocator "realloc"))))
  (core func $write (canon lower
    (func $streams "[method]output-stream.blocking-write-and-flush")
    (memory (core memory $allocator "memory")) (realloc (core func $allocator "realloc"))))
  (core func $drop-input (canon resource.drop $input))
  (core func $drop-output (canon resource.drop $output))
  (core module $copy
    (import "" "memory" (memory 1))
    (import "" "get-stdin" (func $get-stdin (result i32)))
    (import "" "get-stdout" (func $get-stdout (result i32)))
    (import "" "read" (func $read (param i32 i64 i32)))
    (import "" "write" (func $write (param i32 i32 i32 i32)))
    (import "" "drop-input" (func $drop-input (param i32)))
    (import "" "drop-output" (func $drop-output (param i32)))
    (func (export "copy") (result i32) (local $in i32) (local $out i32)
      (local.set $in (call $get-stdin))
      (local.set $out (call $get-stdout))
      (block $end
        (loop $next
          (call $read (local.get $in) (i64.const 1000) (i32.const 0))
          (br_if $end (i32.load8_u (i32.const 0)))
          (call $write (local.get $out) (i32.load (i32.const 4)) (i32.load (i32.const 8))
            (i32.const 16))
          (br_if $end (i32.load8_u (i32.const 16)))
          (br $next)))
      (call $drop-input (local.get $in))
      (call $drop-output (local.get $out))
      ;; The case of the error of the last read.
      (i32.load8_u (i32.const 4))))
  (core instance $copy (instantiate $copy (with "" (instance
    (export "memory" (memory $allocator "memory"))
    (export "get-stdin" (func $get-stdin))
    (export "get-stdout" (func $get-stdout))
    (export "read" (func $read))
    (export "write" (func $write))
    (export "drop-input" (func $drop-input))
    (export "drop-output" (func $drop-output))))))
  (func (export "copy") (result u8) (canon lift (core func $copy "copy"))))
"#;

#[test]
fn a_component_copies_its_input() {
    let bytes: Vec<u8> = (0..5000_u32).map(|number| number as u8).collect();
    let output = Handle::channel("output");
    let settings = Settings {
        arguments: Vec::new(),
        environment: Vec::new(),
        directories: Vec::new(),
        listeners: Vec::new(),
        streams: [
            Some(Handle::memory(bytes.clone())),
            Some(output.clone()),
            None,
        ],
    };
    let world = World::new(settings, Network::default()).unwrap();
    let mut imports = Imports::default();
    imports.add_host(Arc::new(world.clone()));
    let component = Component::new(to_binary(COPY.into()).unwrap()).unwrap();
    let mut store = Store::new();
    let made = component.instantiate(&mut store, &mut imports, 0).unwrap();
    let copy = made.instance.function("copy").unwrap();
    let last = copy.call(&mut store, &[]).unwrap();
    // The stream is closed, which is the second case.
    assert_eq!(last, Some(Value::U8(1)));
    assert!(matches!(world.finish(), Ok(Answer::Done(None))));
    assert_eq!(output.take_channel(), bytes);
}
