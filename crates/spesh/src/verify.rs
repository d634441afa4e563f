//! Checks a graph, so that a mistake of the builder or of a pass shows before it becomes machine
//! code.
//!
//! Debug builds check after building and passes, release builds with `CANNY_SPESH_VERIFY`. The
//! checks: edges match the parameters of their blocks, operands have the representation that the
//! operation's row demands, and a value is available at each use, on every path. After a call or a
//! runtime instruction a value counts as available only if it has a slot.

use std::collections::HashSet;

use crate::graph::{
    BlockId, Callee, Graph, NodeId, Op, Representation, SlotContent, StateId, Terminator, Wanted,
};
use crate::passes::reverse_postorder;

/// Called for a use: the value, the values at hand there, and the user.
type Visitor<'a> = dyn FnMut(NodeId, &HashSet<NodeId>, &str) -> Result<(), String> + 'a;

/// Checks that edges fit their blocks, that operands have the representation that the operation needs,
/// and that every value is at hand where it is used: computed on every path, and after a call or
/// runtime instruction to be found in a slot.
pub fn verify(graph: &Graph) -> Result<(), String> {
    let order = reverse_postorder(graph);
    let mut available: Vec<Option<HashSet<NodeId>>> = vec![None; graph.blocks.len()];
    available[0] = Some(HashSet::new());
    let mut changed = true;
    while changed {
        changed = false;
        for block in &order {
            let Some(entry) = available[block.index()].clone() else {
                continue;
            };
            let end = walk(graph, *block, entry, &mut |_, _, _| Ok(()))?;
            for edge in graph.blocks[block.index()].terminator.edges() {
                let mut set = end.clone();
                set.extend(&graph.blocks[edge.target.index()].parameters);
                let target = &mut available[edge.target.index()];
                let new = match target {
                    Some(old) => {
                        // Parameters of the target are defined anew on every way.
                        let mut both: HashSet<NodeId> = old.intersection(&set).copied().collect();
                        both.extend(&graph.blocks[edge.target.index()].parameters);
                        both
                    }
                    None => set,
                };
                if target.as_ref() != Some(&new) {
                    *target = Some(new);
                    changed = true;
                }
            }
        }
    }
    for block in &order {
        check_edges(graph, *block)?;
        let entry = available[block.index()].clone().unwrap_or_default();
        walk(graph, *block, entry, &mut |id, set, user| {
            // A guard's value is its operand: one stands for the other.
            let root = root(graph, id);
            if is_constant(graph, root) || set.contains(&root) {
                return Ok(());
            }
            Err(format!(
                "n{} is used by {user} in b{} but not at hand",
                id.0, block.0
            ))
        })?;
    }
    Ok(())
}

fn is_constant(graph: &Graph, id: NodeId) -> bool {
    graph.node(id).op.is_constant()
}

/// The value that a node is, guards and refinements left out.
fn root(graph: &Graph, mut id: NodeId) -> NodeId {
    while let Op::Refine(inner) | Op::Guard(_, inner, _) = graph.node(id).op {
        id = inner;
    }
    id
}

/// Follows a block and calls `used` for each use with the values at hand there. Returns the values
/// at hand at the end.
fn walk(
    graph: &Graph,
    block: BlockId,
    mut set: HashSet<NodeId>,
    used: &mut Visitor,
) -> Result<HashSet<NodeId>, String> {
    let content = &graph.blocks[block.index()];
    let mut before = None;
    for id in &content.nodes {
        let node = graph.node(*id);
        let name = node.op.to_string();
        if let Op::FloatResult(call, _) = node.op
            && (before != Some(call) || !matches!(graph.node(call).op, Op::Call(..)))
        {
            return Err(format!("{name} stands behind another node than its call"));
        }
        before = Some(*id);
        let mut inputs = Vec::new();
        node.op.each_input(|input| inputs.push(input));
        for input in inputs {
            used(input, &set, &name)?;
        }
        check_representations(graph, *id).map_err(|what| format!("{name}: {what}"))?;
        if let Some(state) = node.op.state() {
            use_state(graph, state, &set, &name, used)?;
            if node.op.is_safepoint() {
                after_safepoint(graph, state, matches!(node.op, Op::Runtime(_)), &mut set);
            }
        }
        set.insert(root(graph, *id));
    }
    let name = graph.end_text(block);
    let mut inputs = Vec::new();
    let terminator = &content.terminator;
    terminator.each_own_input(|input| inputs.push(input));
    for input in inputs {
        used(input, &set, &name)?;
    }
    if let Some(state) = terminator.state() {
        use_state(graph, state, &set, &name, used)?;
        if terminator.is_safepoint() {
            after_safepoint(graph, state, true, &mut set);
        }
    }
    // Edges pass on what is at hand after what the end itself does.
    for input in terminator.edges().flat_map(|edge| &edge.arguments) {
        used(*input, &set, &name)?;
    }
    Ok(set)
}

fn use_state(
    graph: &Graph,
    state: StateId,
    set: &HashSet<NodeId>,
    name: &str,
    used: &mut Visitor,
) -> Result<(), String> {
    for (slot, content) in graph.slots(state) {
        if let SlotContent::Node(id) = content {
            used(id, set, &format!("slot {slot} of the state of {name}"))?;
        }
    }
    Ok(())
}

fn after_safepoint(graph: &Graph, state: StateId, keeps_floats: bool, set: &mut HashSet<NodeId>) {
    let in_slots: HashSet<NodeId> = graph
        .slots(state)
        .into_iter()
        .filter_map(|(_, content)| match content {
            SlotContent::Node(id) => Some(root(graph, id)),
            SlotContent::Address(_) => None,
        })
        .collect();
    set.retain(|id| {
        in_slots.contains(id) || keeps_floats && graph.representation(*id) == Representation::Float
    });
}

fn check_edges(graph: &Graph, block: BlockId) -> Result<(), String> {
    let terminator = &graph.blocks[block.index()].terminator;
    if *terminator == Terminator::None {
        return Err(format!("b{} has no end", block.0));
    }
    for edge in terminator.edges() {
        let parameters = &graph.blocks[edge.target.index()].parameters;
        if parameters.len() != edge.arguments.len() {
            return Err(format!("b{} passes a wrong number of arguments", block.0));
        }
        for (parameter, argument) in parameters.iter().zip(&edge.arguments) {
            if graph.representation(*parameter) != graph.representation(*argument) {
                return Err(format!(
                    "b{} passes n{} in another representation",
                    block.0, argument.0
                ));
            }
        }
    }
    Ok(())
}

fn check_representations(graph: &Graph, id: NodeId) -> Result<(), String> {
    // A sunk object is made by exits, which box its parts on the way.
    if graph.is_sunk(id) {
        return Ok(());
    }
    let op = &graph.node(id).op;
    let is_unknown_call = matches!(
        op,
        Op::Call(Callee::Unknown(_) | Callee::Capture { .. }, ..)
    );
    let mut result = Ok(());
    op.each_operand(|input, wanted| {
        let wanted = match wanted {
            Wanted::Held(representation) => representation,
            // Only who is known takes doubles.
            Wanted::Any if is_unknown_call => Representation::Tagged,
            Wanted::Any => return,
        };
        if graph.representation(input) != wanted {
            result = Err(format!("n{} is not held as it should be", input.0));
        }
    });
    result
}
