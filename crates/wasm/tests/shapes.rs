//! Operations give the same wherever their operands are: in local variables, computed just before, or
//! constants; and whether their result is returned, used by the next instruction, or decides a branch.
//!
//! The rows of the instructions say which operations there are. The first way is the one that the
//! standard's suite tests.

use std::fmt::Write;

use canny_tables::guest::{
    Binary, Compare, Lanes, Number, Unary, VectorBinary, VectorShift, VectorTernary, VectorTest,
    VectorUnary,
};
use canny_wasm::{Extern, Function, Imports, Instance, Module, Store, Trap};

/// Puts operands into a text.
type Text = Box<dyn Fn(&[String]) -> String>;

/// An operation: the kinds of its operands and its result, and its text with operands put in.
struct Operation {
    operands: Vec<Number>,
    result: Number,
    /// All of them give the same.
    texts: Vec<Text>,
}

/// Where an operand is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Local,
    Computed,
    Constant,
}

const PLACES: [Place; 3] = [Place::Local, Place::Computed, Place::Constant];

fn name(kind: Number) -> &'static str {
    match kind {
        Number::I32 => "i32",
        Number::I64 => "i64",
        Number::F32 => "f32",
        Number::F64 => "f64",
        Number::V128 => "v128",
    }
}

/// Values that operations treat in ways of their own. The only values that are no number have one pattern,
/// since the order of operands decides about the pattern of the result.
fn samples(kind: Number) -> Vec<u128> {
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        2.5,
        3e9,
        -3e9,
        1e20,
        0.49999997,
        f64::INFINITY,
        -1e-40,
    ];
    let integers = [
        0,
        1,
        -1,
        2,
        7,
        31,
        33,
        i64::MIN,
        i64::MAX,
        0x8000_0000,
        0x7fff_ffff,
        -128,
        0xabcd_ef01,
    ];
    match kind {
        Number::I32 => integers.map(|it| u128::from(it as u32)).to_vec(),
        Number::I64 => integers.map(|it| u128::from(it as u64)).to_vec(),
        Number::F32 => {
            let mut all: Vec<u128> = floats.map(|it| u128::from((it as f32).to_bits())).to_vec();
            all.push(0x7fc0_0000);
            all
        }
        Number::F64 => {
            let mut all: Vec<u128> = floats.map(|it| u128::from(it.to_bits())).to_vec();
            all.push(0x7ff8_0000_0000_0000);
            all
        }
        Number::V128 => vec![
            0,
            u128::MAX,
            0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10,
            0x807f_8001_ff00_fe02_7fff_8000_0001_ffff,
            0x3f80_0000_bfc0_0000_4f32_d05e_7fc0_0000,
            0x8000_0000_ff80_0000_0000_0001_c020_0000,
            0x3ff0_0000_0000_0000_7ff8_0000_0000_0000,
            0xc1e6_5a0b_c000_0000_4004_0000_0000_0000,
            0x0010_0011_0f0e_0d0c_8081_8283_0001_0203,
        ],
    }
}

fn constant(kind: Number, bits: u128) -> String {
    match kind {
        Number::I32 => format!("(i32.const {})", bits as i32),
        Number::I64 => format!("(i64.const {})", bits as i64),
        Number::F32 => format!("(f32.reinterpret_i32 (i32.const {}))", bits as i32),
        Number::F64 => format!("(f64.reinterpret_i64 (i64.const {}))", bits as i64),
        Number::V128 => format!("(v128.const i64x2 {} {})", bits as i64, (bits >> 64) as i64),
    }
}

/// The same value, computed by an instruction.
fn computed(kind: Number, text: &str) -> String {
    match kind {
        Number::I32 | Number::I64 | Number::V128 => {
            let kind = name(kind);
            format!("({kind}.xor {text} (local.get $zero_{kind}))")
        }
        Number::F32 | Number::F64 => format!("({0}.neg ({0}.neg {text}))", name(kind)),
    }
}

/// The ways to use a result without changing it.
fn uses(kind: Number, text: &str) -> Vec<String> {
    let mut all = vec![text.to_owned(), computed(kind, text)];
    if kind == Number::I32 {
        // Only for results that are one or zero, all others are no conditions.
        all.push(format!(
            "(if (result i32) {text} (then (i32.const 1)) (else (i32.const 0)))"
        ));
        all.push(format!("(i32.eqz (i32.eqz {text}))"));
        all.push(format!(
            "(block (result i32) (i32.const 0) (br_if 0 (i32.eqz {text})) (drop) (i32.const 1))"
        ));
    }
    all
}

/// All combinations of places of operands.
fn combinations(count: usize) -> Vec<Vec<Place>> {
    let mut all = vec![Vec::new()];
    for _ in 0..count {
        let extended = all.iter().flat_map(|places: &Vec<Place>| {
            PLACES.map(|place| [places.as_slice(), &[place]].concat())
        });
        all = extended.collect();
    }
    all
}

/// A function, and which operands are constants.
struct Variant {
    text: String,
    constants: Vec<Option<u128>>,
    is_condition: bool,
}

fn variants(operation: &Operation) -> Vec<Variant> {
    let mut all = Vec::new();
    for places in combinations(operation.operands.len()) {
        for text in &operation.texts {
            let constants: Vec<Option<u128>> = operation
                .operands
                .iter()
                .zip(&places)
                .map(|(kind, place)| (*place == Place::Constant).then(|| samples(*kind)[4]))
                .collect();
            let operands: Vec<String> = operation
                .operands
                .iter()
                .enumerate()
                .map(|(index, kind)| {
                    let local = format!("(local.get {index})");
                    match (places[index], constants[index]) {
                        (_, Some(bits)) => constant(*kind, bits),
                        (Place::Computed, _) => computed(*kind, &local),
                        _ => local,
                    }
                })
                .collect();
            for (index, text) in uses(operation.result, &text(&operands))
                .into_iter()
                .enumerate()
            {
                all.push(Variant {
                    text,
                    constants: constants.clone(),
                    is_condition: index > 1,
                });
            }
        }
    }
    all
}

fn module_of(operation: &Operation, variants: &[Variant]) -> Module {
    let mut text = String::from("(module (memory 1) (memory 1) (memory i64 1)\n");
    let bytes: String = (0..=255)
        .map(|byte| format!("\\{:02x}", (byte * 37 + 129) % 256))
        .collect();
    for memory in 0..3 {
        let offset = if memory == 2 {
            "i64.const 0"
        } else {
            "i32.const 0"
        };
        writeln!(text, "(data (memory {memory}) ({offset}) \"{bytes}\")").unwrap();
    }
    for (index, variant) in variants.iter().enumerate() {
        let parameters: Vec<&str> = operation.operands.iter().map(|kind| name(*kind)).collect();
        writeln!(
            text,
            "(func (export \"{index}\") (param {}) (result {})\n\
             (local $zero_i32 i32) (local $zero_i64 i64) (local $zero_v128 v128)\n {})",
            parameters.join(" "),
            name(operation.result),
            variant.text
        )
        .unwrap();
    }
    text.push(')');
    Module::read(text.clone().into_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn function(store: &Store, instance: Instance, index: usize) -> Function {
    match instance.export(store, &index.to_string()) {
        Some(Extern::Function(function)) => function,
        other => panic!("{other:?}"),
    }
}

/// The result's bits; what a slot has above a number of 32 bits is unknown.
fn call(
    store: &mut Store,
    function: Function,
    operation: &Operation,
    operands: &[u128],
) -> Result<u128, Trap> {
    let mut words = Vec::new();
    for (kind, bits) in operation.operands.iter().zip(operands) {
        words.push(*bits as u64);
        if *kind == Number::V128 {
            words.push((bits >> 64) as u64);
        }
    }
    let results = store.call(function, &words)?;
    Ok(match operation.result {
        Number::I32 | Number::F32 => u128::from(results[0] as u32),
        Number::V128 => u128::from(results[0]) | u128::from(results[1]) << 64,
        _ => u128::from(results[0]),
    })
}

/// Samples of all operands: each of one with some of the others.
fn operand_samples(kinds: &[Number]) -> Vec<Vec<u128>> {
    let lists: Vec<Vec<u128>> = kinds.iter().map(|kind| samples(*kind)).collect();
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let mut all = Vec::new();
    for index in 0..longest {
        for shift in [0, 1, 3, 6] {
            let pick =
                |(place, list): (usize, &Vec<u128>)| list[(index + shift * place) % list.len()];
            all.push(lists.iter().enumerate().map(pick).collect());
        }
    }
    all
}

/// The result with one pattern for all lanes that are no number, if the operands may have been exchanged.
fn without_patterns(label: &str, bits: u128) -> u128 {
    let is_exchanged = label.ends_with(".add") || label.ends_with(".mul");
    let width = match label.split_once('.') {
        Some(("f32x4", _)) if is_exchanged => 32,
        Some(("f64x2", _)) if is_exchanged => 64,
        _ => return bits,
    };
    let lanes = (0..128 / width).map(|lane| {
        let bits = bits >> (width * lane) & (u128::MAX >> (128 - width));
        let value = match width {
            32 => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits as u64),
        };
        let bits = if value.is_nan() { 0 } else { bits };
        bits << (width * lane)
    });
    lanes.sum()
}

fn check(label: &str, operation: &Operation) {
    let variants = variants(operation);
    let module = module_of(operation, &variants);
    let mut store = Store::new();
    let instance = store.instantiate(&module, &Imports::default()).unwrap();
    let plain = function(&store, instance, 0);
    for operands in operand_samples(&operation.operands) {
        for (index, variant) in variants.iter().enumerate() {
            let known: Vec<u128> = variant
                .constants
                .iter()
                .zip(&operands)
                .map(|(constant, given)| constant.unwrap_or(*given))
                .collect();
            let wanted = call(&mut store, plain, operation, &known);
            let wanted = match wanted {
                Ok(bits) if variant.is_condition => Ok(u128::from(bits != 0)),
                wanted => wanted,
            };
            let function = function(&store, instance, index);
            let found = call(&mut store, function, operation, &operands);
            let [found, wanted] =
                [found, wanted].map(|it| it.map(|bits| without_patterns(label, bits)));
            assert_eq!(found, wanted, "{label} of {operands:x?}: {}", variant.text);
        }
    }
}

/// An operation whose operands follow its name.
fn plain(text: &str, operands: &[Number], result: Number) -> Operation {
    let text = text.to_owned();
    Operation {
        operands: operands.to_vec(),
        result,
        texts: vec![Box::new(move |operands| {
            format!("({text} {})", operands.join(" "))
        })],
    }
}

#[test]
fn numbers() {
    for op in Unary::ALL {
        let (from, to) = op.kinds();
        check(op.name(), &plain(op.name(), &[from], to));
    }
    for op in Binary::ALL {
        check(op.name(), &plain(op.name(), &[op.kind(); 2], op.kind()));
    }
    for op in Compare::ALL {
        check(op.name(), &plain(op.name(), &[op.kind(); 2], Number::I32));
    }
}

#[test]
fn vectors() {
    let vector = Number::V128;
    for op in VectorUnary::ALL {
        check(op.name(), &plain(op.name(), &[vector], vector));
    }
    for op in VectorBinary::ALL {
        check(op.name(), &plain(op.name(), &[vector; 2], vector));
    }
    for op in VectorTernary::ALL {
        check(op.name(), &plain(op.name(), &[vector; 3], vector));
    }
    for op in VectorShift::ALL {
        check(op.name(), &plain(op.name(), &[vector, Number::I32], vector));
    }
    for op in VectorTest::ALL {
        check(op.name(), &plain(op.name(), &[vector], Number::I32));
    }
    let shuffle = "i8x16.shuffle 31 0 17 5 16 15 2 30 29 1 8 24 19 3 7 20";
    check(shuffle, &plain(shuffle, &[vector; 2], vector));
}

#[test]
fn lanes() {
    let vector = Number::V128;
    for lanes in Lanes::ALL {
        let (name, kind) = (lanes.name(), lanes.kind());
        check(name, &plain(&format!("{name}.splat"), &[kind], vector));
        for lane in 0..lanes.count() {
            let replace = format!("{name}.replace_lane {lane}");
            check(name, &plain(&replace, &[vector, kind], vector));
            let signs = match lanes {
                Lanes::I8x16 | Lanes::I16x8 => &["_s", "_u"][..],
                _ => &[""],
            };
            for sign in signs {
                let extract = format!("{name}.extract_lane{sign} {lane}");
                check(name, &plain(&extract, &[vector], kind));
            }
        }
    }
}

/// Addresses that lie in the data.
fn address(text: &str) -> String {
    format!("(i32.and {text} (i32.const 127))")
}

#[test]
fn loads() {
    let mut loads: Vec<(String, Vec<Number>, Number)> = Vec::new();
    for kind in [
        Number::I32,
        Number::I64,
        Number::F32,
        Number::F64,
        Number::V128,
    ] {
        loads.push((format!("{}.load", name(kind)), Vec::new(), kind));
    }
    for (kind, widths) in [(Number::I32, &[8, 16][..]), (Number::I64, &[8, 16, 32])] {
        for width in widths {
            for sign in ["s", "u"] {
                loads.push((
                    format!("{}.load{width}_{sign}", name(kind)),
                    Vec::new(),
                    kind,
                ));
            }
        }
    }
    for shape in [
        "8x8_s", "8x8_u", "16x4_s", "16x4_u", "32x2_s", "32x2_u", "8_splat", "16_splat",
        "32_splat", "64_splat", "32_zero", "64_zero",
    ] {
        loads.push((format!("v128.load{shape}"), Vec::new(), Number::V128));
    }
    for (width, lane) in [(8, 13), (16, 6), (32, 1), (64, 1)] {
        let text = format!("v128.load{width}_lane");
        loads.push((format!("{text} {lane}"), vec![Number::V128], Number::V128));
    }
    for (text, others, result) in loads {
        let (op, lane) = text.split_once(' ').unwrap_or((&text, ""));
        let (op, lane) = (op.to_owned(), lane.to_owned());
        let (sum_op, sum_lane) = (op.clone(), lane.clone());
        let of = move |memory: &'static str, is_wide: bool| -> Text {
            let (op, lane) = (op.clone(), lane.clone());
            Box::new(move |operands| {
                let address = if is_wide {
                    format!("(i64.extend_i32_u {})", address(&operands[0]))
                } else {
                    address(&operands[0])
                };
                format!(
                    "({op} {memory} offset=3 {lane} {address} {})",
                    operands[1..].join(" ")
                )
            })
        };
        // The address wraps.
        let of_sum: Text = Box::new(move |operands| {
            let address = format!(
                "(i32.add (i32.sub {} (i32.const 97)) (i32.const 100))",
                address(&operands[0])
            );
            format!(
                "({sum_op} {sum_lane} {address} {})",
                operands[1..].join(" ")
            )
        });
        let operation = Operation {
            operands: [vec![Number::I32], others].concat(),
            result,
            texts: vec![of("", false), of("1", false), of("2", true), of_sum],
        };
        check(&text, &operation);
    }
}

#[test]
fn stores() {
    let stores = [
        ("i32.store8", Number::I32, ""),
        ("i32.store16", Number::I32, ""),
        ("i32.store", Number::I32, ""),
        ("i64.store8", Number::I64, ""),
        ("i64.store16", Number::I64, ""),
        ("i64.store32", Number::I64, ""),
        ("i64.store", Number::I64, ""),
        ("f32.store", Number::F32, ""),
        ("f64.store", Number::F64, ""),
        ("v128.store", Number::V128, ""),
        ("v128.store8_lane", Number::V128, "11"),
        ("v128.store16_lane", Number::V128, "5"),
        ("v128.store32_lane", Number::V128, "2"),
        ("v128.store64_lane", Number::V128, "1"),
    ];
    for (op, kind, lane) in stores {
        let of = move |memory: &'static str, is_wide: bool| -> Text {
            Box::new(move |operands| {
                let wide = |text: String| {
                    if is_wide {
                        format!("(i64.extend_i32_u {text})")
                    } else {
                        text
                    }
                };
                let (place, origin) = (wide(address(&operands[0])), wide("(i32.const 0)".into()));
                // The bytes around are the same before each store.
                let clear =
                    format!("(v128.store {memory} offset=3 {place} (local.get $zero_v128))");
                let store = format!("({op} {memory} offset=3 {lane} {place} {})", operands[1]);
                let load = format!("(v128.load {memory} offset=3 {place})");
                format!("{clear} {store} (drop (i32.load {memory} {origin})) {load}")
            })
        };
        let operation = Operation {
            operands: vec![Number::I32, kind],
            result: Number::V128,
            texts: vec![of("", false), of("1", false), of("2", true)],
        };
        // Uses of a result do not fit several instructions, so that only its text is tried.
        check_text(op, operation);
    }
}

/// As [`check`], with each text in a block of its own.
fn check_text(label: &str, mut operation: Operation) {
    let texts = std::mem::take(&mut operation.texts);
    for text in texts {
        operation.texts.push(Box::new(move |operands| {
            format!("(block (result v128) {})", text(operands))
        }));
    }
    check(label, &operation);
}
