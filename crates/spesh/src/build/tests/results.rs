//! Values of calls that are asked for right behind the call.

use super::*;

/// `(define (f x) (let* ((a (f (+ x 1))) (b (f (+ x 2)))) last))`, with a in r1, b in r2 and x in r0.
fn two_calls(last: impl Fn(&mut Assembly)) -> Arc<CodeSnapshot> {
    let mut code = Assembly::default();
    code.abc(Opcode::SelfRef, 1, 0, 0)
        .abc(Opcode::AddImmediate, 3, 0, 1)
        .call(1, 1, 0b1)
        .abc(Opcode::SelfRef, 2, 0, 0)
        .abc(Opcode::AddImmediate, 4, 0, 2)
        .call(2, 1, 0b11);
    last(&mut code);
    code.abc(Opcode::Return, 0, 0, 0);
    code.finish(0x1005, "f", 1)
}

fn graph_of_calls(
    world: &mut World,
    code: &Arc<CodeSnapshot>,
    asks_early: bool,
    types: &[Type],
) -> Graph {
    world.codes.insert(code.word, code.clone());
    let options = Options {
        inline: false,
        asks_early,
        ..Options::default()
    };
    let entry = EntryPoint::Start;
    let graph = build(code.clone(), entry, types, world, world, &options).unwrap();
    verify(&graph).unwrap_or_else(|problem| panic!("{problem}\n{graph}"));
    graph
}

/// Calls with a question for a fixnum right behind them.
fn asked(graph: &Graph) -> usize {
    let is_asked = |pair: &[NodeId]| {
        matches!(graph.node(pair[1]).op, Op::Guard(Test::Fixnum, x, _) if x == pair[0])
            && matches!(graph.node(pair[0]).op, Op::Call(..))
    };
    let blocks = graph.blocks.iter();
    blocks
        .map(|block| block.nodes.windows(2).filter(|pair| is_asked(pair)).count())
        .sum()
}

fn guards(graph: &Graph) -> usize {
    count(graph, |op| matches!(op, Op::Guard(..)))
}

#[test]
fn questions_of_the_rest_of_the_block_are_asked_behind_the_calls() {
    let code = two_calls(|code| {
        code.abc(Opcode::Add, 0, 1, 2);
    });
    let mut world = World::default();
    let graph = graph_of_calls(&mut world, &code, true, &[Type::FIXNUM]);
    assert_eq!((asked(&graph), guards(&graph)), (2, 2), "{graph}");
    // Behind the first call the state is the one behind it.
    let pcs: Vec<usize> = graph.blocks[0]
        .nodes
        .iter()
        .filter_map(|id| match graph.node(*id).op {
            Op::Guard(_, _, state) => Some(graph.state(state).pc),
            _ => None,
        })
        .collect();
    assert_eq!(pcs, [4, 8], "{graph}");
    let graph = graph_of_calls(&mut world, &code, false, &[Type::FIXNUM]);
    assert_eq!((asked(&graph), guards(&graph)), (0, 2), "{graph}");
    // Where it failed, it is asked where it is needed.
    world.unstable.push(4);
    let graph = graph_of_calls(&mut world, &code, true, &[Type::FIXNUM]);
    assert_eq!((asked(&graph), guards(&graph)), (1, 2), "{graph}");
}

#[test]
fn values_are_asked_that_the_procedure_would_ask_as_arguments() {
    let code = two_calls(|code| {
        code.abc(Opcode::SelfRef, 3, 0, 0)
            .abc(Opcode::Move, 5, 1, 0)
            .abc(Opcode::TailCall, 3, 1, 0);
    });
    let mut world = World::default();
    let graph = graph_of_calls(&mut world, &code, true, &[Type::FIXNUM]);
    assert_eq!(guards(&graph), 0, "{graph}");
    world.results.insert(2, Type::FIXNUM);
    world.results.insert(6, Type::FIXNUM);
    let graph = graph_of_calls(&mut world, &code, true, &[Type::FIXNUM]);
    assert_eq!((asked(&graph), guards(&graph)), (1, 1), "{graph}");
    // Of a procedure for any arguments nobody asks.
    let graph = graph_of_calls(&mut world, &code, true, &[]);
    assert_eq!(asked(&graph), 0, "{graph}");
}
