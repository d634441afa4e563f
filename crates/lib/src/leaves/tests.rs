//! Leaf functions beside their rows and primitives.

use canny_number::elements::ElementType;
use canny_tables::leaves::{ARGUMENTS_MAX, IN_REGISTERS, Leaf};

use super::*;
use crate::testing::{call, machine, read, written};

#[test]
fn every_row_has_a_function() {
    let mut rows: Vec<_> = ROWS
        .iter()
        .map(|row| (row.primitive, row.arguments))
        .collect();
    let mut functions: Vec<_> = GROUPS
        .iter()
        .copied()
        .flatten()
        .map(|known| (known.0, known.1))
        .collect();
    rows.sort_unstable();
    functions.sort_unstable();
    assert_eq!(rows, functions);
}

/// The facts that compiled code has about elements agree with the number crate.
#[test]
fn elements_are_known_as_they_are() {
    use canny_number::elements::encode_integer;
    for (name, elements) in canny_spesh::elements::ELEMENTS {
        let element = ElementType::from_name(name).expect("a type");
        assert_eq!(element as u8, elements.code, "{name}");
        assert_eq!(element.bytes(), elements.bytes(), "{name}");
        let (least, greatest) = elements.range();
        let is_float = elements.kind == canny_spesh::elements::ElementKind::Float;
        assert_eq!(is_float, encode_integer(element, 0).is_none(), "{name}");
        if !is_float {
            for (number, fits) in [
                (least, true),
                (least - 1, false),
                (greatest, true),
                (greatest + 1, false),
            ] {
                let encoded = encode_integer(element, number);
                assert_eq!(encoded.is_some(), fits, "{name} {number}");
            }
        }
    }
}

#[test]
fn leaf_functions_of_hash_tables_do_what_the_primitives_do() {
    let mut thread = machine();
    let thread = &mut *thread;
    let leaf = |name: &str, arguments: usize| {
        let id = canny_tables::leaves::lookup(name, arguments).expect(name);
        leaf_table()[usize::from(id.0)]
    };
    let zero = Value::ZERO;
    for name in ["eq", "eqv", "equal"] {
        let equivalence = thread.symbol(name);
        let table = call(
            thread,
            "%make-hash-table",
            [equivalence, Value::FALSE, zero],
        );
        for number in 0..8 {
            let (key, value) = (Value::fixnum(number), Value::fixnum(number * 2));
            let done = leaf("%hash-table-set!", 3)(InPlace::of(thread), table, key, value);
            assert_eq!(done, Value::UNSPECIFIED);
            let there = call(thread, "%hash-table-ref", [table, key, Value::FALSE]);
            assert_eq!(there, value);
        }
        let key = Value::fixnum(8);
        let there = leaf("%hash-table-ref", 3)(InPlace::of(thread), table, key, Value::TRUE);
        assert_eq!(there, Value::TRUE);
        let key = Value::fixnum(3);
        let deleted = leaf("%hash-table-delete!", 2)(InPlace::of(thread), table, key, zero);
        assert_eq!(deleted, Value::TRUE);
        let known = leaf("%hash-table-contains?", 2)(InPlace::of(thread), table, key, zero);
        assert_eq!(known, Value::FALSE);
        let count = leaf("%hash-table-count", 1)(InPlace::of(thread), table, zero, zero);
        assert_eq!(count, Value::fixnum(7));
    }
}

/// Objects of all kinds.
const TEXTS: [&str; 46] = [
    "0",
    "1",
    "2",
    "-1",
    "3",
    "10",
    "2.0",
    "2.5",
    "0.5",
    "1e300",
    "100000000000000000000",
    "1/2",
    "1.5+2.5i",
    "#t",
    "#f",
    "()",
    "#\\a",
    "#\\A",
    "#\\0",
    "#\\space",
    "#\\\u{3bb}",
    "#\\\u{a0}",
    "a",
    "eq",
    "\"a\"",
    "\"b\"",
    "\"\"",
    "\"abc\"",
    "\"\u{3bb}\"",
    "#()",
    "#(1 2)",
    "#u8(1 2)",
    "(a b c)",
    "(1 2.0 3)",
    "(1 2 . 3)",
    "((a . 1) (b . 2))",
    "((1 . 1) (2.0 . 2))",
    "(((a) . 1) 2)",
    "((\"a\" . 1) (\"b\" . 2))",
    "#0=(1 2 . #0#)",
    "#0=((a . 1) . #0#)",
    "(\"a\" (1 2) #(1 2))",
    "\"0.5\"",
    "(#\\a #\\\u{3bb})",
    "#(#\\a #\\b)",
    "(((((1) 2) (3) 4) ((5) 6) (7) 8) (((9) 10) (11) 12) ((13) 14) (15) 16 17 18 19 20 21)",
];

/// Arguments for leaf functions of numeric vectors.
const NUMBERS: [&str; 8] = [
    "0",
    "1",
    "-1",
    "3",
    "2.5",
    "1.5+2.5i",
    "100000000000000000000",
    "a",
];

/// Second and third of three arguments.
const FURTHER: [&str; 17] = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "2.5",
    "1/2",
    "100000000000000000000",
    "#f",
    "#\\a",
    "#\\\u{3bb}",
    "a",
    "\"b\"",
    "\"\u{3bb}\"",
    "#(1 2)",
    "#u8(1 2)",
    "(a b c)",
];

#[test]
fn lines_are_taken_quickly_or_not_at_all() {
    let mut thread = machine();
    let text = thread.string("one\nλ\r\ncafé\n\u{1d11e}x\ntwo\nlast");
    let port = call(&mut thread, "open-input-string", [text]);
    // It has something behind it from now on.
    call(&mut thread, "port-line", [port]);
    call(&mut thread, "peek-char", [port]);
    let quick = |thread: &mut canny_vm::Thread| {
        let line = read_line(InPlace::of(thread), port, Value::ZERO, Value::ZERO);
        (line != Value::DECLINED).then(|| written(thread, line))
    };
    assert_eq!(quick(&mut thread).as_deref(), Some("\"one\""));
    assert_eq!(quick(&mut thread).as_deref(), Some("\"λ\""));
    assert_eq!(quick(&mut thread).as_deref(), Some("\"café\""));
    assert_eq!(quick(&mut thread).as_deref(), Some("\"\u{1d11e}x\""));
    assert_eq!(quick(&mut thread).as_deref(), Some("\"two\""));
    // Nothing says that the line ends here.
    assert_eq!(quick(&mut thread), None);
    let line = call(&mut thread, "read-line", [port]);
    assert_eq!(written(&mut thread, line), "\"last\"");
    assert_eq!(quick(&mut thread), None);
    call(&mut thread, "close-port", [port]);
    assert_eq!(quick(&mut thread), None);
}

/// Lines of all lengths, whatever ends them and stands around them, are the primitive's, and nothing is
/// taken of what is declined.
#[test]
fn quick_lines_are_the_lines_of_the_text() {
    let mut thread = machine();
    let (mut taken, mut declined) = (0, 0);
    for seed in 0..400_usize {
        let mut text = String::new();
        for line in 0..30 {
            let length = (seed * 31 + line * line * 7) % 75 + 2000 * usize::from(line == seed % 90);
            text.extend((0..length).map(|column| char::from(b'a' + (column % 26) as u8)));
            text.push_str(match (seed + line) % 23 {
                0 => "é",
                1 => "€",
                2 => "\r",
                3 => "\r\n",
                _ => "\n",
            });
        }
        let text = thread.string(&text);
        let [quick, plain] = [0, 0].map(|_| call(&mut thread, "open-input-string", [text]));
        for port in [quick, plain] {
            call(&mut thread, "port-line", [port]);
        }
        loop {
            // Lends what comes next.
            let next = call(&mut thread, "peek-char", [quick]);
            let mut line = read_line(InPlace::of(&mut thread), quick, Value::ZERO, Value::ZERO);
            if line == Value::DECLINED {
                declined += 1;
                line = call(&mut thread, "read-line", [quick]);
            } else {
                taken += 1;
            }
            let expected = call(&mut thread, "read-line", [plain]);
            let shown = (written(&mut thread, line), written(&mut thread, expected));
            assert_eq!(shown.0, shown.1);
            if next == Value::EOF {
                break;
            }
        }
    }
    assert!(taken > 8000 && declined > 300, "{taken} {declined}");
}

/// Reading a short string or bytevector in place gives the same as reading a port with something
/// behind it. A port that gets something behind it in the middle continues where it was.
#[test]
fn short_inputs_are_read_like_long_ones() {
    let mut thread = machine();
    let thread = &mut *thread;
    let leaf = |name: &str, arguments: usize| {
        let id = canny_tables::leaves::lookup(name, arguments).expect(name);
        leaf_table()[usize::from(id.0)]
    };
    const PIECES: [&str; 8] = ["", "a", "line\n", "\r", "\r\n", "é", "λό\n", "\u{1d11e}"];
    const OPERATIONS: [(&str, usize); 9] = [
        ("read-char", 1),
        ("peek-char", 1),
        ("read-line", 1),
        ("read-string", 2),
        ("char-ready?", 1),
        ("read-u8", 1),
        ("peek-u8", 1),
        ("read-bytevector", 2),
        ("u8-ready?", 1),
    ];
    let mut quick_answers = 0;
    for seed in 0..600_usize {
        let limit = if seed % 3 == 0 { 5 } else { PIECES.len() };
        let mut random = seed * 2_654_435_761 + 1;
        let mut next = |below: usize| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let text: String = (0..next(12)).map(|_| PIECES[next(limit)]).collect();
        let is_of_bytes = seed % 2 == 1;
        let (open, operations) = if is_of_bytes {
            ("open-input-bytevector", &OPERATIONS[5..])
        } else {
            ("open-input-string", &OPERATIONS[..5])
        };
        let source = thread.string(&text);
        let source = if is_of_bytes {
            call(thread, "string->utf8", [source])
        } else {
            source
        };
        let [quick, plain] = [0, 0].map(|_| call(thread, open, [source]));
        call(thread, "%port-position", [plain]);
        let settles_at = next(60);
        for step in 0..40 {
            if step == settles_at {
                call(thread, "%port-position", [quick]);
            }
            let (name, arguments) = operations[next(operations.len())];
            let count = Value::fixnum(next(5) as i64);
            let words = match arguments {
                1 => [quick, plain],
                _ => [count, count],
            };
            let function = leaf(name, arguments);
            let mut answer = function(InPlace::of(thread), words[0], quick, Value::ZERO);
            if answer == Value::DECLINED {
                assert!(step >= settles_at, "{name} of {text:?}");
                answer = match arguments {
                    1 => call(thread, name, [quick]),
                    _ => call(thread, name, [count, quick]),
                };
            } else {
                quick_answers += 1;
            }
            let wanted = match arguments {
                1 => call(thread, name, [plain]),
                _ => call(thread, name, [count, plain]),
            };
            let shown = (written(thread, answer), written(thread, wanted));
            assert_eq!(shown.0, shown.1, "{name} of {text:?}, step {step}");
        }
    }
    assert!(quick_answers > 5000, "{quick_answers}");
}

/// Arguments of leaf functions of more than three.
const POOLS: [&[&str]; 4] = [
    &["#\\a", "#\\\u{e9}", "#\\\u{3bb}"],
    &[
        "\"hello\"",
        "\"\u{e9}t\u{e9}\"",
        "\"\u{3bb}\u{3cc}\"",
        "0",
        "1",
        "2",
        "#\\b",
        "#\\\u{3bb}",
    ],
    &["#(1 2 3)", "#u8(1 2 3)", "0", "1", "2"],
    &FURTHER,
];

/// Calls a leaf function as compiled code does.
fn call_leaf(thread: &mut canny_vm::Thread, leaf: &Leaf, words: &[Value]) -> Value {
    let row = canny_tables::leaves::lookup(leaf.primitive, leaf.arguments).expect("a row");
    let mut registers = [Value::ZERO; IN_REGISTERS];
    for (register, word) in registers.iter_mut().zip(words) {
        *register = *word;
    }
    let [x, y, z] = registers;
    let thread = InPlace::of(thread);
    thread.set_further(words.get(IN_REGISTERS..).unwrap_or_default());
    leaf_table()[usize::from(row.0)](thread, x, y, z)
}

fn call_primitive(thread: &mut canny_vm::Thread, name: &str, words: &[Value]) -> Value {
    match *words {
        [] => call(thread, name, []),
        [x] => call(thread, name, [x]),
        [x, y] => call(thread, name, [x, y]),
        [x, y, z] => call(thread, name, [x, y, z]),
        [x, y, z, a] => call(thread, name, [x, y, z, a]),
        [x, y, z, a, b] => call(thread, name, [x, y, z, a, b]),
        [x, y, z, a, b, c] => call(thread, name, [x, y, z, a, b, c]),
        [x, y, z, a, b, c, d] => call(thread, name, [x, y, z, a, b, c, d]),
        [x, y, z, a, b, c, d, e] => call(thread, name, [x, y, z, a, b, c, d, e]),
        _ => panic!("so many arguments"),
    }
}

/// Leaf functions of many arguments, and those that change objects, do what the primitives do.
#[test]
fn leaf_functions_of_many_arguments_agree_with_their_primitives() {
    let mut thread = machine();
    let thread = &mut *thread;
    let mut random = 1_usize;
    let mut next = |below: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for leaf in ROWS {
        let is_change = leaf.primitive.ends_with("copy!") || leaf.primitive.ends_with("fill!");
        let is_of_ports =
            leaf.primitive.starts_with("write-") || leaf.primitive.starts_with("read-");
        // They need a store; `tests/conformance/wasm.scm` has hot code with them.
        let is_of_guests = leaf.primitive.starts_with("%wasm-");
        if leaf.arguments <= IN_REGISTERS && !is_change || is_of_ports || is_of_guests {
            continue;
        }
        let mut answered = 0;
        for _ in 0..20_000 {
            let pool = POOLS[next(POOLS.len())];
            let texts: Vec<&str> = (0..leaf.arguments)
                .map(|_| pool[next(pool.len())])
                .collect();
            let is_shared = next(4) == 0;
            // The native stack holds them through collections.
            let objects = |thread: &mut canny_vm::Thread| {
                let mut words = [Value::ZERO; ARGUMENTS_MAX];
                for (word, text) in words.iter_mut().zip(&texts) {
                    *word = read(thread, text);
                }
                if is_shared && leaf.arguments > 2 && texts[0] == texts[2] {
                    words[2] = words[0];
                }
                let list = words
                    .iter()
                    .rev()
                    .fold(Value::NIL, |list, word| thread.cons(*word, list));
                (words, list)
            };
            let ((words, list), (others, other_list)) = (objects(thread), objects(thread));
            let answer = call_leaf(thread, leaf, &words[..leaf.arguments]);
            if answer == Value::DECLINED {
                let untouched = (written(thread, list), written(thread, other_list));
                assert_eq!(untouched.0, untouched.1, "{} {texts:?}", leaf.primitive);
                continue;
            }
            answered += 1;
            let wanted = call_primitive(thread, leaf.primitive, &others[..leaf.arguments]);
            let shown = (written(thread, answer), written(thread, wanted));
            assert_eq!(shown.0, shown.1, "{} {texts:?}", leaf.primitive);
            let changed = (written(thread, list), written(thread, other_list));
            assert_eq!(changed.0, changed.1, "{} {texts:?}", leaf.primitive);
        }
        assert!(answered > 10, "{} of {}", leaf.primitive, leaf.arguments);
    }
}

/// Every leaf function on all combinations of some objects: where it does not decline, the primitive
/// gives the same.
#[test]
fn leaf_functions_agree_with_their_primitives() {
    let mut thread = machine();
    let mut declined = 0;
    let mut answered = 0;
    for (leaf, function) in ROWS.iter().zip(leaf_table()) {
        // These depend on when they are called, or change what they are called for; tests of their own
        // are below.
        let has_state = [
            "current-jiffy",
            "%recent-jiffy",
            "%enter-critical!",
            "%leave-critical!",
            "%set-current-task!",
            "%set-car-if-eq!",
        ];
        if has_state.contains(&leaf.primitive) || leaf.arguments > IN_REGISTERS {
            continue;
        }
        // A numeric vector of the leaf's type makes sense to few leaves, and most other objects to none
        // of those.
        let element = leaf.primitive.split_once("vector-").map(|parts| parts.0);
        let own_vector = match element.and_then(ElementType::from_name) {
            Some(element) => format!("#{}(1 2)", element.name()),
            None if leaf.primitive.starts_with("%numeric") => String::from("#f32(1 2)"),
            None => String::new(),
        };
        let few: Vec<&str> = NUMBERS
            .into_iter()
            .chain([&*own_vector, "#u8(1 2)"])
            .collect();
        let texts = if own_vector.is_empty() {
            &TEXTS[..]
        } else {
            &few
        };
        let mut answered_here = false;
        let further = if leaf.arguments == 3 && own_vector.is_empty() {
            &FURTHER[..]
        } else {
            texts
        };
        let choices = &[texts, further, further][..leaf.arguments];
        for combination in 0..choices.iter().map(|texts| texts.len()).product() {
            // The same text gives the same object where it is given twice.
            let mut words = [Value::ZERO; 3];
            let mut used: HashMap<&str, Value> = HashMap::new();
            let mut rest: usize = combination;
            for (word, texts) in words.iter_mut().zip(choices) {
                let text = texts[rest % texts.len()];
                rest /= texts.len();
                *word = match used.get(text) {
                    Some(known) => *known,
                    None => read(&mut thread, text),
                };
                used.insert(text, *word);
            }
            let answer = function(InPlace::of(&mut thread), words[0], words[1], words[2]);
            if answer == Value::DECLINED {
                declined += 1;
                continue;
            }
            answered += 1;
            answered_here = true;
            let [x, y, z] = words;
            let wanted = match leaf.arguments {
                0 => call(&mut thread, leaf.primitive, []),
                1 => call(&mut thread, leaf.primitive, [x]),
                2 => call(&mut thread, leaf.primitive, [x, y]),
                _ => call(&mut thread, leaf.primitive, [x, y, z]),
            };
            let shown = (written(&mut thread, answer), written(&mut thread, wanted));
            assert_eq!(shown.0, shown.1, "{} {combination}", leaf.primitive);
        }
        // No text is read as a hash table, a port or a record.
        let others = [
            "%current-port",
            "get-output-string",
            "get-output-bytevector",
            "newline",
            "display",
            "peek-char",
            "peek-u8",
            "char-ready?",
            "u8-ready?",
            "close-port",
            "close-input-port",
            "close-output-port",
            "input-port-open?",
            "output-port-open?",
            "flush-output-port",
            "read",
            "%lock!",
            "%unlock!",
            "%claim!",
            "%make-ready!",
        ];
        let has_no_operand = leaf.primitive.starts_with("%hash-table")
            || leaf.primitive.starts_with("write")
            || leaf.primitive.starts_with("read-")
            || others.contains(&leaf.primitive);
        assert!(
            answered_here != has_no_operand,
            "{} of {} arguments always declines",
            leaf.primitive,
            leaf.arguments
        );
    }
    assert!(declined > 1000 && answered > 1000);
}

#[test]
fn the_leaf_function_that_changes_a_pair_does_so_once() {
    let mut thread = machine();
    let thread = &mut *thread;
    let id = canny_tables::leaves::lookup("%set-car-if-eq!", 3).expect("a row");
    let change = leaf_table()[usize::from(id.0)];
    let (one, two) = (Value::fixnum(1), Value::fixnum(2));
    let pair = read(thread, "(1)");
    assert_eq!(change(InPlace::of(thread), pair, one, two), Value::TRUE);
    assert_eq!(change(InPlace::of(thread), pair, one, two), Value::FALSE);
    assert_eq!(pair.car(), Some(two));
    let refused = change(InPlace::of(thread), one, one, two);
    assert_eq!(refused, Value::DECLINED);
}

#[test]
fn leaf_functions_of_locks_decline_what_the_primitives_have_to_wait_for() {
    let mut thread = machine();
    let thread = &mut *thread;
    let leaf = |name: &str, arguments: usize| {
        let id = canny_tables::leaves::lookup(name, arguments).expect(name);
        leaf_table()[usize::from(id.0)]
    };
    let zero = Value::ZERO;
    let record = read(thread, "#(#f #f)");
    let (lock, unlock, claim) = (leaf("%lock!", 1), leaf("%unlock!", 1), leaf("%claim!", 1));
    // An object that is no record is left to the primitive, which refuses it.
    for function in [lock, unlock, claim] {
        let refused = function(InPlace::of(thread), record, zero, zero);
        assert_eq!(refused, Value::DECLINED);
    }
    let name = thread.symbol("lock");
    let fields = read(thread, "#(%lock)");
    let record_type = call(thread, "%make-record-type", [name, fields, Value::FALSE]);
    let record = call(thread, "%record", [record_type, Value::FALSE]);
    assert_eq!(
        lock(InPlace::of(thread), record, zero, zero),
        Value::UNSPECIFIED
    );
    assert!(thread.is_critical());
    assert_eq!(
        lock(InPlace::of(thread), record, zero, zero),
        Value::DECLINED
    );
    assert_eq!(
        unlock(InPlace::of(thread), record, zero, zero),
        Value::UNSPECIFIED
    );
    assert!(!thread.is_critical());
    assert_eq!(claim(InPlace::of(thread), record, zero, zero), Value::TRUE);
    assert_eq!(claim(InPlace::of(thread), record, zero, zero), Value::FALSE);
    assert_eq!(
        lock(InPlace::of(thread), record, zero, zero),
        Value::DECLINED
    );
    let ready = leaf("%make-ready!", 2)(InPlace::of(thread), record, Value::FALSE, zero);
    assert_eq!(ready, Value::DECLINED, "it is no waiter");
}

#[test]
fn leaf_functions_make_values_as_the_primitive_does() {
    let mut thread = machine();
    let thread = &mut *thread;
    let words = [Value::fixnum(1), Value::TRUE, Value::NIL];
    for count in [0, 2, 3] {
        let id = canny_tables::leaves::lookup("values", count).expect("a row");
        let [x, y, z] = words;
        let made = leaf_table()[usize::from(id.0)](InPlace::of(thread), x, y, z);
        let list = call(thread, "%values->list", [made]);
        let text = written(thread, list);
        assert_eq!(text, ["()", "", "(1 #t)", "(1 #t ())"][count]);
    }
}

#[test]
fn the_recent_clock_is_never_ahead() {
    use crate::primitives::system::{jiffies, recent_jiffies};
    let mut before = 0;
    for _ in 0..1000 {
        let recent = recent_jiffies();
        assert!(before <= recent && recent <= jiffies());
        before = recent;
    }
}
