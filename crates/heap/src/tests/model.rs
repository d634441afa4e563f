//! Random programs run on the heap and on a model of it made of Rust data.
//!
//! Roots are precise (an array), native (locals of the test function, which pin) and handles. A check
//! walks both graphs at once: same shapes, same contents, and a one-to-one relation between real
//! references and model nodes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use canny_tables::kinds::Kind;
use canny_value::Value;

use super::checked;
use super::roots::Rooted;
use crate::{Handle, Heap, HeapConfig};

/// Contents of a word of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Nil,
    Number(i64),
    Node(usize),
    Broken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Pair,
    Vector,
    Bytes,
    WeakPair,
    Ephemeron,
    Code,
}

#[derive(Debug)]
struct Node {
    shape: Shape,
    fields: Vec<Word>,
}

const ROOTS: usize = 24;
const LOCALS: usize = 6;
const HANDLES: usize = 6;

struct Model {
    nodes: Vec<Node>,
    roots: [Word; ROOTS],
    handles: [Word; HANDLES],
    random: u64,
}

impl Model {
    fn below(&mut self, n: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as usize % n
    }

    /// Nodes that strong references reach, ephemerons taken into account.
    fn reachable(&self, locals: &[Word; LOCALS]) -> HashSet<usize> {
        let mut found = HashSet::new();
        let all = self.roots.iter().chain(&self.handles).chain(locals);
        let mut work: Vec<Word> = all.copied().collect();
        loop {
            while let Some(word) = work.pop() {
                let Word::Node(id) = word else { continue };
                if !found.insert(id) {
                    continue;
                }
                let node = &self.nodes[id];
                match node.shape {
                    Shape::WeakPair => work.push(node.fields[1]),
                    Shape::Ephemeron => {}
                    _ => work.extend(&node.fields),
                }
            }
            for &id in &found {
                let node = &self.nodes[id];
                if node.shape == Shape::Ephemeron
                    && !matches!(node.fields[0], Word::Node(key) if !found.contains(&key))
                {
                    let datum = node.fields[1];
                    if matches!(datum, Word::Node(id) if !found.contains(&id)) {
                        work.push(datum);
                    }
                }
            }
            if work.is_empty() {
                return found;
            }
        }
    }
}

fn field(value: Value, shape: Shape, index: usize) -> Value {
    match shape {
        Shape::Pair if index == 0 => value.car().unwrap(),
        Shape::Pair => value.cdr().unwrap(),
        // SAFETY: a pool word, which is a tagged value.
        Shape::Code => unsafe { Value::from_bits(value.as_object().unwrap().raw_word(7 + index)) },
        _ => value.as_object().unwrap().field(index),
    }
}

struct Run {
    rooted: Rooted,
    handles: Vec<Handle>,
    model: Model,
}

impl Run {
    fn new(heap: &Arc<Heap>, seed: u64) -> Run {
        let mut rooted = Rooted::new(heap);
        rooted.set(ROOTS - 1, Value::NIL);
        let handles = (0..HANDLES)
            .map(|_| rooted.mutator.handle(Value::NIL))
            .collect();
        let model = Model {
            nodes: Vec::new(),
            roots: [Word::Nil; ROOTS],
            handles: [Word::Nil; HANDLES],
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        };
        Run {
            rooted,
            handles,
            model,
        }
    }

    /// A word that the program could have at hand: a number, or a node some steps from a root.
    fn pick(&mut self, locals: &[Value; LOCALS], names: &[Word; LOCALS]) -> (Value, Word) {
        let (mut value, mut word) = match self.model.below(10) {
            0 => {
                let n = self.model.below(1000) as i64;
                return (Value::fixnum(n), Word::Number(n));
            }
            1..=2 => {
                let index = self.model.below(LOCALS);
                (locals[index], names[index])
            }
            3 => {
                let index = self.model.below(HANDLES);
                (self.handles[index].get(), self.model.handles[index])
            }
            _ => {
                let index = self.model.below(ROOTS);
                (self.rooted.get(index), self.model.roots[index])
            }
        };
        for _ in 0..self.model.below(6) {
            let Word::Node(id) = word else { break };
            let (shape, count) = (
                self.model.nodes[id].shape,
                self.model.nodes[id].fields.len(),
            );
            if count == 0 || matches!(shape, Shape::Bytes | Shape::WeakPair | Shape::Ephemeron) {
                break;
            }
            let index = self.model.below(count);
            word = self.model.nodes[id].fields[index];
            value = field(value, shape, index);
        }
        (value, word)
    }

    fn allocate(&mut self, locals: &[Value; LOCALS], names: &[Word; LOCALS]) -> (Value, Word) {
        let choice = self.model.below(40);
        let (shape, count) = match choice {
            0..=17 => (Shape::Pair, 2),
            18..=27 => (Shape::Vector, self.model.below(20)),
            28 => (Shape::Vector, 100 + self.model.below(1500)),
            29 => (Shape::Vector, 2040 + self.model.below(3000)),
            30..=33 => (Shape::Bytes, self.model.below(200)),
            34 => (Shape::Bytes, self.model.below(60_000)),
            35..=36 => (Shape::WeakPair, 2),
            37..=38 => (Shape::Ephemeron, 2),
            _ => (Shape::Code, self.model.below(30)),
        };
        // Few fields are set apart from the fill, so that big vectors stay quick.
        let (fill, fill_word) = self.pick(locals, names);
        let (second, second_word) = self.pick(locals, names);
        let mutator = &mut self.rooted.mutator;
        let mut fields = vec![fill_word; count];
        let value = match shape {
            Shape::Pair => {
                fields[1] = second_word;
                mutator.pair(fill, second)
            }
            Shape::Vector => {
                let vector = mutator.object(Kind::Vector, 0, count, fill).unwrap();
                if count > 0 {
                    fields[count - 1] = second_word;
                    mutator.store(vector, count - 1, second);
                }
                vector
            }
            Shape::Bytes => {
                fields = vec![Word::Nil; count];
                let bytes = mutator.leaf(Kind::Bytevector, 0, count).unwrap();
                for index in (0..count).step_by(7) {
                    bytes
                        .as_object()
                        .unwrap()
                        .set_byte(index, (count ^ index) as u8);
                }
                bytes
            }
            Shape::WeakPair | Shape::Ephemeron => {
                let kind = if shape == Shape::WeakPair {
                    Kind::WeakPair
                } else {
                    Kind::Ephemeron
                };
                let object = mutator.object(kind, 0, 2, fill).unwrap();
                fields[1] = second_word;
                mutator.store(object, 1, second);
                object
            }
            Shape::Code => {
                let code = mutator.code(56 + 8 * count + 32).unwrap();
                // SAFETY: the pool's length is inside the payload.
                unsafe { *((code.address() + 8 + 16) as *mut u32) = count as u32 };
                for index in 0..count {
                    mutator.store_code_pool(code, index, fill);
                }
                code
            }
        };
        self.model.nodes.push(Node { shape, fields });
        (value, Word::Node(self.model.nodes.len() - 1))
    }

    /// Takes over into the model what the collector has broken, which must have been unreachable.
    fn note_broken(&mut self, id: usize, value: Value, reachable: &HashSet<usize>) {
        let shape = self.model.nodes[id].shape;
        let dead = |word: Word| matches!(word, Word::Node(id) if !reachable.contains(&id));
        let weak = match shape {
            Shape::WeakPair => 1,
            Shape::Ephemeron => 2,
            _ => 0,
        };
        for index in 0..weak {
            let fields = &mut self.model.nodes[id].fields;
            if field(value, shape, index) == Value::BROKEN && fields[index] != Word::Broken {
                // A datum breaks because its key is dead, whatever it is.
                assert!(
                    dead(fields[0]) || fields[0] == Word::Broken,
                    "{shape:?} {id} field {index} of {fields:?} is broken but reachable"
                );
                fields[index] = Word::Broken;
            }
        }
    }

    fn mutate(&mut self, locals: &[Value; LOCALS], names: &[Word; LOCALS]) {
        let (target, target_word) = self.pick(locals, names);
        let (value, word) = self.pick(locals, names);
        let Word::Node(id) = target_word else { return };
        let (shape, count) = (
            self.model.nodes[id].shape,
            self.model.nodes[id].fields.len(),
        );
        if count == 0 || shape == Shape::Bytes {
            return;
        }
        let index = self.model.below(count);
        if matches!(shape, Shape::WeakPair | Shape::Ephemeron) {
            let reachable = self.model.reachable(names);
            self.note_broken(id, target, &reachable);
        }
        let mutator = &mut self.rooted.mutator;
        match shape {
            Shape::Pair if index == 0 => mutator.set_car(target, value),
            Shape::Pair => mutator.set_cdr(target, value),
            Shape::Code => mutator.store_code_pool(target, index, value),
            _ => mutator.store(target, index, value),
        }
        self.model.nodes[id].fields[index] = word;
    }

    /// Compares heap and model.
    fn check(&mut self, locals: &[Value; LOCALS], names: &[Word; LOCALS]) {
        let reachable = self.model.reachable(names);
        let mut node_of: HashMap<u64, usize> = HashMap::new();
        let mut bits_of: HashMap<usize, u64> = HashMap::new();
        let mut work: Vec<(Value, Word)> = Vec::new();
        work.extend((0..ROOTS).map(|i| (self.rooted.get(i), self.model.roots[i])));
        work.extend((0..HANDLES).map(|i| (self.handles[i].get(), self.model.handles[i])));
        work.extend((0..LOCALS).map(|i| (locals[i], names[i])));
        while let Some((value, word)) = work.pop() {
            let id = match word {
                Word::Nil => {
                    assert!(value.is_nil());
                    continue;
                }
                Word::Number(n) => {
                    assert_eq!(value, Value::fixnum(n));
                    continue;
                }
                Word::Broken => {
                    assert_eq!(value, Value::BROKEN);
                    continue;
                }
                Word::Node(id) => id,
            };
            let known = bits_of.insert(id, value.bits());
            assert!(
                known.is_none_or(|bits| bits == value.bits()),
                "node {id} has two places"
            );
            let other = node_of.insert(value.bits(), id);
            assert!(
                other.is_none_or(|other| other == id),
                "two nodes in one place"
            );
            if known.is_some() {
                continue;
            }
            self.check_node(id, value, &reachable, &mut work);
        }
    }

    fn check_node(
        &mut self,
        id: usize,
        value: Value,
        reachable: &HashSet<usize>,
        work: &mut Vec<(Value, Word)>,
    ) {
        let (shape, count) = (
            self.model.nodes[id].shape,
            self.model.nodes[id].fields.len(),
        );
        let kind = match shape {
            Shape::Pair => None,
            Shape::Vector => Some(Kind::Vector),
            Shape::Bytes => Some(Kind::Bytevector),
            Shape::WeakPair => Some(Kind::WeakPair),
            Shape::Ephemeron => Some(Kind::Ephemeron),
            Shape::Code => Some(Kind::Code),
        };
        assert_eq!(value.as_object().map(|object| object.kind()), kind);
        if shape == Shape::Bytes {
            let object = value.as_object().unwrap();
            assert_eq!(object.length(), count);
            object.with_bytes(|bytes| {
                for index in (0..count).step_by(7) {
                    assert_eq!(bytes[index], (count ^ index) as u8);
                }
            });
            return;
        }
        self.note_broken(id, value, reachable);
        for index in 0..count {
            let word = self.model.nodes[id].fields[index];
            // The fill of a big vector need not be compared word by word.
            let repeated = index > 4 && index + 4 < count && word == self.model.nodes[id].fields[4];
            if !repeated {
                work.push((field(value, shape, index), word));
            } else if let (Word::Number(n), slot) = (word, field(value, shape, index)) {
                assert_eq!(slot, Value::fixnum(n));
            }
        }
    }
}

/// Runs `steps` random steps. The locals are on this function's native stack.
fn run(config: HeapConfig, seed: u64, steps: usize) -> crate::Statistics {
    let heap = Heap::new(config).unwrap();
    let mut run = Run::new(&heap, seed);
    let mut locals = [Value::NIL; LOCALS];
    let mut names = [Word::Nil; LOCALS];
    for step in 0..steps {
        std::hint::black_box(&mut locals);
        match run.model.below(100) {
            0..=49 => {
                let (value, word) = run.allocate(&locals, &names);
                match run.model.below(20) {
                    0..=1 => {
                        let index = run.model.below(LOCALS);
                        (locals[index], names[index]) = (value, word);
                    }
                    2..=3 => {
                        let index = run.model.below(HANDLES);
                        run.handles[index].set(value);
                        run.model.handles[index] = word;
                    }
                    _ => {
                        let index = run.model.below(ROOTS);
                        run.rooted.set(index, value);
                        run.model.roots[index] = word;
                    }
                }
            }
            50..=89 => run.mutate(&locals, &names),
            90..=95 => {
                let index = run.model.below(ROOTS);
                run.rooted.set(index, Value::NIL);
                run.model.roots[index] = Word::Nil;
            }
            96..=97 => {
                let index = run.model.below(LOCALS);
                (locals[index], names[index]) = (Value::NIL, Word::Nil);
            }
            _ => {
                if run.model.below(20) == 0 {
                    let full = run.model.below(3) == 0;
                    run.rooted.mutator.collect(full);
                    if full {
                        super::survey::survey(&mut run.rooted.mutator);
                    }
                }
            }
        }
        if step % (steps / 40).max(1) == 0 {
            run.check(&locals, &names);
        }
    }
    run.rooted.mutator.collect(true);
    run.check(&locals, &names);
    heap.statistics()
}

#[test]
fn random_programs_copying() {
    for seed in 1..6 {
        run(checked(), seed, 12_000);
    }
}

#[test]
fn random_programs_in_place() {
    for seed in 10..15 {
        let config = HeapConfig {
            in_place_above_bytes: 0,
            full_floor_bytes: 1 << 20,
            ..checked()
        };
        let statistics = run(config, seed, 12_000);
        assert!(statistics.in_place_collections > 0);
    }
}

#[test]
fn random_programs_under_stress() {
    for (seed, in_place_above_bytes) in [(20, 0), (21, usize::MAX), (22, 0), (23, usize::MAX)] {
        let config = HeapConfig {
            stress_every: 5,
            in_place_above_bytes,
            ..checked()
        };
        run(config, seed, 2_500);
    }
}

#[test]
fn random_programs_unchecked_and_long() {
    for (seed, in_place_above_bytes) in [(30, 0), (31, usize::MAX), (32, 64 << 20)] {
        let config = HeapConfig {
            in_place_above_bytes,
            full_floor_bytes: 2 << 20,
            verify: false,
            poison: seed % 2 == 0,
            ..checked()
        };
        run(config, seed, 100_000);
    }
}

/// Configurations drawn at random; `CANNY_HEAP_SOAK` says how many.
#[test]
fn random_programs_in_random_configurations() {
    let count = std::env::var("CANNY_HEAP_SOAK").map_or(6u64, |text| {
        text.parse().expect("CANNY_HEAP_SOAK wants a number")
    });
    for seed in 1000..1000 + count {
        let bit = |index: u64| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (40 + index) & 1 != 0;
        let config = HeapConfig {
            limit: None,
            outside: None,
            nursery_bytes: if bit(0) { 256 << 10 } else { 1 << 20 },
            growth_percent: if bit(1) { 120 } else { 200 },
            full_floor_bytes: if bit(2) { 0 } else { 1 << 20 },
            in_place_above_bytes: if bit(3) { 0 } else { 2 << 20 },
            stress_every: if bit(4) { 20 } else { 0 },
            stress_full_every: if bit(5) { 2 } else { 7 },
            verify: bit(6),
            poison: bit(7),
        };
        run(config, seed, if bit(6) { 4_000 } else { 15_000 });
    }
}
