//! Boxes of assigned variables that are not made.
//!
//! As long as nobody but exits needs a box, its content is a value like others: a parameter of the
//! head of a loop that assigns it, unboxed if it is a flonum. Each state names, in place of the
//! box, a new one with its content then. In place of objects that were made of the box (closures
//! above all) it names copies that are made of that one; so do the states of the frames around.
//! Exits make those ([`crate::sink`]), and no state but theirs may name them.
//!
//! At a call that may look at it, a box that only registers of the calling procedure name is made there
//! and stays a box. In other cases it has to be made from the beginning, which the builder does not
//! know when it meets `make-box`. It takes every box for one that is not, looks at the finished graph,
//! and builds again with those made that something else needs ([`Fixpoint::real_boxes`]).

use std::collections::BTreeMap;

use canny_tables::kinds::Kind;

use super::environment::Arrival;
use super::{Activation, Builder, Fixpoint, LoopKey};
use crate::code_map::{FastMap, FastSet};
use crate::graph::{BlockId, FrameId, Graph, NodeId, Op, State, StateId};
use crate::types::Type;

/// Where the numbers of boxes begin, above those of registers.
const BOX_REGISTERS: usize = 1 << 16;
/// How deep a box may be inside of objects that states name.
const DEPTH_MAX: usize = 4;

impl Fixpoint {
    /// Learns which boxes have to be made, now that it is known who needs them. Whether there are any.
    pub(super) fn learn_real_boxes(
        &mut self,
        graph: &Graph,
        replaced: &FastMap<NodeId, LoopKey>,
        copied: &FastMap<NodeId, LoopKey>,
    ) -> bool {
        if replaced.is_empty() {
            return false;
        }
        let nodes = graph.blocks.iter().flat_map(|block| &block.nodes);
        let before = self.real_boxes.len();
        for id in nodes {
            let key = match copied.get(id) {
                Some(_) if graph.is_sunk(*id) => None,
                Some(key) => Some(key),
                None => replaced.get(id),
            };
            self.real_boxes.extend(key.cloned());
        }
        self.real_boxes.len() > before
    }
}

impl Builder<'_> {
    /// `make-box`.
    pub(super) fn make_box(&mut self, activation: &Activation, value: NodeId) -> NodeId {
        let key = (activation.path.clone(), activation.code.word, activation.pc);
        let is_replaced = self.options.replaces_boxes
            && self.options.sinks_objects
            && self.options.number_values
            && !self.fixpoint.is_conservative
            && !self.fixpoint.real_boxes.contains(&key);
        if !is_replaced {
            let value = self.tagged(value);
            return self.allocate(Kind::Box, vec![value], Type::BOX);
        }
        let object = self.push(Op::Allocate(Kind::Box, vec![value]), Type::BOX);
        let number = self.fixpoint.box_numbers.len();
        self.fixpoint
            .box_numbers
            .entry(key.clone())
            .or_insert(number);
        self.replaced_boxes.insert(object, key);
        self.numbering.boxes.insert(object, value);
        object
    }

    /// Returns the content of a box that is not made.
    pub(super) fn content_of(&mut self, object: NodeId) -> Option<NodeId> {
        let object = self.graph.unchecked(object);
        let content = self.numbering.boxes.get(&object).copied();
        if content.is_none() {
            self.make_after_all(object);
        }
        content
    }

    /// Sets what is in a box, if it is not made.
    pub(super) fn set_content(&mut self, object: NodeId, value: NodeId) -> bool {
        let object = self.graph.unchecked(object);
        match self.numbering.boxes.get_mut(&object) {
            Some(content) => {
                *content = value;
                true
            }
            None => {
                self.make_after_all(object);
                false
            }
        }
    }

    /// Makes boxes, and objects that contain them, that registers of the procedure at hand need
    /// behind the instruction at hand, which lets others look at them. Returns the new node of each
    /// replaced one. Where a frame around names one, nothing is made, and it will be from the
    /// beginning.
    pub(super) fn make_boxes(&mut self, activation: &mut Activation) -> FastMap<NodeId, NodeId> {
        let mut made = FastMap::default();
        if self.numbering.boxes.is_empty()
            || self.block.is_none()
            || self.current_frame(activation.frame) != activation.frame
        {
            return made;
        }
        let live = activation
            .code
            .liveness
            .live_before(&activation.code.instructions, activation.pc);
        for register in live.iter() {
            if let Some(value) = activation.environment.get(register) {
                let new = self.make_inside(value, 0, &mut made);
                if new != value {
                    activation.environment.replace(value, new);
                }
            }
        }
        if !made.is_empty() {
            activation.state = None;
            self.numbering.copies.clear();
        }
        made
    }

    /// The value, or what takes its place once all boxes in it are made.
    fn make_inside(
        &mut self,
        node: NodeId,
        depth: usize,
        made: &mut FastMap<NodeId, NodeId>,
    ) -> NodeId {
        let root = self.graph.unchecked(node);
        if let Some(new) = made.get(&root) {
            return *new;
        }
        let op = self.graph.node(root).op.clone();
        if !matches!(op, Op::Cons(..) | Op::Allocate(..)) {
            return node;
        }
        if depth >= DEPTH_MAX {
            self.make_all_in(root);
            return node;
        }
        if let Some(content) = self.numbering.boxes.get(&root).copied() {
            let content = self.make_inside(content, depth + 1, made);
            let content = self.tagged(content);
            let new = self.allocate(Kind::Box, vec![content], Type::BOX);
            self.numbering.boxes.remove(&root);
            made.insert(root, new);
            return new;
        }
        let mut parts = Vec::new();
        op.each_input(|part| parts.push(part));
        let new: Vec<NodeId> = parts
            .iter()
            .map(|part| self.make_inside(*part, depth + 1, made))
            .collect();
        if new == parts {
            return node;
        }
        let ty = self.ty(root);
        let new = match op {
            Op::Allocate(kind, _) => self.allocate(kind, new, ty),
            _ => self.cons(new[0], new[1]),
        };
        if let Some(code) = self.known_code.get(&root).copied() {
            self.known_code.insert(new, code);
        }
        made.insert(root, new);
        new
    }

    /// Learns that a box has to be made, since it is not known any more what is in it.
    fn make_after_all(&mut self, object: NodeId) {
        if let Some(key) = self.replaced_boxes.get(&object)
            && self.fixpoint.real_boxes.insert(key.clone())
        {
            self.fixpoint.changed = true;
        }
    }

    // Where values are lost, and loops.

    /// Anything may happen here, and values have to be loaded again.
    pub(super) fn safepoint(&mut self) {
        self.epochs += 1;
        self.numbering.safepoint(self.epochs);
    }

    /// Whether values from before a loop are at hand in all of it.
    pub(super) fn is_quiet(&self, key: &LoopKey) -> bool {
        !self.fixpoint.is_conservative && !self.fixpoint.noisy.contains(key)
    }

    /// Learns that they are not.
    pub(super) fn learn_noisy(&mut self, key: &LoopKey) {
        if self.is_quiet(key) {
            self.fixpoint.noisy.insert(key.clone());
            self.fixpoint.changed = true;
        }
    }

    /// The number of a box among the variables of a loop.
    pub(super) fn box_register(&self, object: NodeId) -> usize {
        let key = self.replaced_boxes.get(&object);
        let number = key.and_then(|key| self.fixpoint.box_numbers.get(key));
        BOX_REGISTERS + number.copied().unwrap_or(0)
    }

    /// Returns the contents of the boxes that all ways know.
    pub(super) fn join_boxes(
        &mut self,
        block: BlockId,
        arrivals: &mut [Arrival],
        arguments: &mut [Vec<NodeId>],
    ) -> BTreeMap<NodeId, NodeId> {
        let mut joined = BTreeMap::new();
        let boxes: Vec<NodeId> = arrivals[0].numbering.boxes.keys().copied().collect();
        for object in boxes {
            let values: Option<Vec<NodeId>> = arrivals
                .iter()
                .map(|arrival| arrival.numbering.boxes.get(&object).copied())
                .collect();
            if let Some(values) = values {
                let content = self.join_values(block, &values, arrivals, arguments);
                joined.insert(object, content);
            }
        }
        joined
    }

    // States.

    /// The state with boxes as they are now.
    pub(super) fn with_contents(&mut self, mut state: State) -> State {
        if !self.replaced_boxes.is_empty() && self.block.is_some() {
            state.frame = self.current_frame(state.frame);
            for (_, node) in &mut state.registers {
                *node = self.current(*node, 0);
            }
        }
        state
    }

    fn current_frame(&mut self, id: FrameId) -> FrameId {
        let mut frame = self.graph.frame(id).clone();
        let (closure, caller) = (frame.closure, frame.caller);
        frame.closure = self.current(closure, 0);
        frame.caller = caller.map(|state| self.current_state(state));
        if frame.closure == closure && frame.caller == caller {
            return id;
        }
        self.graph.add_frame(frame)
    }

    fn current_state(&mut self, id: StateId) -> StateId {
        let before = self.graph.state(id).clone();
        let after = self.with_contents(before.clone());
        if after.frame == before.frame && after.registers == before.registers {
            return id;
        }
        self.graph.add_state(after)
    }

    /// Learns that all boxes in a new object have to be made.
    fn make_all_in(&mut self, object: NodeId) {
        let mut seen = FastSet::from_iter([object]);
        let mut pending = vec![object];
        while let Some(id) = pending.pop() {
            self.make_after_all(id);
            let op = &self.graph.node(id).op;
            if matches!(op, Op::Cons(..) | Op::Allocate(..)) {
                op.each_input(|part| {
                    let part = self.graph.unchecked(part);
                    if seen.insert(part) {
                        pending.push(part);
                    }
                });
            }
            let content = self.numbering.boxes.get(&id).copied();
            let content = content.map(|content| self.graph.unchecked(content));
            pending.extend(content.filter(|content| seen.insert(*content)));
        }
    }

    /// The value, or a new object in its place with what is in boxes now.
    fn current(&mut self, node: NodeId, depth: usize) -> NodeId {
        let root = self.graph.unchecked(node);
        let op = self.graph.node(root).op.clone();
        let mut parts = Vec::new();
        let mut is_same = true;
        if !matches!(op, Op::Cons(..) | Op::Allocate(..)) {
            return node;
        }
        if depth >= DEPTH_MAX {
            self.make_all_in(root);
            return node;
        }
        if self.replaced_boxes.contains_key(&root) {
            let Some(content) = self.numbering.boxes.get(&root).copied() else {
                self.make_after_all(root);
                return node;
            };
            parts.push(self.current(content, depth + 1));
            is_same = false;
        } else {
            let mut before = Vec::new();
            op.each_input(|part| before.push(part));
            for part in before {
                let now = self.current(part, depth + 1);
                is_same &= now == part;
                parts.push(now);
            }
        }
        if is_same {
            return node;
        }
        let key = (root, parts);
        if let Some(copy) = self.numbering.copies.get(&key) {
            return *copy;
        }
        let mut new = op;
        let mut rest = key.1.iter().copied();
        new.map_inputs(|part| rest.next().unwrap_or(part));
        let ty = self.ty(root);
        let copy = self.push(new, ty);
        // A user of the copy needs the box.
        if let Some(made_by) = self.replaced_boxes.get(&root).cloned() {
            self.copied_boxes.insert(copy, made_by);
        }
        self.numbering.copies.insert(key, copy);
        copy
    }
}
