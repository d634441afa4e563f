//! What a loop does not change is asked and computed before it.

use super::*;

/// Operations in blocks of loops, for graphs whose only loop is the last thing before they return.
fn in_loop(graph: &Graph) -> Vec<Op> {
    let head = graph.blocks.iter().position(|block| block.is_loop).unwrap();
    let nodes = graph.blocks[head..].iter().flat_map(|block| &block.nodes);
    nodes.map(|id| graph.node(*id).op.clone()).collect()
}

fn in_loop_count(graph: &Graph, wanted: impl Fn(&Op) -> bool) -> usize {
    in_loop(graph).into_iter().filter(wanted).count()
}

fn free(code: &mut Assembly, a: usize, index: u16) {
    code.words.push(encode_wide(Opcode::Free, a as u8, index));
}

/// `(do ((i 0 (+ i 1))) ((>= i n) i) body)` with n in r0 and i in r1.
fn counting(body: impl Fn(&mut Assembly)) -> (Arc<CodeSnapshot>, usize) {
    let mut probe = Assembly::default();
    body(&mut probe);
    let mut code = Assembly::default();
    code.immediate(1, 0);
    let head = code.words.len();
    code.branch(Opcode::JumpNotLess, 1, 0, head + 2 + probe.words.len() + 2);
    body(&mut code);
    code.abc(Opcode::AddImmediate, 1, 1, 1)
        .go_back(head)
        .abc(Opcode::Return, 1, 0, 0);
    (code.finish(0x1005, "counting", 4), head)
}

/// Sets each element of the vector that the closure captured to the index.
fn fill(code: &mut Assembly) {
    free(code, 3, 0);
    code.abc(Opcode::VectorSet, 3, 1, 1);
}

#[test]
fn checks_of_a_captured_vector_are_made_before_the_loop() {
    let (code, head) = counting(fill);
    let graph = graph_of(&World::default(), &code, &[Type::FIXNUM]);
    let left = in_loop(&graph);
    assert!(
        !left.iter().any(|op| matches!(
            op,
            Op::Guard(..) | Op::Load { .. } | Op::Length(_) | Op::RequireMutable(..)
        )),
        "{graph}"
    );
    assert_eq!(
        in_loop_count(&graph, |op| matches!(op, Op::RequireIndex(..))),
        1
    );
    // What fails there goes on with the loop from its start, with its variable as it was.
    let guard = graph.blocks[0]
        .nodes
        .iter()
        .find_map(|id| match graph.node(*id).op {
            Op::Guard(Test::Kind(_), _, state) => Some(state),
            _ => None,
        });
    let state = graph.state(guard.expect("a check before the loop"));
    assert_eq!(state.pc, head);
    let variable = state.registers.iter().find(|(register, _)| *register == 1);
    let (_, value) = variable.expect("the loop's variable");
    assert_eq!(graph.node(*value).op, Op::Word(0));
}

#[test]
fn checks_that_failed_before_a_loop_stay_in_it() {
    let (code, head) = counting(fill);
    let world = World {
        fails_before: vec![head],
        ..World::default()
    };
    let graph = graph_of(&world, &code, &[Type::FIXNUM]);
    let checks = |op: &Op| matches!(op, Op::Guard(..) | Op::RequireMutable(..));
    assert_eq!(in_loop_count(&graph, checks), 2, "{graph}");
    // The captured value itself is no question.
    assert_eq!(in_loop_count(&graph, |op| matches!(op, Op::Load { .. })), 0);
}

#[test]
fn nothing_moves_without_the_pass() {
    let (code, _) = counting(fill);
    let options = Options {
        hoists: false,
        ..Options::default()
    };
    let world = World::default();
    let types = [Type::FIXNUM];
    let graph = build(code, EntryPoint::Start, &types, &world, &world, &options).unwrap();
    let checks = |op: &Op| matches!(op, Op::Guard(..) | Op::RequireMutable(..));
    assert_eq!(in_loop_count(&graph, checks), 2, "{graph}");
}

#[test]
fn an_element_at_a_fixed_index_is_read_before_a_loop_that_stores_no_element() {
    let read = |code: &mut Assembly| {
        free(code, 3, 0);
        free(code, 4, 1);
        code.abc(Opcode::VectorRef, 5, 3, 4);
    };
    let (code, head) = counting(|code| {
        read(code);
        code.abc(Opcode::Car, 6, 5, 0);
    });
    let types = [Type::FIXNUM];
    let graph = graph_of(&World::default(), &code, &types);
    let reads = |op: &Op| matches!(op, Op::LoadElement(..) | Op::RequireIndex(..));
    assert_eq!(count(&graph, reads), 2, "{graph}");
    assert_eq!(in_loop_count(&graph, reads), 0, "{graph}");
    // Where its index is checked in the loop, the element is read there.
    let world = World {
        fails_before: vec![head],
        ..World::default()
    };
    let graph = graph_of(&world, &code, &types);
    assert_eq!(in_loop_count(&graph, reads), 2, "{graph}");
    let (code, _) = counting(|code| {
        read(code);
        code.abc(Opcode::Car, 6, 5, 0)
            .abc(Opcode::VectorSet, 3, 1, 1);
    });
    let graph = graph_of(&World::default(), &code, &types);
    let loads = |op: &Op| matches!(op, Op::LoadElement(..));
    assert_eq!(in_loop_count(&graph, loads), 1, "{graph}");
}

#[test]
fn behind_a_call_lengths_are_asked_again() {
    // The callee in r2, the vector in r3.
    let (code, _) = counting(|code| {
        code.abc(Opcode::Move, 5, 2, 0)
            .call(5, 0, 0b1111)
            .abc(Opcode::VectorRef, 4, 3, 1);
    });
    let graph = graph_of(&World::default(), &code, &[Type::FIXNUM]);
    let calls = |op: &Op| matches!(op, Op::Call(..));
    assert_eq!(in_loop_count(&graph, calls), 1, "{graph}");
    let lengths = |op: &Op| matches!(op, Op::Length(_));
    assert_eq!(in_loop_count(&graph, lengths), 1, "{graph}");
    let guards = |op: &Op| matches!(op, Op::Guard(Test::Kind(_), ..));
    assert_eq!(in_loop_count(&graph, guards), 0, "{graph}");
}

#[test]
fn a_value_that_is_asked_different_things_on_different_ways_is_asked_there() {
    // (if (< i 5) (car x) (vector-ref x i)), x captured.
    let (code, _) = counting(|code| {
        let start = code.words.len();
        free(code, 3, 0);
        code.branch(Opcode::JumpNotLessImmediate, 1, 5, start + 6)
            .abc(Opcode::Car, 4, 3, 0)
            .branch(Opcode::JumpFixnum, 1, 0, start + 7)
            .abc(Opcode::VectorRef, 4, 3, 1);
    });
    let graph = graph_of(&World::default(), &code, &[Type::FIXNUM]);
    let guards = |op: &Op| matches!(op, Op::Guard(Test::Pair | Test::Kind(_), ..));
    assert_eq!(in_loop_count(&graph, guards), 2, "{graph}");
    // A question on one of several ways that nobody contradicts is asked before.
    let (code, _) = counting(|code| {
        let start = code.words.len();
        free(code, 3, 0);
        code.branch(Opcode::JumpNotLessImmediate, 1, 5, start + 4)
            .abc(Opcode::Car, 4, 3, 0);
    });
    let graph = graph_of(&World::default(), &code, &[Type::FIXNUM]);
    assert_eq!(count(&graph, guards), 1, "{graph}");
    assert_eq!(in_loop_count(&graph, guards), 0, "{graph}");
}

#[test]
fn what_was_computed_before_the_loop_is_not_computed_again() {
    let mut code = Assembly::default();
    free(&mut code, 3, 0);
    code.abc(Opcode::VectorLength, 0, 3, 0).immediate(1, 0);
    let head = code.words.len();
    code.branch(Opcode::JumpNotLess, 1, 0, head + 6);
    free(&mut code, 4, 0);
    code.abc(Opcode::VectorRef, 5, 4, 1)
        .abc(Opcode::AddImmediate, 1, 1, 1)
        .go_back(head)
        .abc(Opcode::Return, 0, 0, 0);
    let code = code.finish(0x1005, "all", 0);
    let graph = graph_of(&World::default(), &code, &[]);
    let questions = |op: &Op| matches!(op, Op::Guard(..) | Op::Length(_) | Op::Load { .. });
    assert_eq!(count(&graph, questions), 3, "{graph}");
    assert_eq!(in_loop_count(&graph, questions), 0, "{graph}");
}

#[test]
fn an_inner_loop_asks_what_is_known_before_the_outer_one() {
    // The length is asked before both loops, in the outer and in the inner one.
    let mut code = Assembly::default();
    free(&mut code, 3, 0);
    code.abc(Opcode::VectorLength, 0, 3, 0).immediate(1, 0);
    let outer = code.words.len();
    code.branch(Opcode::JumpNotLess, 1, 0, outer + 13);
    free(&mut code, 4, 0);
    code.abc(Opcode::VectorRef, 5, 4, 1).immediate(2, 0);
    let inner = code.words.len();
    code.branch(Opcode::JumpNotLess, 2, 0, inner + 6);
    free(&mut code, 4, 0);
    code.abc(Opcode::VectorRef, 5, 4, 2)
        .abc(Opcode::AddImmediate, 2, 2, 1)
        .go_back(inner)
        .abc(Opcode::AddImmediate, 1, 1, 1)
        .go_back(outer)
        .abc(Opcode::Return, 0, 0, 0);
    let code = code.finish(0x1005, "nested", 0);
    let graph = graph_of(&World::default(), &code, &[]);
    let questions = |op: &Op| matches!(op, Op::Guard(..) | Op::Length(_) | Op::Load { .. });
    assert_eq!(count(&graph, questions), 3, "{graph}");
    assert_eq!(in_loop_count(&graph, questions), 0, "{graph}");
}

#[test]
fn a_loop_loads_anew_what_it_waits_for() {
    // Until the car of the captured pair is true, counting its turns or not.
    let loads = |counts: bool| {
        let mut code = Assembly::default();
        code.immediate(1, 0);
        let head = code.words.len();
        free(&mut code, 3, 0);
        code.abc(Opcode::Car, 4, 3, 0);
        let words_of_branch = 2;
        let end = code.words.len() + words_of_branch + usize::from(counts) + 1;
        code.branch(Opcode::JumpTrue, 4, 0, end);
        if counts {
            code.abc(Opcode::AddImmediate, 1, 1, 1);
        }
        code.go_back(head).abc(Opcode::Return, 1, 0, 0);
        let code = code.finish(0x1007, "waiting", 5);
        let graph = graph_of(&World::default(), &code, &[Type::FIXNUM]);
        let is_load = |op: &Op| {
            let memory = Memory::Car;
            matches!(op, Op::Load { memory: of, .. } if *of == memory)
        };
        in_loop_count(&graph, is_load)
    };
    assert_eq!(loads(false), 1);
    assert_eq!(loads(true), 1);
}
