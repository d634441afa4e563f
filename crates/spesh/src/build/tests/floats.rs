//! Flonums that are passed and returned as doubles.

use super::*;

/// `(define (f x) (+ (f (+ x 1)) x))` with x in r0.
fn recursive(behind: impl Fn(&mut Assembly)) -> Arc<CodeSnapshot> {
    let mut code = Assembly::default();
    code.abc(Opcode::SelfRef, 1, 0, 0)
        .abc(Opcode::AddImmediate, 3, 0, 1)
        .call(1, 1, 0b1);
    behind(&mut code);
    code.abc(Opcode::Return, 0, 0, 0);
    code.finish(0x1005, "f", 1)
}

fn add(code: &mut Assembly) {
    code.abc(Opcode::Add, 0, 1, 0);
}

fn graph_without_copies(world: &World, code: &Arc<CodeSnapshot>, passes_floats: bool) -> Graph {
    let options = Options {
        inline: false,
        passes_floats,
        ..Options::default()
    };
    let entry = EntryPoint::Start;
    let graph = build(code.clone(), entry, &[Type::FLONUM], world, world, &options).unwrap();
    verify(&graph).unwrap_or_else(|problem| panic!("{problem}\n{graph}"));
    graph
}

/// A world in which the call at 2 gives flonums, and calls the code itself.
fn world_of(code: &Arc<CodeSnapshot>) -> World {
    let mut world = World::default();
    world.codes.insert(code.word, code.clone());
    world.results.insert(2, Type::FLONUM);
    world
}

fn conversions(graph: &Graph) -> usize {
    count(graph, |op| matches!(op, Op::Box(_) | Op::Unbox(_)))
}

fn guards(graph: &Graph) -> usize {
    count(graph, |op| matches!(op, Op::Guard(..)))
}

#[test]
fn a_recursion_on_flonums_converts_nothing() {
    let code = recursive(add);
    let graph = graph_without_copies(&world_of(&code), &code, true);
    assert_eq!(graph.required, [(0, Type::FLONUM)]);
    assert_eq!(count(&graph, |op| *op == Op::FloatSlot(0)), 1, "{graph}");
    let results = |op: &Op| matches!(op, Op::FloatResult(..));
    assert_eq!(count(&graph, results), 1, "{graph}");
    assert_eq!((conversions(&graph), guards(&graph)), (0, 0), "{graph}");
    let is_float = |id: &NodeId| graph.representation(*id) == Representation::Float;
    let passes_float = |op: &Op| match op {
        Op::Call(Callee::Known { .. }, arguments, _) => arguments.iter().all(is_float),
        _ => false,
    };
    assert_eq!(count(&graph, passes_float), 1, "{graph}");
    let ends = graph.blocks.iter().map(|block| &block.terminator);
    for end in ends {
        assert!(
            matches!(end, Terminator::Return(x) if is_float(x)),
            "{graph}"
        );
    }
    // Whoever gets something else goes on behind the call, with it in its register.
    let left = graph.nodes.iter().find_map(|node| match node.op {
        Op::FloatResult(call, state) => Some((call, graph.state(state))),
        _ => None,
    });
    let (call, state) = left.unwrap();
    assert_eq!(state.pc, 4);
    assert!(state.registers.contains(&(1, call)), "{graph}");
    assert_eq!(state.registers.len(), 2);
    // Turned off, all of it is words.
    let graph = graph_without_copies(&world_of(&code), &code, false);
    let floats = |op: &Op| matches!(op, Op::FloatSlot(_) | Op::FloatResult(..));
    assert_eq!(count(&graph, floats), 0, "{graph}");
    assert!(conversions(&graph) >= 4, "{graph}");
}

#[test]
fn results_that_were_something_else_stay_words() {
    let code = recursive(add);
    let results = |op: &Op| matches!(op, Op::FloatResult(..));
    let mut world = world_of(&code);
    world.results.insert(2, Type::FLONUM.or(Type::FIXNUM));
    let graph = graph_without_copies(&world, &code, true);
    assert_eq!(count(&graph, results), 0, "{graph}");
    let mut world = world_of(&code);
    world.unstable.push(4);
    let graph = graph_without_copies(&world, &code, true);
    assert_eq!(count(&graph, results), 0, "{graph}");
    // A value that nobody wants is not asked for.
    let code = recursive(|_| ());
    let graph = graph_without_copies(&world_of(&code), &code, true);
    assert_eq!(count(&graph, results), 0, "{graph}");
    assert_eq!(guards(&graph), 0, "{graph}");
}

#[test]
fn flonums_that_nobody_computes_with_stay_words() {
    let mut code = Assembly::default();
    code.abc(Opcode::Cons, 0, 0, 0).abc(Opcode::Return, 0, 0, 0);
    let code = code.finish(0x1005, "pair", 1);
    let graph = graph_without_copies(&world_of(&code), &code, true);
    assert_eq!(count(&graph, |op| *op == Op::Slot(0)), 1, "{graph}");
    assert_eq!(conversions(&graph), 0, "{graph}");
    let code = recursive(|code| {
        code.abc(Opcode::Cons, 0, 1, 0);
    });
    let graph = graph_without_copies(&world_of(&code), &code, true);
    let results = |op: &Op| matches!(op, Op::FloatResult(..));
    assert_eq!((count(&graph, results), guards(&graph)), (0, 1), "{graph}");
}

#[test]
fn a_result_that_only_answered_a_question_is_still_checked() {
    // Nothing names the flonum once `(if (f …) …)` is answered by its type.
    let code = recursive(|code| {
        code.branch(Opcode::JumpFalse, 1, 0, 7).immediate(0, 5);
    });
    let graph = graph_without_copies(&world_of(&code), &code, true);
    let branches =
        |block: &crate::graph::Block| matches!(block.terminator, Terminator::Branch { .. });
    assert!(!graph.blocks.iter().any(branches), "{graph}");
    assert_eq!(guards(&graph), 1, "{graph}");
}
