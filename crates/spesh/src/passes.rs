//! Cleaning passes over a finished graph: unreachable blocks, redundant parameters, jumps to jumps,
//! unused nodes.
//!
//! Passes run after the builder and before lowering, and change the graph in place. After `settle`
//! blocks are in reverse postorder, so that an edge to an earlier block is a back edge of a loop;
//! hoisting and sinking rely on that. `clean` comes last: it removes the states that hoisting
//! needs. Whether a node is unused follows from its row in `graph::ops`; states count as uses.

use crate::graph::{BlockId, Graph, NodeId, Terminator};

/// Removes blocks that control cannot reach, and parameters that always get the same value. Afterwards
/// blocks are in reverse postorder, and an edge to a block before is one back to a loop.
pub fn settle(graph: &mut Graph) {
    remove_unreachable(graph);
    remove_parameters(graph);
}

/// Removes what a settled graph does not need: blocks that only jump, nodes whose value nobody wants,
/// and the states in which loops are entered where no check leaves in them. Nothing can be moved before
/// a loop afterwards.
pub fn clean(graph: &mut Graph) {
    thread_jumps(graph);
    remove_unreachable(graph);
    remove_unused(graph);
}

/// Blocks that control reaches, in an order in which every block but a loop's head follows those before it.
pub fn reverse_postorder(graph: &Graph) -> Vec<BlockId> {
    let mut visited = vec![false; graph.blocks.len()];
    let mut order = Vec::new();
    // (block, next edge to look at)
    let mut stack = vec![(BlockId(0), 0)];
    visited[0] = true;
    while let Some((block, edge)) = stack.last_mut() {
        let next = graph.blocks[block.index()].terminator.edges().nth(*edge);
        *edge += 1;
        match next {
            Some(edge) => {
                let target = edge.target;
                if !std::mem::replace(&mut visited[target.index()], true) {
                    stack.push((target, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

/// Edges to blocks that do nothing but jump go to where those jump, if no parameters are involved.
fn thread_jumps(graph: &mut Graph) {
    let shortcut: Vec<Option<BlockId>> = graph
        .blocks
        .iter()
        .map(|block| match &block.terminator {
            Terminator::Jump(edge)
                if block.nodes.is_empty()
                    && block.parameters.is_empty()
                    && edge.arguments.is_empty()
                    && !block.is_loop =>
            {
                Some(edge.target)
            }
            _ => None,
        })
        .collect();
    for block in &mut graph.blocks {
        for edge in block.terminator.edges_mut() {
            let mut steps = 0;
            while let Some(further) = shortcut[edge.target.index()]
                && steps < 64
            {
                edge.target = further;
                steps += 1;
            }
        }
    }
}

fn remove_unreachable(graph: &mut Graph) {
    let mut new_number = vec![None; graph.blocks.len()];
    let order = reverse_postorder(graph);
    for (number, block) in order.iter().enumerate() {
        new_number[block.index()] = Some(BlockId(number as u32));
    }
    let mut old: Vec<_> = std::mem::take(&mut graph.blocks)
        .into_iter()
        .map(Some)
        .collect();
    for block in order {
        let Some(mut block) = old[block.index()].take() else {
            continue;
        };
        for edge in block.terminator.edges_mut() {
            if let Some(number) = new_number[edge.target.index()] {
                edge.target = number;
            }
        }
        graph.blocks.push(block);
    }
}

/// Removes parameters that always get the same value.
fn remove_parameters(graph: &mut Graph) {
    loop {
        let mut incoming: Vec<Vec<(usize, usize)>> = vec![Vec::new(); graph.blocks.len()];
        for (index, block) in graph.blocks.iter().enumerate() {
            for (number, edge) in block.terminator.edges().enumerate() {
                incoming[edge.target.index()].push((index, number));
            }
        }
        let mut replacement: Vec<Option<NodeId>> = vec![None; graph.nodes.len()];
        let mut found = false;
        for (index, block) in graph.blocks.iter().enumerate() {
            for (position, parameter) in block.parameters.iter().enumerate() {
                let arguments = incoming[index].iter().filter_map(|(from, number)| {
                    let edge = graph.blocks[*from].terminator.edges().nth(*number)?;
                    edge.arguments.get(position).copied()
                });
                if let Some(value) = single_value(*parameter, arguments)
                    && graph.representation(value) == graph.representation(*parameter)
                {
                    replacement[parameter.index()] = Some(value);
                    found = true;
                }
            }
        }
        if !found {
            return;
        }
        // A parameter may be replaced by another one that is replaced too.
        for index in 0..replacement.len() {
            let Some(mut value) = replacement[index] else {
                continue;
            };
            let mut steps = 0;
            while let Some(further) = replacement[value.index()]
                && steps < replacement.len()
            {
                value = further;
                steps += 1;
            }
            replacement[index] = Some(value);
        }
        drop_parameters(graph, &replacement);
    }
}

/// The value that all arguments are, those left out that are the parameter itself.
fn single_value(parameter: NodeId, arguments: impl Iterator<Item = NodeId>) -> Option<NodeId> {
    let mut single = None;
    for argument in arguments.filter(|argument| *argument != parameter) {
        if single.is_some_and(|known| known != argument) {
            return None;
        }
        single = Some(argument);
    }
    single
}

fn drop_parameters(graph: &mut Graph, replacement: &[Option<NodeId>]) {
    let dropped: Vec<Vec<usize>> = graph
        .blocks
        .iter()
        .map(|block| {
            (0..block.parameters.len())
                .filter(|position| replacement[block.parameters[*position].index()].is_some())
                .collect()
        })
        .collect();
    for block in &mut graph.blocks {
        block
            .parameters
            .retain(|parameter| replacement[parameter.index()].is_none());
        for edge in block.terminator.edges_mut() {
            for position in dropped[edge.target.index()].iter().rev() {
                edge.arguments.remove(*position);
            }
        }
    }
    replace_nodes(graph, |id| replacement[id.index()].unwrap_or(id));
}

/// Replaces nodes wherever they are used, states and frames included.
pub fn replace_nodes(graph: &mut Graph, map: impl Fn(NodeId) -> NodeId) {
    for node in &mut graph.nodes {
        node.op.map_inputs(&map);
    }
    for block in &mut graph.blocks {
        block.terminator.map_inputs(&map);
    }
    for state in &mut graph.states {
        for (_, node) in &mut state.registers {
            *node = map(*node);
        }
    }
    for frame in &mut graph.frames {
        frame.closure = map(frame.closure);
    }
}

/// Removes nodes without effect whose value is not used, by any state either.
fn remove_unused(graph: &mut Graph) {
    let mut used = vec![false; graph.nodes.len()];
    let mut states = vec![false; graph.states.len()];
    let mut pending: Vec<NodeId> = Vec::new();
    let mut wanted = Vec::new();
    for block in &graph.blocks {
        block.terminator.each_input(|id| pending.push(id));
        wanted.extend(block.terminator.state());
        for id in &block.nodes {
            if !graph.node(*id).op.is_removable() {
                pending.push(*id);
            }
        }
    }
    loop {
        while let Some(state) = wanted.pop() {
            if std::mem::replace(&mut states[state.index()], true) {
                continue;
            }
            let state = graph.state(state);
            pending.extend(state.registers.iter().map(|(_, node)| *node));
            let frame = graph.frame(state.frame);
            pending.push(frame.closure);
            wanted.extend(frame.caller);
        }
        let Some(id) = pending.pop() else { break };
        if std::mem::replace(&mut used[id.index()], true) {
            continue;
        }
        let op = &graph.node(id).op;
        op.each_input(|input| pending.push(input));
        wanted.extend(op.state());
    }
    for block in &mut graph.blocks {
        block.nodes.retain(|id| used[id.index()]);
        block.entry_state = block.entry_state.filter(|state| states[state.index()]);
    }
}
