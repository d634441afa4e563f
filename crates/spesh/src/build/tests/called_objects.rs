//! Calls where objects other than procedures may be called.

use canny_tables::kinds::Kind;
use canny_tables::opcodes::{Opcode, encode_wide};

use super::{Assembly, World, count, graph_of};
use crate::graph::{Op, Terminator, Test};
use crate::types::Type;

/// `(cond ((procedure? f) f) ((vector? f) r0) (else f))` with f a captured variable.
#[test]
fn what_was_never_a_procedure_is_asked_once_for_what_it_is() {
    let mut code = Assembly::default();
    code.words.push(encode_wide(Opcode::Free, 1, 0));
    code.branch(Opcode::JumpNotKind, 1, Kind::Closure as i16, 4)
        .abc(Opcode::Return, 1, 0, 0)
        .branch(Opcode::JumpNotKind, 1, Kind::Vector as i16, 7)
        .abc(Opcode::Return, 0, 0, 0)
        .abc(Opcode::Return, 1, 0, 0);
    let code = code.finish(0x1005, "called", 1);
    let asked = |world: &World| {
        let graph = graph_of(world, &code, &[]);
        let branches =
            |block: &&crate::graph::Block| matches!(block.terminator, Terminator::Branch { .. });
        let guards = count(&graph, |op| {
            matches!(op, Op::Guard(Test::Kind(Kind::Vector), ..))
        });
        (guards, graph.blocks.iter().filter(branches).count())
    };
    let mut world = World::default();
    world.results.insert(0, Type::VECTOR);
    assert_eq!(asked(&world), (1, 0));

    // The guard was wrong too often.
    world.unstable.push(1);
    assert_eq!(asked(&world), (0, 2));
    // A procedure, or both.
    for likely in [Type::CLOSURE, Type::CLOSURE.or(Type::VECTOR)] {
        let mut world = World::default();
        world.results.insert(0, likely);
        assert_eq!(asked(&world), (0, 2));
    }
}
