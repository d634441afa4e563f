//! Places of frames: offsets of instructions, and lines by debug information, in both kinds of code.

mod debug_information;

use std::ops::Range;

use canny_wasm::{
    Event, Extern, FunctionType, GuestFrame, Imports, Instance, MachineCodePolicy as Policy,
    Module, Outcome, Store, Trap, ValueType, set_machine_code_policy,
};
use debug_information::{Inlined, Lines, with_debug_information};
use wasmparser::{Operator, Parser, Payload};

fn binary(text: &str) -> Vec<u8> {
    let buffer = wast::parser::ParseBuffer::new(text).unwrap();
    let mut module = wast::parser::parse::<wast::Wat>(&buffer).unwrap();
    module.encode().unwrap()
}

/// The code section of a module: where its contents begin, and of each function the offsets of its
/// operators.
pub struct Code {
    pub start: u32,
    pub bodies: Vec<Range<u32>>,
    pub operators: Vec<Vec<(u32, String)>>,
}

pub fn code_of(bytes: &[u8]) -> Code {
    let mut code = Code {
        start: 0,
        bodies: Vec::new(),
        operators: Vec::new(),
    };
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.unwrap() {
            Payload::CodeSectionStart {
                unchecked_range, ..
            } => code.start = unchecked_range.start as u32,
            Payload::CodeSectionEntry(body) => {
                let range = body.range();
                code.bodies.push(range.start as u32..range.end as u32);
                let operators = body.get_operators_reader().unwrap();
                let operators = operators.into_iter_with_offsets().map(|item| {
                    let (operator, offset) = item.unwrap();
                    (offset as u32, name(&operator))
                });
                code.operators.push(operators.collect());
            }
            _ => {}
        }
    }
    code
}

fn name(operator: &Operator) -> String {
    let text = format!("{operator:?}");
    let end = text.find([' ', '{']).unwrap_or(text.len());
    text[..end].to_owned()
}

impl Code {
    /// The offset of the only operator of that name in a function.
    #[track_caller]
    fn only(&self, function: usize, operator: &str) -> u32 {
        let all = self.operators[function].iter();
        let found: Vec<u32> = all
            .filter(|(_, name)| name == operator)
            .map(|(offset, _)| *offset)
            .collect();
        assert_eq!(
            found.len(),
            1,
            "{operator} in {:?}",
            self.operators[function]
        );
        found[0]
    }
}

fn export(store: &Store, instance: Instance, name: &str) -> canny_wasm::Function {
    match instance.export(store, name) {
        Some(Extern::Function(function)) => function,
        other => panic!("{name} is {other:?}"),
    }
}

/// Calls an exported function that traps; gives the kind and the frames.
fn trapped(bytes: &[u8], name: &str, arguments: &[u64]) -> (&'static str, Vec<GuestFrame>) {
    let mut store = Store::new();
    let module = Module::new(bytes.to_vec()).unwrap();
    let instance = store.instantiate(&module, &Imports::default()).unwrap();
    let function = export(&store, instance, name);
    let trap = store.call(function, arguments).unwrap_err();
    (trap.kind(), store.backtrace().to_vec())
}

fn offsets(frames: &[GuestFrame]) -> Vec<u32> {
    frames.iter().map(|frame| frame.offset.unwrap()).collect()
}

/// The policy is that of the process, so that there is one test.
#[test]
fn frames_tell_their_places() {
    for policy in [Policy::Never, Policy::Always, Policy::Loops] {
        set_machine_code_policy(policy);
        every_trap_tells_its_operator(policy);
        callers_tell_their_calls();
        operations_of_the_runtime_have_places();
        calls_of_other_instances_have_places();
        exhausted_stacks_begin_with_the_function();
        errors_of_the_host_pass_through_places();
        lines_and_inlined_functions_are_those_of_the_debug_information(policy);
        damaged_debug_information_is_left_out();
        a_file_beside_the_module_has_its_debug_information();
    }
}

/// A function that traps at the operator of a name, in the middle of others.
const TRAPS: &[(&str, &str, &str)] = &[
    ("Unreachable", "unreachable", "(unreachable)"),
    (
        "I32DivS",
        "divide-by-zero",
        "(drop (i32.add (i32.div_s (i32.const 7) (local.get 0)) (i32.const 3)))",
    ),
    (
        "I64RemU",
        "divide-by-zero",
        "(drop (i64.rem_u (i64.const 7) (i64.extend_i32_u (local.get 0))))",
    ),
    (
        "I32TruncF64S",
        "integer-overflow",
        "(drop (i32.trunc_f64_s (f64.div (f64.const 1) (f64.convert_i32_s (local.get 0)))))",
    ),
    (
        "I32Load",
        "out-of-bounds-memory",
        "(drop (i32.add (i32.load offset=8 (i32.sub (local.get 0) (i32.const 64))) (i32.const 1)))",
    ),
    (
        "I64Load16S",
        "out-of-bounds-memory",
        "(drop (i64.load16_s (i32.add (local.get 0) (i32.const 65536))))",
    ),
    (
        "F64Store",
        "out-of-bounds-memory",
        "(f64.store offset=65536 (i32.add (local.get 0) (i32.const 8)) (f64.const 1))",
    ),
    (
        "V128Load",
        "out-of-bounds-memory",
        "(drop (v128.load (i32.const 65535)))",
    ),
    (
        "V128Load8Lane",
        "out-of-bounds-memory",
        "(drop (v128.load8_lane 3 (i32.const 65536) (v128.const i32x4 1 2 3 4)))",
    ),
    (
        "I32AtomicRmwAdd",
        "unaligned-atomic",
        "(drop (i32.atomic.rmw.add (i32.const 2) (i32.const 1)))",
    ),
    (
        "MemoryFill",
        "out-of-bounds-memory",
        "(memory.fill (i32.const 1) (i32.const 0) (i32.const 65536))",
    ),
    (
        "TableGet",
        "out-of-bounds-table",
        "(drop (table.get $t (i32.const 9)))",
    ),
    (
        "CallIndirect",
        "undefined-element",
        "(call_indirect $t (type $none) (i32.const 9))",
    ),
    (
        "CallRef",
        "null-function",
        "(call_ref $none (ref.null $none))",
    ),
    (
        "RefAsNonNull",
        "null-reference",
        "(drop (ref.as_non_null (ref.null func)))",
    ),
    (
        "RefCastNonNull",
        "cast-failure",
        "(drop (ref.cast (ref i31) (ref.null any)))",
    ),
];

fn every_trap_tells_its_operator(policy: Policy) {
    for (operator, kind, body) in TRAPS {
        let text = format!(
            "(module (type $none (func)) (memory 1) (table $t 3 funcref)
              (func $other (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3)))
              (func (export \"run\") (param i32) (local i32)
                (local.set 1 (call $other (i32.add (local.get 0) (i32.const 5))))
                (loop $again
                  (local.set 1 (i32.sub (local.get 1) (i32.const 5)))
                  (br_if $again (i32.gt_s (local.get 1) (i32.const 0))))
                {body}
                (local.set 1 (call $other (local.get 1)))))"
        );
        let bytes = binary(&text);
        let (found, frames) = trapped(&bytes, "run", &[0]);
        assert_eq!(found, *kind, "{operator}");
        let expected = code_of(&bytes).only(1, operator);
        assert_eq!(offsets(&frames), [expected], "{operator} {policy:?}");
        assert_eq!(frames[0].text(), format!("run@{expected:#x}"));
        assert_eq!(frames[0].is_machine_code, policy != Policy::Never);
    }
}

const CALLS: &str = "(module
  (type $unary (func (param i32) (result i32)))
  (table funcref (elem $inner))
  (elem declare func $middle)
  (func $inner (param i32) (result i32) (i32.div_u (i32.const 1) (local.get 0)))
  (func $catching (param i32) (result i32)
    (block $b (try_table (catch_all $b)
      (return (i32.add (call $inner (local.get 0)) (i32.const 1)))))
    (i32.const 0))
  (func $middle (param i32) (result i32)
    (i32.add (i32.const 1) (call_indirect (type $unary) (local.get 0) (local.get 0))))
  (func $referring (param i32) (result i32)
    (i32.xor (i32.const 1) (call_ref $unary (local.get 0) (ref.func $middle))))
  (func (export \"plain\") (param i32) (result i32)
    (i32.add (call $referring (local.get 0)) (call $catching (local.get 0))))
  (func (export \"caught\") (param i32) (result i32)
    (i32.add (i32.const 1) (call $catching (local.get 0)))))";

fn callers_tell_their_calls() {
    let bytes = binary(CALLS);
    let code = code_of(&bytes);
    let (kind, frames) = trapped(&bytes, "plain", &[0]);
    assert_eq!(kind, "divide-by-zero");
    let calls: Vec<u32> = code.operators[4]
        .iter()
        .filter(|(_, name)| name == "Call")
        .map(|(offset, _)| *offset)
        .collect();
    assert_eq!(
        offsets(&frames),
        [
            code.only(0, "I32DivU"),
            code.only(2, "CallIndirect"),
            code.only(3, "CallRef"),
            calls[0],
        ]
    );
    // One of them is never machine code.
    let (_, frames) = trapped(&bytes, "caught", &[0]);
    assert_eq!(
        offsets(&frames),
        [
            code.only(0, "I32DivU"),
            code.only(1, "Call"),
            code.only(5, "Call"),
        ]
    );
}

fn operations_of_the_runtime_have_places() {
    let bytes = binary(
        "(module (table $t 1 funcref) (elem $e func $run)
          (func $run (export \"run\") (param i32)
            (drop (table.grow $t (ref.null func) (i32.const 1)))
            (table.init $t $e (i32.const 1) (i32.const 0) (i32.const 1))
            (table.copy $t $t (i32.const 1) (i32.const 0) (i32.const 2))))",
    );
    let (kind, frames) = trapped(&bytes, "run", &[0]);
    assert_eq!(kind, "out-of-bounds-table");
    assert_eq!(offsets(&frames), [code_of(&bytes).only(0, "TableCopy")]);
}

fn calls_of_other_instances_have_places() {
    let mut store = Store::new();
    let inner = binary("(module (func (export \"f\") (nop) (unreachable)))");
    let module = Module::new(inner.clone()).unwrap();
    let first = store.instantiate(&module, &Imports::default()).unwrap();
    let mut imports = Imports::default();
    imports.add("m", "f", Extern::Function(export(&store, first, "f")));
    let outer = binary(
        "(module (import \"m\" \"f\" (func $f))
          (func $g (drop (i32.const 1)) (call $f) (nop))
          (func (export \"h\") (call $g) (nop)))",
    );
    let module = Module::new(outer.clone()).unwrap();
    let second = store.instantiate(&module, &imports).unwrap();
    let function = export(&store, second, "h");
    store.call(function, &[]).unwrap_err();
    let [inner, outer] = [code_of(&inner), code_of(&outer)];
    let expected = [
        inner.only(0, "Unreachable"),
        outer.only(0, "Call"),
        outer.only(1, "Call"),
    ];
    assert_eq!(offsets(store.backtrace()), expected);
}

fn exhausted_stacks_begin_with_the_function() {
    let bytes = binary("(module (func $f (export \"f\") (local i64) (call $f) (call $f)))");
    let (kind, frames) = trapped(&bytes, "f", &[]);
    assert_eq!(kind, "stack-exhausted");
    let code = code_of(&bytes);
    let calls: Vec<u32> = code.operators[0][..2].iter().map(|at| at.0).collect();
    assert_eq!(frames[0].offset, Some(code.bodies[0].start));
    assert_eq!(frames[1].offset, Some(calls[0]));
    assert_eq!(frames.len(), 24);
}

fn errors_of_the_host_pass_through_places() {
    let bytes = binary(
        "(module (import \"host\" \"fail\" (func $fail)) (import \"host\" \"out\" (func $out))
          (func $g (nop) (call $fail) (nop))
          (func (export \"f\") (call $g))
          (func (export \"h\") (nop) (call $out) (nop)))",
    );
    let kind = FunctionType {
        parameters: Vec::<ValueType>::new(),
        results: Vec::new(),
    };
    let mut store = Store::new();
    let mut imports = Imports::default();
    let body = |_: &mut Store, _: &[u64], _: &mut [u64]| -> Result<Outcome, Trap> {
        Err(Trap::Host("it failed".into()))
    };
    let fail = store.host_function(kind.clone(), Box::new(body));
    imports.add("host", "fail", Extern::Function(fail));
    let out = store.outside_function(kind, 7);
    imports.add("host", "out", Extern::Function(out));
    let module = Module::new(bytes.clone()).unwrap();
    let instance = store.instantiate(&module, &imports).unwrap();
    let function = export(&store, instance, "f");
    store.call(function, &[]).unwrap_err();
    let code = code_of(&bytes);
    let expected = [code.only(0, "Call"), code.only(1, "Call")];
    assert_eq!(offsets(store.backtrace()), expected);
    // The frames of a run that waits for an answer.
    let function = export(&store, instance, "h");
    let id = store.begin(function, &[]).unwrap();
    assert!(matches!(store.proceed(id), Ok(Event::Call(7))));
    let frames = store.inspect(id, 100);
    let [frame] = frames.as_slice() else {
        panic!("{frames:?}");
    };
    assert_eq!(frame.frame.offset, Some(code.only(2, "Call")));
    let listing = canny_wasm::listing_with_line(&frame.module, 4, code.only(2, "Call"));
    let (text, line) = listing.unwrap().unwrap();
    let line = text.lines().nth(line as usize - 1).unwrap();
    assert!(line.contains(" call_import "), "{line}\n{text}");
    store.abandon(id);
}

/// Functions whose operators have lines: that of the operator at `n` of function `f` is `100 * f + n`.
fn lined(text: &str) -> (Vec<u8>, Code) {
    let bytes = binary(text);
    let code = code_of(&bytes);
    let lines = (0..code.bodies.len()).map(|function| Lines {
        name: format!("f{function}"),
        addresses: code.bodies[function].start - code.start..code.bodies[function].end - code.start,
        rows: code.operators[function]
            .iter()
            .enumerate()
            .map(|(n, (offset, _))| (offset - code.start, 100 * function as u64 + n as u64 + 1))
            .collect(),
        inlined: Vec::new(),
    });
    let mut lines: Vec<Lines> = lines.collect();
    // The operators 1 to 4 of the first function are one that was inlined, and 2 to 4 one in that.
    let address = |n: usize| code.operators[0][n].0 - code.start;
    lines[0].inlined = vec![
        Inlined {
            name: "_ZN4core3ops6divide17h0123456789abcdefE".into(),
            addresses: address(1)..address(4),
            line: 900,
            depth: 0,
        },
        Inlined {
            name: "deepest".into(),
            addresses: address(2)..address(4),
            line: 800,
            depth: 1,
        },
    ];
    let bytes = with_debug_information(&bytes, "/sources", &lines);
    (bytes, code)
}

const LINED: &str = "(module
  (func $f0 (param i32) (result i32)
    (i32.const 1) (i32.const 7) (local.get 0) (i32.div_u) (i32.add))
  (func (export \"run\") (param i32) (result i32)
    (i32.add (i32.const 1) (call $f0 (local.get 0)))))";

fn lines_and_inlined_functions_are_those_of_the_debug_information(policy: Policy) {
    let (bytes, code) = lined(LINED);
    let (kind, frames) = trapped(&bytes, "run", &[0]);
    assert_eq!(kind, "divide-by-zero");
    let at = code.only(0, "I32DivU");
    let call = code.only(1, "Call");
    let texts: Vec<String> = frames.iter().map(GuestFrame::text).collect();
    assert_eq!(
        texts,
        [
            format!("deepest@{at:#x} at /sources/src/guest.c:4:2 (inlined)"),
            format!("core::ops::divide@{at:#x} at /sources/src/guest.c:800:5 (inlined)"),
            format!("f0@{at:#x} at /sources/src/guest.c:900:5"),
            format!("run@{call:#x} at /sources/src/guest.c:103:2"),
        ],
        "{policy:?}"
    );
    let module = Module::new(bytes).unwrap();
    let listing = canny_wasm::listing(&module, 0).unwrap().unwrap();
    assert!(listing.contains("; /sources/src/guest.c:4\n"), "{listing}");
}

/// Sections with wrong bytes give fewer lines, and nothing else.
fn damaged_debug_information_is_left_out() {
    let (bytes, code) = lined(LINED);
    let end = code.bodies[1].end as usize;
    let mut state = 1u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize
    };
    for _ in 0..400 {
        let mut damaged = bytes.clone();
        for _ in 0..1 + random() % 4 {
            let at = end + random() % (damaged.len() - end);
            damaged[at] = [0, 1, 0x7f, 0x80, 0xff, random() as u8][random() % 6];
        }
        // Damaged headers of sections are no module.
        let Ok(module) = Module::new(damaged) else {
            continue;
        };
        let mut store = Store::new();
        let instance = store.instantiate(&module, &Imports::default()).unwrap();
        let run = export(&store, instance, "run");
        store.call(run, &[0]).unwrap_err();
        let frames = store.backtrace();
        assert!(frames.len() >= 2, "{frames:?}");
        assert_eq!(frames.last().unwrap().offset, Some(code.only(1, "Call")));
    }
}

fn a_file_beside_the_module_has_its_debug_information() {
    let directory = tempfile::tempdir().unwrap();
    let (bytes, _) = lined(LINED);
    std::fs::write(directory.path().join("guest.debug.wasm"), &bytes).unwrap();
    let place_in = |name: &str| {
        let mut plain = binary(LINED);
        let mut contents = vec![name.len() as u8];
        contents.extend(name.as_bytes());
        debug_information::add_section(&mut plain, "external_debug_info", &contents);
        let module = Module::new(plain).unwrap();
        module.set_path(directory.path().join("guest.wasm"));
        let mut store = Store::new();
        let instance = store.instantiate(&module, &Imports::default()).unwrap();
        let run = export(&store, instance, "run");
        store.call(run, &[0]).unwrap_err();
        let frame = store.backtrace().last().unwrap();
        frame.place.as_ref().map(ToString::to_string)
    };
    let found = place_in("guest.debug.wasm");
    assert_eq!(found.as_deref(), Some("/sources/src/guest.c:103:2"));
    let found = place_in("./guest.debug.wasm");
    assert_eq!(found.as_deref(), Some("/sources/src/guest.c:103:2"));
    // A module does not name files elsewhere.
    let last = directory.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(place_in(&format!("../{last}/guest.debug.wasm")), None);
    assert_eq!(place_in("missing.wasm"), None);
    std::os::unix::fs::symlink(
        directory.path().join("guest.debug.wasm"),
        directory.path().join("link.wasm"),
    )
    .unwrap();
    assert_eq!(place_in("link.wasm"), None);
}
