//! Types of the values of calls. A procedure's value is tested right behind the call, where
//! compiled code that returns knows the answer; a primitive's type is in its row.

use canny_compiler::instruction::Instruction;
use canny_tables::primitives::{Flags, Primitive};

use crate::graph::{
    BlockId, Callee, EntryPoint, Graph, Node, NodeId, Op, Place, State, StateId, Terminator, Test,
};
use crate::passes::replace_nodes;
use crate::snapshot::Profile;
use crate::types::Type;

/// The state behind a call that gave a value; none if nobody wants the value, or guesses there failed.
pub(crate) fn state_behind(
    graph: &mut Graph,
    profile: &dyn Profile,
    call: StateId,
    value: NodeId,
) -> Option<StateId> {
    let State {
        frame,
        pc,
        mut registers,
    } = graph.state(call).clone();
    let code = graph.code_of(frame).clone();
    let instruction = Instruction::decode(&code.instructions, pc).ok()?;
    let (base, pc) = (instruction.a(), instruction.next_pc());
    let live = code.liveness.live_before(&code.instructions, pc);
    if !live.contains(base) || profile.is_unstable(code.word, pc) {
        return None;
    }
    registers.push((base as u32, value));
    Some(graph.add_state(State {
        frame,
        pc,
        registers,
    }))
}

/// Asks whether the value of a call is a fixnum right behind it, where the rest of the block asks that,
/// or passes the value to the procedure itself, which would.
pub fn ask_early(graph: &mut Graph, profile: &dyn Profile) {
    let mut replaced: Vec<Option<NodeId>> = vec![None; graph.nodes.len()];
    for block in 0..graph.blocks.len() {
        let mut at = 0;
        while let Some(&call) = graph.blocks[block].nodes.get(at) {
            at += 1;
            let Op::Call(_, _, state) = graph.node(call).op else {
                continue;
            };
            if !is_asked(graph, profile, (BlockId(block as u32), at), call, state) {
                continue;
            }
            let Some(behind) = state_behind(graph, profile, state, call) else {
                continue;
            };
            let asked = NodeId(graph.nodes.len() as u32);
            let place = graph.places.get(call.index()).copied().unwrap_or_default();
            graph.places.resize(asked.index(), Place::default());
            graph.places.push(place);
            graph.nodes.push(Node {
                op: Op::Guard(Test::Fixnum, call, behind),
                ty: Type::FIXNUM,
            });
            replaced.push(None);
            let rest = graph.blocks[block].nodes.split_off(at);
            graph.blocks[block].nodes.push(asked);
            at += 1;
            for id in rest {
                let asks_again = matches!(graph.node(id).op, Op::Guard(Test::Fixnum, x, _)
                    if graph.unchecked(x) == call);
                if asks_again {
                    replaced[id.index()] = Some(asked);
                    continue;
                }
                let better = |id| if id == call { asked } else { id };
                graph.nodes[id.index()].op.map_inputs(better);
                graph.blocks[block].nodes.push(id);
            }
            let better = |id| if id == call { asked } else { id };
            graph.blocks[block].terminator.map_inputs(better);
        }
    }
    if replaced.iter().any(Option::is_some) {
        replace_nodes(graph, |id| replaced[id.index()].unwrap_or(id));
    }
}

/// Whether what stands behind a call in its block asks whether its value is a fixnum.
fn is_asked(
    graph: &Graph,
    profile: &dyn Profile,
    (block, from): (BlockId, usize),
    call: NodeId,
    state: StateId,
) -> bool {
    let state = graph.state(state);
    let code = graph.code_of(state.frame).word;
    let passes = |callee: &Callee, arguments: &[NodeId]| {
        matches!(callee, Callee::Known { code, .. } if *code == graph.codes[0].word.0)
            && graph.entry == EntryPoint::Start
            && graph.required.iter().any(|(register, ty)| {
                let argument = arguments.get(*register as usize);
                *ty == Type::FIXNUM && argument.is_some_and(|id| graph.unchecked(*id) == call)
            })
            && profile.result_type(code, state.pc) == Some(Type::FIXNUM)
    };
    let block = &graph.blocks[block.index()];
    for id in &block.nodes[from..] {
        match &graph.node(*id).op {
            Op::FloatResult(x, _) if *x == call => return false,
            Op::Guard(test, x, _) if graph.unchecked(*x) == call => return *test == Test::Fixnum,
            Op::Call(callee, arguments, _) if passes(callee, arguments) => return true,
            _ => {}
        }
    }
    match &block.terminator {
        Terminator::TailCall(callee, arguments, _) => passes(callee, arguments),
        _ => false,
    }
}

/// The type that the row of a primitive declares for its value. Only rows of pure primitives count: a
/// test calls those with arguments of all kinds and compares (`crates/cli/tests/result_types.rs`).
pub fn result_type(row: &Primitive) -> Type {
    let result = row.signature.rsplit("-> ").next().unwrap_or("");
    if !row.flags.has(Flags::PURE) {
        return Type::ANY;
    }
    match result {
        "boolean" => Type::BOOLEAN,
        "string" => Type::STRING,
        "symbol" => Type::SYMBOL,
        "char" => Type::CHARACTER,
        "vector" => Type::VECTOR,
        "bytevector" => Type::BYTEVECTOR,
        "pair" => Type::PAIR,
        "pair-or-false" => Type::PAIR.or(Type::FALSE),
        "list" => Type::PAIR.or(Type::NIL),
        "index" => Type::FIXNUM,
        "integer" | "number" | "real" => Type::NUMBER,
        _ => Type::ANY,
    }
}
