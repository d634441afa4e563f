//! Graphs of small hand-written procedures.

mod boxes;
mod called_objects;
mod floats;
mod hoisting;
mod results;

use std::collections::HashMap;
use std::sync::Arc;

use canny_tables::kinds::Kind;
use canny_tables::opcodes::{Opcode, encode_abc, encode_far, encode_wide};

use super::*;
use crate::graph::{Callee, Condition, Memory};
use crate::snapshot::{Callees, CellSnapshot, LazyLiveness, PoolItem};
use crate::verify::verify;

/// Bytecode under construction.
#[derive(Default)]
struct Assembly {
    words: Vec<u32>,
    pool: Vec<PoolItem>,
}

impl Assembly {
    fn abc(&mut self, opcode: Opcode, a: usize, b: i32, c: i32) -> &mut Self {
        self.words
            .push(encode_abc(opcode, a as u8, b as u8, c as u8));
        self
    }

    fn immediate(&mut self, a: usize, n: i16) -> &mut Self {
        self.words
            .push(encode_wide(Opcode::LoadImmediate, a as u8, (n << 2) as u16));
        self
    }

    /// A branch to an absolute word index.
    fn branch(&mut self, opcode: Opcode, a: usize, second: i16, target: usize) -> &mut Self {
        let word = if opcode.row().operands[1].is_wide() {
            encode_wide(opcode, a as u8, second as u16)
        } else {
            encode_abc(opcode, a as u8, second as u8, 0)
        };
        self.words.push(word);
        let offset = target as i64 - (self.words.len() as i64 + 1);
        self.words.push(offset as i32 as u32);
        self
    }

    fn go_back(&mut self, target: usize) -> &mut Self {
        let offset = target as i64 - (self.words.len() as i64 + 1);
        self.words.push(encode_far(Opcode::Loop, offset as i32));
        self
    }

    fn call(&mut self, a: usize, count: usize, live: u32) -> &mut Self {
        self.abc(Opcode::Call, a, count as i32, 0);
        self.words.push(live);
        self
    }

    fn global(&mut self, a: usize, slot: usize) -> &mut Self {
        let from = self.words.len() + 1;
        let distance = from + 2 * (self.pool.len() - slot);
        self.words
            .push(encode_wide(Opcode::GlobalRef, a as u8, distance as u16));
        self
    }

    fn finish(&self, word: u64, name: &str, arity: u32) -> Arc<CodeSnapshot> {
        let frame_words = 16;
        Arc::new(CodeSnapshot {
            word: CodeWord(word),
            entry: word + 59 + 8 * self.pool.len() as u64,
            name: name.to_owned(),
            instructions: self.words.clone().into(),
            pool: self.pool.clone(),
            arity,
            frame_words,
            liveness: LazyLiveness::new(self.words.clone().into(), frame_words as usize),
        })
    }
}

#[derive(Default)]
struct World {
    codes: HashMap<CodeWord, Arc<CodeSnapshot>>,
    callees: HashMap<usize, CodeWord>,
    unstable: Vec<usize>,
    fails_before: Vec<usize>,
    failed: HashMap<usize, Type>,
    cold: Vec<usize>,
    calls_per_run: HashMap<usize, f64>,
    several: HashMap<usize, Callees>,
    results: HashMap<usize, Type>,
}

impl CodeSource for World {
    fn snapshot(&self, code: CodeWord) -> Option<Arc<CodeSnapshot>> {
        self.codes.get(&code).cloned()
    }
}

impl Profile for World {
    fn result_type(&self, _: CodeWord, pc: usize) -> Option<Type> {
        self.results.get(&pc).copied()
    }

    fn callee(&self, _: CodeWord, pc: usize) -> Option<CodeWord> {
        self.callees.get(&pc).copied()
    }

    fn callees(&self, _: CodeWord, pc: usize) -> Callees {
        self.several.get(&pc).cloned().unwrap_or_default()
    }

    fn calls_per_run(&self, _: CodeWord, pc: usize) -> Option<f64> {
        self.calls_per_run.get(&pc).copied()
    }

    fn is_cold(&self, _: CodeWord, pc: usize) -> bool {
        self.cold.contains(&pc)
    }

    fn failed_operands(&self, _: CodeWord, pc: usize) -> Type {
        self.failed.get(&pc).copied().unwrap_or(Type::NONE)
    }

    fn is_unstable(&self, _: CodeWord, pc: usize) -> bool {
        self.unstable.contains(&pc)
    }

    fn fails_before_loop(&self, _: CodeWord, pc: usize) -> bool {
        self.fails_before.contains(&pc)
    }
}

fn graph_of(world: &World, code: &Arc<CodeSnapshot>, types: &[Type]) -> Graph {
    let options = Options::default();
    let graph = build(
        code.clone(),
        EntryPoint::Start,
        types,
        world,
        world,
        &options,
    )
    .unwrap();
    verify(&graph).unwrap_or_else(|problem| panic!("{problem}\n{graph}"));
    graph
}

fn count(graph: &Graph, wanted: impl Fn(&Op) -> bool) -> usize {
    graph
        .blocks
        .iter()
        .flat_map(|block| &block.nodes)
        .filter(|id| wanted(&graph.node(**id).op))
        .count()
}

/// `(let loop ((i 0) (sum first)) (if (< i n) (loop (+ i 1) (+ sum i)) sum))` with n in r0.
fn sum_loop(first: impl Fn(&mut Assembly)) -> Arc<CodeSnapshot> {
    let mut code = Assembly::default();
    code.immediate(1, 0);
    first(&mut code);
    let head = code.words.len();
    code.branch(Opcode::JumpNotLess, 1, 0, head + 5)
        .abc(Opcode::Add, 2, 2, 1)
        .abc(Opcode::AddImmediate, 1, 1, 1)
        .go_back(head)
        .abc(Opcode::Return, 2, 0, 0);
    code.finish(0x1005, "sum", 1)
}

#[test]
fn a_loop_of_fixnums_checks_its_bound_once() {
    let code = sum_loop(|code| {
        code.immediate(2, 0);
    });
    let graph = graph_of(&World::default(), &code, &[]);
    assert_eq!(count(&graph, |op| matches!(op, Op::Guard(..))), 1);
    let head = graph.blocks.iter().find(|block| block.is_loop).unwrap();
    assert_eq!(head.parameters.len(), 2);
    for parameter in &head.parameters {
        assert_eq!(graph.node(*parameter).ty, Type::FIXNUM);
    }
    assert!(
        head.nodes
            .iter()
            .all(|id| !matches!(graph.node(*id).op, Op::Guard(..)))
    );
}

#[test]
fn a_loop_of_doubles_keeps_them_unboxed() {
    let code = sum_loop(|code| {
        code.pool.push(PoolItem::Word(
            1.5f64.to_bits().rotate_left(4).wrapping_sub(1),
        ));
        let from = code.words.len() + 1;
        code.words
            .push(encode_wide(Opcode::LoadConstant, 2, (from + 2) as u16));
    });
    let graph = graph_of(&World::default(), &code, &[]);
    let head = graph.blocks.iter().find(|block| block.is_loop).unwrap();
    let kinds: Vec<_> = head
        .parameters
        .iter()
        .map(|id| graph.representation(*id))
        .collect();
    assert!(kinds.contains(&Representation::Float), "{graph}");
    // Returned as a double, too.
    assert_eq!(count(&graph, |op| matches!(op, Op::Box(_))), 0, "{graph}");
    assert_eq!(count(&graph, |op| matches!(op, Op::FixnumToFloat(_))), 1);
}

#[test]
fn a_loop_whose_variable_changes_its_type_settles() {
    // The sum starts as the empty list, which no arithmetic takes: the first pass round leaves.
    let mut code = Assembly::default();
    code.immediate(1, 0);
    code.words.push(encode_wide(
        Opcode::LoadImmediate,
        2,
        canny_tables::layout::NIL as u16,
    ));
    let head = code.words.len();
    code.branch(Opcode::JumpNotLess, 1, 0, head + 5)
        .abc(Opcode::Cons, 2, 1, 2)
        .abc(Opcode::AddImmediate, 1, 1, 1)
        .go_back(head)
        .abc(Opcode::Return, 2, 0, 0);
    let code = code.finish(0x1005, "list", 1);
    let graph = graph_of(&World::default(), &code, &[Type::FIXNUM]);
    let head = graph.blocks.iter().find(|block| block.is_loop).unwrap();
    let types: Vec<Type> = head
        .parameters
        .iter()
        .map(|id| graph.node(*id).ty)
        .collect();
    assert!(types.contains(&Type::PAIR.or(Type::NIL)), "{types:?}");
}

fn fib() -> Arc<CodeSnapshot> {
    let mut code = Assembly::default();
    code.branch(Opcode::JumpNotLessImmediate, 0, 2, 3)
        .abc(Opcode::Return, 0, 0, 0)
        .abc(Opcode::SelfRef, 1, 0, 0)
        .abc(Opcode::AddImmediate, 3, 0, -1)
        .call(1, 1, 0b1)
        .abc(Opcode::SelfRef, 2, 0, 0)
        .abc(Opcode::AddImmediate, 4, 0, -2)
        .call(2, 1, 0b10)
        .abc(Opcode::Add, 1, 1, 2)
        .abc(Opcode::Return, 1, 0, 0);
    code.finish(0x1005, "fib", 1)
}

#[test]
fn a_procedure_is_inlined_into_itself_once() {
    let code = fib();
    let mut world = World::default();
    world.codes.insert(code.word, code.clone());
    let graph = graph_of(&world, &code, &[Type::FIXNUM]);
    let calls = count(&graph, |op| {
        matches!(op, Op::Call(Callee::Known { .. }, ..))
    });
    assert_eq!(calls, 4, "{graph}");
    assert_eq!(graph.frames.len(), 3);
    // The argument is checked by who enters; what the calls give is checked here.
    let guards = |graph: &Graph| count(graph, |op| matches!(op, Op::Guard(..)));
    assert_eq!(graph.required, [(0, Type::FIXNUM)]);
    assert_eq!(guards(&graph), 4, "{graph}");
    let options = Options {
        selects_at_entry: false,
        ..Options::default()
    };
    let types = [Type::FIXNUM];
    let graph = build(code, EntryPoint::Start, &types, &world, &world, &options).unwrap();
    assert_eq!(graph.required, []);
    assert_eq!(guards(&graph), 5, "{graph}");
}

#[test]
fn a_watched_global_is_called_without_a_check() {
    let code = fib();
    let mut caller = Assembly::default();
    caller.pool.push(PoolItem::Cell(CellSnapshot {
        ty: Type::CLOSURE,
        code: Some(code.word),
        is_watched: true,
        word: None,
        class_key: None,
        field_count: 0,
        number: 7,
    }));
    caller
        .global(1, 0)
        .abc(Opcode::Move, 3, 0, 0)
        .call(1, 1, 0)
        .abc(Opcode::Return, 1, 0, 0);
    let caller = caller.finish(0x2005, "caller", 1);
    let mut world = World::default();
    world.codes.insert(code.word, code.clone());
    let graph = graph_of(&world, &caller, &[Type::ANY]);
    assert_eq!(graph.watched, [7]);
    assert_eq!(
        count(&graph, |op| matches!(op, Op::Guard(Test::ClosureOf(_), ..))),
        0,
        "{graph}"
    );
}

#[test]
fn a_tail_call_of_inlined_code_is_a_call_of_its_caller() {
    // (define (outer x) (+ 1 (inner x)))   (define (inner x) (unknown x)), unknown in x itself.
    let mut inner = Assembly::default();
    inner
        .abc(Opcode::Move, 1, 0, 0)
        .abc(Opcode::Move, 3, 0, 0)
        .abc(Opcode::TailCall, 1, 1, 0);
    let inner = inner.finish(0x3005, "inner", 1);
    let mut outer = Assembly::default();
    outer
        .abc(Opcode::Move, 1, 0, 0)
        .abc(Opcode::Move, 3, 0, 0)
        .call(1, 1, 0)
        .abc(Opcode::AddImmediate, 1, 1, 1)
        .abc(Opcode::Return, 1, 0, 0);
    let outer = outer.finish(0x4005, "outer", 1);
    let mut world = World::default();
    world.callees.insert(2, inner.word);
    world.codes.insert(inner.word, inner);
    let graph = graph_of(&world, &outer, &[]);
    assert_eq!(count(&graph, |op| matches!(op, Op::Call(..))), 1, "{graph}");
    let outer_state = graph
        .blocks
        .iter()
        .flat_map(|block| &block.nodes)
        .find_map(|id| match graph.node(*id).op {
            Op::Call(_, _, state) => Some(state),
            _ => None,
        })
        .unwrap();
    assert_eq!(graph.state(outer_state).frame, FrameId(0), "{graph}");
}

#[test]
fn equal_loads_are_done_once_and_stores_are_remembered() {
    let mut code = Assembly::default();
    code.abc(Opcode::Car, 1, 0, 0)
        .abc(Opcode::Car, 2, 0, 0)
        .abc(Opcode::SetCar, 0, 1, 0)
        .abc(Opcode::Car, 3, 0, 0)
        .abc(Opcode::Cdr, 4, 0, 0)
        .abc(Opcode::Cons, 1, 2, 3)
        .abc(Opcode::Cons, 1, 1, 4)
        .abc(Opcode::Return, 1, 0, 0);
    let code = code.finish(0x1005, "twice", 1);
    let graph = graph_of(&World::default(), &code, &[]);
    let cars = count(&graph, |op| {
        matches!(
            op,
            Op::Load {
                memory: Memory::Car,
                ..
            }
        )
    });
    assert_eq!(cars, 1, "{graph}");
    assert_eq!(count(&graph, |op| matches!(op, Op::Guard(..))), 1);
}

#[test]
fn what_failed_as_a_fixnum_is_tried_as_a_double() {
    let mut code = Assembly::default();
    code.abc(Opcode::Add, 2, 0, 1).abc(Opcode::Return, 2, 0, 0);
    let code = code.finish(0x1005, "plus", 2);
    let mut world = World::default();
    world.failed.insert(0, Type::FLONUM);
    let graph = graph_of(&world, &code, &[]);
    assert_eq!(
        count(&graph, |op| matches!(op, Op::Guard(Test::Flonum, ..))),
        2,
        "{graph}"
    );
    world.unstable.push(0);
    let graph = graph_of(&world, &code, &[]);
    assert_eq!(count(&graph, |op| matches!(op, Op::Runtime(_))), 1);
}

#[test]
fn what_is_entered_at_an_inner_loop_contains_the_loop_around_it() {
    let mut code = Assembly::default();
    code.immediate(1, 0);
    let outer = code.words.len();
    code.immediate(2, 0);
    let inner = code.words.len();
    code.branch(Opcode::JumpNotLess, 2, 0, inner + 4)
        .abc(Opcode::AddImmediate, 2, 2, 1)
        .go_back(inner)
        .abc(Opcode::AddImmediate, 1, 1, 1);
    let end = code.words.len() + 3;
    code.branch(Opcode::JumpNotLess, 1, 0, end)
        .go_back(outer)
        .abc(Opcode::Return, 2, 0, 0);
    let code = code.finish(0x1005, "nest", 1);
    let world = World::default();
    let graph = build(
        code,
        EntryPoint::Loop(inner),
        &[Type::FIXNUM, Type::FIXNUM, Type::FIXNUM],
        &world,
        &world,
        &Options::default(),
    )
    .unwrap();
    verify(&graph).unwrap_or_else(|problem| panic!("{problem}\n{graph}"));
    let loops = graph.blocks.iter().filter(|block| block.is_loop).count();
    // The inner one on its own, the outer one, and the inner one inside of that.
    assert_eq!(loops, 3, "{graph}");
    let leaves = |block: &crate::graph::Block| matches!(block.terminator, Terminator::Exit(_));
    assert!(!graph.blocks.iter().any(leaves), "{graph}");
}

/// `(lambda (a) (if (pair? a) (f a) 1))` with a call at word 4 of what is in the pool.
fn caller_of_the_pool(callee: u64) -> Arc<CodeSnapshot> {
    let mut code = Assembly::default();
    code.pool.push(PoolItem::Word(callee));
    code.branch(Opcode::JumpNotPair, 0, 0, 7);
    let from = code.words.len() + 1;
    code.words
        .push(encode_wide(Opcode::LoadConstant, 1, (from + 2) as u16));
    code.abc(Opcode::Move, 3, 0, 0)
        .call(1, 1, 0)
        .abc(Opcode::Return, 1, 0, 0)
        .abc(Opcode::Return, 0, 0, 0);
    code.finish(0x2005, "caller", 1)
}

#[test]
fn calls_that_were_never_seen_leave() {
    let code = caller_of_the_pool(canny_tables::layout::FALSE);
    let mut world = World::default();
    let calls = |graph: &Graph| count(graph, |op| matches!(op, Op::Call(..)));
    assert_eq!(calls(&graph_of(&world, &code, &[])), 1);
    world.cold.push(4);
    let graph = graph_of(&world, &code, &[]);
    assert_eq!(calls(&graph), 0, "{graph}");
    let exits = graph
        .blocks
        .iter()
        .filter(|block| matches!(block.terminator, Terminator::Exit(_)))
        .count();
    assert_eq!(exits, 1, "{graph}");
}

#[test]
fn the_less_often_a_call_is_made_the_smaller_a_callee_is_inlined() {
    let mut callee = Assembly::default();
    for _ in 0..7 {
        callee.abc(Opcode::Cons, 1, 0, 0);
    }
    callee.abc(Opcode::Return, 1, 0, 0);
    let callee = callee.finish(0x3005, "callee", 1);
    let mut code = Assembly::default();
    code.abc(Opcode::Move, 1, 0, 0)
        .abc(Opcode::Move, 3, 0, 0)
        .call(1, 1, 0)
        .abc(Opcode::Return, 1, 0, 0);
    let code = code.finish(0x2005, "caller", 1);
    let mut world = World::default();
    world.callees.insert(2, callee.word);
    world.codes.insert(callee.word, callee);
    let mut calls = |calls_per_run: f64| {
        world.calls_per_run.insert(2, calls_per_run);
        let graph = graph_of(&world, &code, &[]);
        count(&graph, |op| matches!(op, Op::Call(..)))
    };
    assert_eq!(calls(1.0), 0);
    assert_eq!(calls(0.1), 0);
    assert_eq!(calls(0.0), 1);
}

#[test]
fn leaving_for_what_compiled_code_never_does_is_no_guess() {
    let mut code = Assembly::default();
    code.branch(Opcode::JumpNotPair, 0, 0, 4)
        .abc(Opcode::TailApply, 0, 0, 0)
        .abc(Opcode::Return, 0, 0, 0)
        .abc(Opcode::Return, 0, 0, 0);
    let code = code.finish(0x1005, "apply", 1);
    let graph = graph_of(&World::default(), &code, &[]);
    let state = graph
        .blocks
        .iter()
        .find_map(|block| match block.terminator {
            Terminator::Exit(state) => Some(state),
            _ => None,
        })
        .unwrap();
    let place = graph.place_left_to_interpreter(state);
    assert_eq!(place, Some(code.address(2)), "{graph}");
}

/// `(if (eq? (%class-key r0) 200) (%record-ref r0 type 0) r0)`, where the records of the type have a class key.
fn field_after_class_key(class_key: i64) -> Arc<CodeSnapshot> {
    let mut code = Assembly::default();
    code.pool.push(PoolItem::Cell(CellSnapshot {
        ty: Type::RECORD_TYPE,
        code: None,
        is_watched: true,
        word: None,
        class_key: Some(class_key),
        field_count: 2,
        number: 3,
    }));
    code.abc(Opcode::ClassKey, 1, 0, 0)
        .immediate(2, 200)
        .branch(Opcode::JumpNotEq, 1, 2, 9)
        .global(3, 0)
        .abc(Opcode::RecordRef, 4, 0, 3)
        .words
        .extend([0, 2]);
    code.abc(Opcode::Return, 4, 0, 0)
        .abc(Opcode::Return, 0, 0, 0);
    code.finish(0x1005, "field", 1)
}

#[test]
fn a_compared_class_key_tells_the_record_type() {
    let checks = |class_key| {
        let code = field_after_class_key(class_key);
        let graph = graph_of(&World::default(), &code, &[Type::RECORD]);
        assert_eq!(graph.watched, [3]);
        count(&graph, |op| {
            matches!(op, Op::Require(Condition::RecordOf(..), _))
        })
    };
    assert_eq!(checks(200), 0);
    // Of another type, which the record's may be derived from.
    assert_eq!(checks(300), 1);
}

/// `(let ((a (%record-ref r0 type 0))) (f a) (%record-ref r0 type INDEX))`, where the records of the type have two fields.
fn fields_around_a_call(index: u32) -> Arc<CodeSnapshot> {
    let mut code = Assembly::default();
    for (ty, class_key) in [(Type::RECORD_TYPE, Some(200)), (Type::CLOSURE, None)] {
        code.pool.push(PoolItem::Cell(CellSnapshot {
            ty,
            code: None,
            is_watched: true,
            word: None,
            class_key,
            field_count: 2,
            number: 3,
        }));
    }
    code.global(1, 0).abc(Opcode::RecordRef, 2, 0, 1);
    code.words.extend([0, 2]);
    code.global(3, 1);
    code.call(3, 0, 0b1);
    code.global(1, 0).abc(Opcode::RecordRef, 2, 0, 1);
    code.words.extend([index, 2]);
    code.abc(Opcode::Return, 2, 0, 0);
    code.finish(0x1005, "fields", 1)
}

#[test]
fn a_record_keeps_its_type_over_calls() {
    let checks = |index| {
        let graph = graph_of(
            &World::default(),
            &fields_around_a_call(index),
            &[Type::RECORD],
        );
        let types = count(&graph, |op| {
            matches!(op, Op::Require(Condition::RecordOf(..), _))
        });
        let fields = count(&graph, |op| matches!(op, Op::RequireIndex(..)));
        let calls = count(&graph, |op| matches!(op, Op::Call(..)));
        assert_eq!(calls, 1, "{graph}");
        (types, fields)
    };
    assert_eq!(checks(1), (1, 0));
    // A field that records of the type need not have.
    assert_eq!(checks(2), (1, 1));
}

#[test]
fn what_new_objects_are_made_of_is_known_and_exits_alone_make_them() {
    // (let ((pair (cons x (cons y x)))) (+ (car pair) (cadr pair))), and pair is still there when the sum is made.
    let pair = |end: &dyn Fn(&mut Assembly)| {
        let mut code = Assembly::default();
        code.abc(Opcode::Cons, 2, 1, 0)
            .abc(Opcode::Cons, 2, 0, 2)
            .abc(Opcode::Car, 3, 2, 0)
            .abc(Opcode::Cadr, 4, 2, 0)
            .abc(Opcode::Add, 3, 3, 4);
        end(&mut code);
        code.finish(0x1005, "parts", 2)
    };
    let new = |graph: &Graph, sunk: bool| {
        let pairs = graph.blocks.iter().flat_map(|block| &block.nodes);
        pairs
            .filter(|id| matches!(graph.node(**id).op, Op::Cons(..)))
            .filter(|id| graph.is_sunk(**id) == sunk)
            .count()
    };
    let read = pair(&|code| {
        // The cdr is wanted too, so that the add's state has the pair.
        code.abc(Opcode::Cdr, 4, 2, 0)
            .abc(Opcode::Car, 4, 4, 0)
            .abc(Opcode::Add, 3, 3, 4)
            .abc(Opcode::Return, 3, 0, 0);
    });
    let graph = graph_of(&World::default(), &read, &[]);
    assert_eq!(
        count(&graph, |op| matches!(op, Op::Load { .. })),
        0,
        "{graph}"
    );
    assert_eq!((new(&graph, true), new(&graph, false)), (2, 0), "{graph}");
    // What is returned is made, and so are its parts.
    let returned = pair(&|code| {
        code.abc(Opcode::Return, 2, 0, 0);
    });
    let graph = graph_of(&World::default(), &returned, &[]);
    assert_eq!((new(&graph, true), new(&graph, false)), (0, 2), "{graph}");
    // So is what a frame keeps over a call.
    let kept = pair(&|code| {
        code.abc(Opcode::Move, 8, 0, 0)
            .call(8, 0, 0b100)
            .abc(Opcode::Cdr, 2, 2, 0)
            .abc(Opcode::Car, 2, 2, 0)
            .abc(Opcode::Return, 2, 0, 0);
    });
    let graph = graph_of(&World::default(), &kept, &[]);
    assert_eq!((new(&graph, true), new(&graph, false)), (0, 2), "{graph}");
}

/// `(lambda (x) (+ x number))`, padded to so many words.
fn adder(word: u64, number: i8, words: usize) -> Arc<CodeSnapshot> {
    let mut code = Assembly::default();
    for _ in 2..words {
        code.abc(Opcode::Cons, 1, 0, 0);
    }
    code.abc(Opcode::AddImmediate, 1, 0, i32::from(number))
        .abc(Opcode::Return, 1, 0, 0);
    code.finish(word, "adder", 1)
}

/// `(lambda (f x) (cons (f x) x))`, or a tail call of f; the call is at word 2. It enters codes so often.
fn caller_of_several(
    is_tail: bool,
    callees: &[(Arc<CodeSnapshot>, u32)],
) -> (World, Arc<CodeSnapshot>) {
    let mut code = Assembly::default();
    code.abc(Opcode::Move, 2, 0, 0).abc(Opcode::Move, 4, 1, 0);
    if is_tail {
        code.abc(Opcode::TailCall, 2, 1, 0);
    } else {
        code.call(2, 1, 0b10)
            .abc(Opcode::Cons, 2, 2, 1)
            .abc(Opcode::Return, 2, 0, 0);
    }
    let mut world = World::default();
    world.several.insert(
        2,
        Callees {
            seen: callees
                .iter()
                .map(|(code, count)| (code.word, *count))
                .collect(),
            calls: callees.iter().map(|(_, count)| count).sum(),
        },
    );
    world.codes = callees
        .iter()
        .map(|(code, _)| (code.word, code.clone()))
        .collect();
    (world, code.finish(0x1005, "caller", 2))
}

/// Questions for the code of a closure, in order of the blocks.
fn questions(graph: &Graph) -> Vec<u64> {
    let asked = |block: &crate::graph::Block| match block.terminator {
        Terminator::Branch {
            condition: Condition::Test(Test::ClosureOf(code), _),
            ..
        } => Some(code),
        _ => None,
    };
    graph.blocks.iter().filter_map(asked).collect()
}

fn exits(graph: &Graph) -> usize {
    let leaves = |block: &&crate::graph::Block| matches!(block.terminator, Terminator::Exit(_));
    graph.blocks.iter().filter(leaves).count()
}

fn calls(graph: &Graph) -> usize {
    count(graph, |op| matches!(op, Op::Call(..)))
}

#[test]
fn a_call_that_enters_two_procedures_asks_which() {
    let (one, other) = (adder(0x3005, 1, 2), adder(0x4005, 2, 2));
    let (mut world, code) = caller_of_several(false, &[(one, 60), (other, 40)]);
    let graph = graph_of(&world, &code, &[]);
    assert_eq!(questions(&graph), [0x3005, 0x4005], "{graph}");
    // Nobody else was ever called.
    assert_eq!((calls(&graph), exits(&graph)), (0, 1), "{graph}");
    // The results come together in one pair.
    assert_eq!(count(&graph, |op| matches!(op, Op::Cons(..))), 1, "{graph}");
    // The closure is asked once whether it is one, and leaves otherwise.
    let is_closure = |op: &Op| {
        matches!(
            op,
            Op::Guard(Test::Kind(canny_tables::kinds::Kind::Closure), ..)
        )
    };
    assert_eq!(count(&graph, is_closure), 1, "{graph}");

    // Leaving was wrong too often: whatever comes is called.
    world.unstable.push(2);
    let graph = graph_of(&world, &code, &[]);
    assert_eq!(questions(&graph), [0x3005, 0x4005], "{graph}");
    assert_eq!((calls(&graph), exits(&graph)), (1, 0), "{graph}");
    assert_eq!(count(&graph, is_closure), 0, "{graph}");
}

#[test]
fn a_tail_call_that_enters_two_procedures_returns_from_each() {
    let (one, other) = (adder(0x3005, 1, 2), adder(0x4005, 2, 2));
    let (world, code) = caller_of_several(true, &[(one, 6), (other, 4)]);
    let graph = graph_of(&world, &code, &[]);
    let returns = |block: &&crate::graph::Block| matches!(block.terminator, Terminator::Return(_));
    assert_eq!(graph.blocks.iter().filter(returns).count(), 2, "{graph}");
    // Ten calls are too few to say that nobody else comes.
    let tail_calls =
        |block: &&crate::graph::Block| matches!(block.terminator, Terminator::TailCall(..));
    assert_eq!(graph.blocks.iter().filter(tail_calls).count(), 1, "{graph}");
}

#[test]
fn large_and_rare_procedures_share_the_call() {
    let (small, large) = (adder(0x3005, 1, 2), adder(0x4005, 2, 100));
    let rare = adder(0x5005, 3, 2);
    let (world, code) = caller_of_several(false, &[(small, 900), (large, 50), (rare, 50)]);
    let graph = graph_of(&world, &code, &[]);
    assert_eq!(questions(&graph), [0x3005], "{graph}");
    assert_eq!((calls(&graph), exits(&graph)), (1, 0), "{graph}");
}

#[test]
fn a_call_that_enters_many_procedures_stays_one_call() {
    let many: Vec<_> = (0..8)
        .map(|n| (adder(0x3005 + 0x100 * n, n as i8, 2), 100))
        .collect();
    let (mut world, code) = caller_of_several(false, &many);
    let graph = graph_of(&world, &code, &[]);
    world.several.clear();
    let plain = graph_of(&world, &code, &[]);
    assert_eq!(graph.to_string(), plain.to_string());
}

#[test]
fn asking_which_procedure_is_called_can_be_turned_off() {
    let (one, other) = (adder(0x3005, 1, 2), adder(0x4005, 2, 2));
    let (world, code) = caller_of_several(false, &[(one, 60), (other, 40)]);
    let options = Options {
        inline_several: false,
        ..Options::default()
    };
    let graph = build(code, EntryPoint::Start, &[], &world, &world, &options).unwrap();
    assert_eq!(questions(&graph), [] as [u64; 0], "{graph}");
    assert_eq!(calls(&graph), 1, "{graph}");
}

/// `(lambda (x) (if (pair? x) #t (vector? x)))`: three returns, two of them of constants.
fn predicate() -> Arc<CodeSnapshot> {
    let mut code = Assembly::default();
    let boolean = |word: u64| encode_wide(Opcode::LoadImmediate, 1, word as u16);
    code.branch(Opcode::JumpNotPair, 0, 0, 4);
    code.words.push(boolean(canny_tables::layout::TRUE));
    code.abc(Opcode::Return, 1, 0, 0);
    let vector = canny_tables::kinds::Kind::Vector as i32;
    code.abc(Opcode::JumpNotKind, 0, vector, 0).words.push(2);
    code.words.push(boolean(canny_tables::layout::TRUE));
    code.abc(Opcode::Return, 1, 0, 0);
    code.words.push(boolean(canny_tables::layout::FALSE));
    code.abc(Opcode::Return, 1, 0, 0);
    code.finish(0x3005, "predicate", 1)
}

/// Branches on conditions like this.
fn branches(graph: &Graph, wanted: impl Fn(&Condition) -> bool) -> usize {
    let asks = |block: &&crate::graph::Block| match &block.terminator {
        Terminator::Branch { condition, .. } => wanted(condition),
        _ => false,
    };
    graph.blocks.iter().filter(asks).count()
}

#[test]
fn what_an_inlined_predicate_said_is_not_asked_again() {
    // (lambda (x predicate) (if (predicate x) (if (pair? x) (car x) x) x))
    let mut code = Assembly::default();
    code.abc(Opcode::Move, 2, 1, 0)
        .abc(Opcode::Move, 4, 0, 0)
        .call(2, 1, 0b1)
        .branch(Opcode::JumpFalse, 2, 0, 9)
        .branch(Opcode::JumpNotPair, 0, 0, 9)
        .abc(Opcode::Car, 0, 0, 0)
        .abc(Opcode::Return, 0, 0, 0);
    let code = code.finish(0x1005, "caller", 2);
    let predicate = predicate();
    let mut world = World::default();
    world.callees.insert(2, predicate.word);
    world.codes.insert(predicate.word, predicate);
    let graph = graph_of(&world, &code, &[]);
    let is_false = |condition: &Condition| matches!(condition, Condition::Test(Test::Word(word), _) if *word == canny_tables::layout::FALSE);
    assert_eq!(branches(&graph, is_false), 0, "{graph}");
    let is_pair = |condition: &Condition| matches!(condition, Condition::Test(Test::Pair, _));
    assert_eq!(branches(&graph, is_pair), 1, "{graph}");
    assert_eq!(
        count(&graph, |op| matches!(op, Op::Guard(..))),
        1,
        "{graph}"
    );
}

#[test]
fn a_value_that_was_only_looked_at_is_the_same_value_afterwards() {
    // (lambda (x y) (if (fixnum? x) (set! y (cons x y))) (+ x y)): x is no parameter of the block behind.
    let mut code = Assembly::default();
    code.branch(Opcode::JumpNotFixnum, 0, 0, 3)
        .abc(Opcode::Cons, 1, 0, 1)
        .abc(Opcode::Cons, 2, 0, 1)
        .abc(Opcode::Return, 2, 0, 0);
    let code = code.finish(0x1005, "look", 2);
    let graph = graph_of(&World::default(), &code, &[]);
    let parameters: Vec<usize> = graph
        .blocks
        .iter()
        .map(|block| block.parameters.len())
        .filter(|count| *count > 0)
        .collect();
    assert_eq!(parameters, [1], "{graph}");
}

#[test]
fn what_was_loaded_and_looked_at_is_known_when_it_is_loaded_again() {
    // (lambda (x) (if (vector? (car x)) (vector-length (car x)) (cons (car x) (car x))))
    let mut code = Assembly::default();
    let vector = canny_tables::kinds::Kind::Vector as i32;
    code.abc(Opcode::Car, 1, 0, 0);
    code.abc(Opcode::JumpNotKind, 1, vector, 0).words.push(3);
    code.abc(Opcode::Car, 2, 0, 0)
        .abc(Opcode::VectorLength, 2, 2, 0)
        .abc(Opcode::Return, 2, 0, 0)
        .abc(Opcode::Car, 2, 0, 0)
        .abc(Opcode::Cons, 2, 2, 2)
        .abc(Opcode::Return, 2, 0, 0);
    let code = code.finish(0x1005, "again", 1);
    let graph = graph_of(&World::default(), &code, &[Type::PAIR]);
    assert_eq!(
        count(&graph, |op| matches!(op, Op::Guard(..))),
        0,
        "{graph}"
    );
    let loads = |op: &Op| matches!(op, Op::Load { .. });
    assert_eq!(count(&graph, loads), 1, "{graph}");
}

#[test]
fn of_several_procedures_those_that_make_calls_are_not_copied() {
    let (mut world, code) = caller_of_several(false, &[(adder(0x3005, 1, 2), 50)]);
    let mut calling = Assembly::default();
    calling
        .abc(Opcode::Move, 2, 0, 0)
        .abc(Opcode::Move, 4, 0, 0)
        .call(2, 1, 0b1)
        .abc(Opcode::Return, 2, 0, 0);
    let calling = calling.finish(0x5005, "calling", 1);
    let callees = world.several.get_mut(&2).unwrap();
    callees.seen.push((calling.word, 5));
    callees.calls += 5;
    world.codes.insert(calling.word, calling);
    let graph = graph_of(&world, &code, &[]);
    assert_eq!(questions(&graph), [0x3005], "{graph}");
    // With half of the calls entering that, nobody is copied, and neither where the call is seldom made.
    let callees = world.several.get_mut(&2).unwrap();
    callees.seen[1].1 += 45;
    callees.calls += 45;
    assert_eq!(questions(&graph_of(&world, &code, &[])), [] as [u64; 0]);
    let (mut world, code) = caller_of_several(false, &[(adder(0x3005, 1, 2), 50)]);
    world.calls_per_run.insert(2, 0.1);
    assert_eq!(questions(&graph_of(&world, &code, &[])), [] as [u64; 0]);
}

/// The code of a primitive as a procedure.
fn stub_of(word: u64, primitive: &str) -> Arc<CodeSnapshot> {
    let id = canny_tables::primitives::lookup(primitive).expect("a row");
    let mut code = Assembly::default();
    code.abc(Opcode::PrimitiveStub, 0, 0, 0);
    code.words.push(u32::from(id.0));
    code.finish(word, primitive, canny_tables::layout::code::VARIADIC)
}

/// `(lambda (f x) (cons (f x x) x))`, or a tail call of f, where f was always the same.
fn caller_of_primitive(is_tail: bool, primitive: &str) -> (World, Arc<CodeSnapshot>) {
    let mut code = Assembly::default();
    code.abc(Opcode::Move, 2, 0, 0)
        .abc(Opcode::Move, 4, 1, 0)
        .abc(Opcode::Move, 5, 1, 0);
    if is_tail {
        code.abc(Opcode::TailCall, 2, 2, 0);
    } else {
        code.call(2, 2, 0b10)
            .abc(Opcode::Cons, 2, 2, 1)
            .abc(Opcode::Return, 2, 0, 0);
    }
    let stub = stub_of(0x3005, primitive);
    let mut world = World::default();
    world.callees.insert(3, stub.word);
    world.codes.insert(stub.word, stub);
    (world, code.finish(0x1005, "caller", 2))
}

#[test]
fn arithmetic_that_is_called_as_a_procedure_is_done_in_place() {
    for is_tail in [false, true] {
        for primitive in ["<", ">=", "=", "+", "*"] {
            let (world, code) = caller_of_primitive(is_tail, primitive);
            let graph = graph_of(&world, &code, &[]);
            assert_eq!(calls(&graph), 0, "{primitive}: {graph}");
            let tail_calls = graph
                .blocks
                .iter()
                .filter(|block| matches!(block.terminator, Terminator::TailCall(..)));
            assert_eq!(tail_calls.count(), 0, "{primitive}: {graph}");
        }
        // What has no nodes for two numbers, and what went wrong here before, is called.
        let (world, code) = caller_of_primitive(is_tail, "list-tail");
        let graph = graph_of(&world, &code, &[]);
        assert!(calls(&graph) == 1 || is_tail, "{graph}");
        let (mut world, code) = caller_of_primitive(is_tail, "<");
        world.unstable.push(3);
        let graph = graph_of(&world, &code, &[]);
        assert!(calls(&graph) == 1 || is_tail, "{graph}");
    }
}
