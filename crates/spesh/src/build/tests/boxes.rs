//! Boxes of assigned variables that only exits need.

use super::*;

/// `(let ((sum first)) (do ((i 0 (+ i 1))) ((>= i n)) body) (return-what))` with n in r0, i in r1 and the box in r2.
fn assigning(
    first: impl Fn(&mut Assembly),
    body: impl Fn(&mut Assembly),
    end: impl Fn(&mut Assembly),
) -> Arc<CodeSnapshot> {
    let mut probe = Assembly::default();
    body(&mut probe);
    let mut code = Assembly::default();
    first(&mut code);
    code.abc(Opcode::MakeBox, 2, 3, 0).immediate(1, 0);
    let head = code.words.len();
    let length = probe.words.len();
    code.branch(Opcode::JumpNotLess, 1, 0, head + 2 + length + 2);
    body(&mut code);
    code.abc(Opcode::AddImmediate, 1, 1, 1).go_back(head);
    end(&mut code);
    code.finish(0x1005, "assigning", 1)
}

fn zero(code: &mut Assembly) {
    code.immediate(3, 0);
}

/// Adds i to what is in the box.
fn add(code: &mut Assembly) {
    code.abc(Opcode::BoxRef, 3, 2, 0)
        .abc(Opcode::Add, 3, 3, 1)
        .abc(Opcode::BoxSet, 2, 3, 0);
}

fn give(code: &mut Assembly) {
    code.abc(Opcode::BoxRef, 3, 2, 0)
        .abc(Opcode::Return, 3, 0, 0);
}

fn touches_boxes(op: &Op) -> bool {
    let memory = match op {
        Op::Load { memory, .. } | Op::Store { memory, .. } => *memory,
        _ => return false,
    };
    memory == Memory::Box
}

/// Boxes that are made where they stand.
fn made(graph: &Graph) -> usize {
    let nodes = graph.blocks.iter().flat_map(|block| &block.nodes);
    nodes
        .filter(|id| matches!(graph.node(**id).op, Op::Allocate(..)) && !graph.is_sunk(**id))
        .count()
}

#[test]
fn what_a_loop_assigns_is_a_variable_of_it() {
    let code = assigning(zero, add, give);
    let graph = graph_of(&World::default(), &code, &[Type::FIXNUM]);
    assert_eq!(count(&graph, touches_boxes), 0, "{graph}");
    assert_eq!(made(&graph), 0, "{graph}");
    let head = graph.blocks.iter().find(|block| block.is_loop).unwrap();
    let types: Vec<Type> = head
        .parameters
        .iter()
        .map(|id| graph.node(*id).ty)
        .collect();
    assert_eq!(types, [Type::FIXNUM; 2]);
    // The sum may leave the fixnums; then its box is there, with what was in it before.
    let (state, sum) = graph
        .blocks
        .iter()
        .flat_map(|block| &block.nodes)
        .find_map(|id| match graph.node(*id).op {
            Op::Fixnum(_, x, y, state) if y != x && head.parameters.contains(&y) => {
                Some((state, x))
            }
            _ => None,
        })
        .expect("the sum");
    let registers = &graph.state(state).registers;
    let (_, the_box) = registers
        .iter()
        .find(|(register, _)| *register == 2)
        .unwrap();
    assert_eq!(graph.node(*the_box).op, Op::Allocate(Kind::Box, vec![sum]));
    assert!(graph.is_sunk(*the_box));
    let options = Options {
        replaces_boxes: false,
        ..Options::default()
    };
    let types = [Type::FIXNUM];
    let world = World::default();
    let graph = build(code, EntryPoint::Start, &types, &world, &world, &options).unwrap();
    assert_eq!(made(&graph), 1, "{graph}");
}

#[test]
fn flonums_in_a_box_are_unboxed() {
    let code = assigning(
        |code| {
            code.pool.push(PoolItem::Word(
                1.5f64.to_bits().rotate_left(4).wrapping_sub(1),
            ));
            let from = code.words.len() + 1;
            code.words
                .push(encode_wide(Opcode::LoadConstant, 3, (from + 2) as u16));
        },
        add,
        give,
    );
    let graph = graph_of(&World::default(), &code, &[Type::FIXNUM]);
    assert_eq!(count(&graph, touches_boxes), 0, "{graph}");
    assert_eq!(made(&graph), 0, "{graph}");
    // Nor is the result.
    assert_eq!(count(&graph, |op| matches!(op, Op::Box(_))), 0, "{graph}");
}

#[test]
fn a_box_that_a_call_may_see_is_made() {
    for seen_by in [
        // The box is an argument.
        |code: &mut Assembly| {
            code.abc(Opcode::Move, 6, 0, 0)
                .abc(Opcode::Move, 8, 2, 0)
                .call(6, 1, 0b111);
        },
        // It is needed behind the call.
        |code: &mut Assembly| {
            code.abc(Opcode::Move, 6, 0, 0).call(6, 0, 0b111);
        },
        // It is stored in a pair that is stored.
        |code: &mut Assembly| {
            code.words.push(encode_wide(Opcode::Free, 7, 0));
            code.abc(Opcode::Cons, 5, 2, 2).abc(Opcode::SetCar, 7, 5, 0);
        },
    ] {
        let code = assigning(
            zero,
            |code| {
                add(code);
                seen_by(code);
            },
            give,
        );
        let graph = graph_of(&World::default(), &code, &[]);
        assert!(made(&graph) >= 1, "{graph}");
        assert!(count(&graph, touches_boxes) >= 2, "{graph}");
    }
}

#[test]
fn a_box_in_a_closure_that_is_inlined_is_not_made() {
    // (define (f n) (let ((sum 0)) (do ((i 0 (+ i 1))) ((>= i n) sum) ((lambda () (set! sum (+ sum i)))))))
    let mut inner = Assembly::default();
    inner.words.push(encode_wide(Opcode::Free, 0, 0));
    inner
        .abc(Opcode::BoxRef, 1, 0, 0)
        .abc(Opcode::AddImmediate, 1, 1, 3)
        .abc(Opcode::BoxSet, 0, 1, 0)
        .abc(Opcode::Return, 1, 0, 0);
    let inner = inner.finish(0x3005, "inner", 0);
    let closure = inner.word;
    let code = assigning(
        |code| {
            code.pool.push(PoolItem::Code(closure));
            zero(code);
        },
        |code| {
            let from = code.words.len() + 1;
            code.words.push(encode_abc(Opcode::MakeClosure, 6, 1, 0));
            code.words.push((from + 1 + 2) as u32);
            code.abc(Opcode::ClosureSet, 6, 2, 0).call(6, 0, 0b111);
        },
        give,
    );
    let mut world = World::default();
    world.codes.insert(inner.word, inner);
    let graph = graph_of(&world, &code, &[Type::FIXNUM]);
    assert_eq!(graph.codes.len(), 2, "{graph}");
    assert_eq!(made(&graph), 0, "{graph}");
    assert_eq!(count(&graph, touches_boxes), 0, "{graph}");
}

#[test]
fn what_was_known_before_a_quiet_loop_is_known_in_it() {
    let mut code = Assembly::default();
    code.abc(Opcode::VectorLength, 3, 0, 0).immediate(1, 0);
    let head = code.words.len();
    code.branch(Opcode::JumpNotLess, 1, 3, head + 6)
        .abc(Opcode::VectorLength, 4, 0, 0)
        .abc(Opcode::Add, 5, 4, 3)
        .abc(Opcode::AddImmediate, 1, 1, 1)
        .go_back(head)
        .abc(Opcode::Return, 3, 0, 0);
    let code = code.finish(0x1005, "lengths", 1);
    let options = Options {
        hoists: false,
        ..Options::default()
    };
    let types = [Type::VECTOR];
    let world = World::default();
    let graph = build(code, EntryPoint::Start, &types, &world, &world, &options).unwrap();
    verify(&graph).unwrap_or_else(|problem| panic!("{problem}\n{graph}"));
    assert_eq!(
        count(&graph, |op| matches!(op, Op::Length(_))),
        1,
        "{graph}"
    );
}

#[test]
fn a_box_that_is_needed_behind_the_loop_only_is_made_there() {
    // A call behind the loop, over which the box lives.
    let code = assigning(zero, add, |code| {
        code.abc(Opcode::Move, 6, 0, 0).call(6, 0, 0b111);
        give(code);
    });
    let graph = graph_of(&World::default(), &code, &[Type::FIXNUM]);
    assert_eq!(made(&graph), 1, "{graph}");
    // It is read after the call, and nowhere else.
    assert_eq!(count(&graph, touches_boxes), 1, "{graph}");
    let head = graph.blocks.iter().find(|block| block.is_loop).unwrap();
    assert_eq!(head.parameters.len(), 2, "{graph}");
}
