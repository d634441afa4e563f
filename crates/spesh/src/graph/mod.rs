//! The graph: static single assignment over blocks, with states from which the interpreter can resume.
//!
//! Blocks have parameters instead of phis. A value is *tagged* (a word of the machine) or a *float* (an
//! unboxed double); see [`Op::representation`]. Control leaves compiled code in three ways: a guard fails and
//! the interpreter resumes from a [`State`]; a call suspends the frame, whose state is then in its slots; a
//! return or tail call ends it.
//!
//! **Frames are the interpreter's.** Word `k` above fp is register `k`; an inlined procedure's frame
//! lies where the interpreter would have put it, [`Frame::base`] words above. Whenever anything but
//! this code may look (a call, an instruction left to the runtime, an exit), every live register of
//! every frame of the state is in its slot, with the closures and return addresses of inlined frames.
//! Between those points values are in machine registers and slots may be stale.
//!
//! A tagged value that is used after a call or runtime instruction and was computed before it is loaded again
//! from a slot of the state there, for a collection may have moved what it refers to; the builder sees to it
//! that every such value has a slot ([`crate::verify`] checks it). Allocation does not move anything.

mod display;
mod effects;
mod escape;
mod ops;
mod parse;
mod terminators;
mod text;

pub use effects::{Effects, Memories, Memory};
pub use escape::Escape;
pub use ops::{Op, ROWS, Row, Wanted};
pub use parse::check_text;
pub use terminators::{TERMINATORS, Terminator};

use std::sync::Arc;

use canny_tables::kinds::Kind;

use crate::code_map::FastMap;
use crate::elements::Elements;
use crate::snapshot::CodeSnapshot;
use crate::types::Type;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);
        impl $name {
            /// As an index.
            pub fn index(self) -> usize { self.0 as usize }
        }
    )* };
}

ids! {
    /// A value or effect.
    NodeId;
    /// A block.
    BlockId;
    /// A state.
    StateId;
    /// A frame, virtual or real.
    FrameId;
}

/// How a value is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Representation {
    /// A word of the machine.
    Tagged,
    /// An unboxed double.
    Float,
    /// The node has no value.
    Nothing,
}

/// An order of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `=`
    Equal,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

/// A property of one tagged value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// It is a fixnum.
    Fixnum,
    /// It is a flonum, in the word or boxed.
    Flonum,
    /// It is a pair.
    Pair,
    /// It is a character.
    Character,
    /// It is an object of a kind.
    Kind(Kind),
    /// It is this very word.
    Word(u64),
    /// It is a closure over this code; the tagged word of the code object.
    ClosureOf(u64),
    /// It is a numeric vector of these elements.
    Elements(Elements),
    /// It is a record of exactly the type with this class key.
    Class(u32),
}

impl Test {
    /// The test that exactly the values of a type pass, if there is one.
    pub fn of_type(ty: Type) -> Option<Test> {
        if let Some(class) = ty.record_class() {
            return (ty.any_record() == Type::RECORD).then_some(Test::Class(class));
        }
        Some(match ty {
            Type::FIXNUM => Test::Fixnum,
            Type::FLONUM => Test::Flonum,
            Type::PAIR => Test::Pair,
            Type::CHARACTER => Test::Character,
            _ => Test::Kind(ty.kind()?),
        })
    }
}

/// Condition that a branch or guard tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// A property of one value.
    Test(Test, NodeId),
    /// Two values are the same word.
    Same(NodeId, NodeId),
    /// Order of two fixnums.
    Fixnums(Comparison, NodeId, NodeId),
    /// Order of two floats; false if one is not a number.
    Floats(Comparison, NodeId, NodeId),
    /// Order of two characters, by code point.
    Characters(Comparison, NodeId, NodeId),
    /// A value known to be a record is of a type known to be a record type, or of one derived from it.
    RecordOf(NodeId, NodeId),
}

/// Fixnum arithmetic that may leave the fixnums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FixnumOperation {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
    /// Quotient rounded to zero; leaves for a zero divisor.
    Quotient,
    /// Remainder with the sign of the dividend; leaves for a zero divisor.
    Remainder,
    /// Remainder with the sign of the divisor; leaves for a zero divisor.
    Modulo,
    /// Bitwise and; never leaves.
    And,
    /// Bitwise or; never leaves.
    Or,
    /// Bitwise exclusive or; never leaves.
    Xor,
    /// Arithmetic shift, to the left for positive counts; leaves if bits are lost or the count is large.
    Shift,
}

/// Float arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatOperation {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
    /// Quotient.
    Divide,
}

/// Float functions of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatFunction {
    /// Magnitude.
    Absolute,
    /// Square root of a number that is not negative or is NaN; leaves for negative numbers.
    SquareRoot,
    /// Towards minus infinity.
    Floor,
    /// Towards plus infinity.
    Ceiling,
    /// Towards zero.
    Truncate,
    /// To even.
    Round,
    /// Sign changed.
    Negate,
}

/// The callee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Callee {
    /// Any object; the machine checks that it is a procedure and takes so many arguments.
    Unknown(NodeId),
    /// A closure over this code (its tagged word), which takes exactly so many arguments.
    Known {
        /// The closure.
        closure: NodeId,
        /// Tagged word of the code object.
        code: u64,
    },
    /// `call-with-current-continuation`, with a closure over known code that takes one argument.
    Capture {
        /// The machine's own closure.
        closure: NodeId,
        /// Tagged word of its code object.
        code: u64,
        /// The same of the argument's.
        receiver: u64,
        /// Whether the call is in a loop, so that its frame may be captured again.
        repeats: bool,
    },
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its operation.
    pub op: Op,
    /// The type of its value.
    pub ty: Type,
}

/// Where control goes with which arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The block.
    pub target: BlockId,
    /// One argument for each parameter of the block, of the same representation.
    pub arguments: Vec<NodeId>,
}

/// A block.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Parameters, nodes of [`Op::BlockParameter`].
    pub parameters: Vec<NodeId>,
    /// Nodes in order.
    pub nodes: Vec<NodeId>,
    /// The end.
    pub terminator: Terminator,
    /// Whether a back edge leads here.
    pub is_loop: bool,
    /// At the head of a loop: the state in which the loop is entered, for checks that are made once
    /// before it; none if they are not to be made there.
    pub entry_state: Option<StateId>,
}

/// A frame that a state describes.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Index of its code in [`Graph::codes`].
    pub code: usize,
    /// State of the calling frame at the call that was inlined, for its registers live across the call;
    /// none for the outermost frame and for one that replaced it by a tail call.
    pub caller: Option<StateId>,
    /// Words from the outermost fp to this frame's fp.
    pub base: u32,
    /// Its closure.
    pub closure: NodeId,
    /// The return address for its slot; `None` if the slot has it already (the outermost frame's).
    pub return_address: Option<u64>,
}

/// A point from which the interpreter can resume.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The innermost frame.
    pub frame: FrameId,
    /// Word index of the instruction that the interpreter executes next (for calls: of the call).
    pub pc: usize,
    /// Live registers of the innermost frame and their values, in ascending order.
    pub registers: Vec<(u32, NodeId)>,
}

/// Where the interpreter enters a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryPoint {
    /// At the start of the procedure.
    Start,
    /// At the head of a loop: the word index of the instruction there.
    Loop(usize),
}

/// A procedure being compiled.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Where it is entered.
    pub entry: EntryPoint,
    /// Types that arguments must have at the start, by register: calls with others are passed on to the
    /// next candidate or to the bytecode. Every type has a [`Test`].
    pub required: Vec<(u32, Type)>,
    /// Blocks; the first is the entry and has no parameters.
    pub blocks: Vec<Block>,
    /// Nodes.
    pub nodes: Vec<Node>,
    /// States.
    pub states: Vec<State>,
    /// Frames; the first is the procedure's own.
    pub frames: Vec<Frame>,
    /// Code of the frames.
    pub codes: Vec<Arc<CodeSnapshot>>,
    /// Numbers of the cells whose values were relied on.
    pub watched: Vec<u32>,
    /// For each node whether it is a new object that only exits make ([`crate::sink`]); empty if none is.
    pub sunk: Vec<bool>,
    /// For new objects that code makes where their nodes stand, why it does. For people.
    pub escapes: FastMap<NodeId, Escape>,
    /// For each node the instruction that it was made for; shorter if the last ones have none.
    pub places: Vec<Place>,
    /// The instruction that nodes are being made for.
    pub place: Place,
}

/// An instruction of a frame, for people: no pass asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// Index of the frame.
    pub frame: u32,
    /// Word index of the instruction in the frame's code.
    pub pc: u32,
}

impl Graph {
    /// An empty graph with its entry block and outermost frame.
    pub fn new(code: Arc<CodeSnapshot>, entry: EntryPoint) -> Graph {
        let mut graph = Graph {
            entry,
            required: Vec::new(),
            blocks: Vec::new(),
            nodes: Vec::new(),
            states: Vec::new(),
            frames: Vec::new(),
            codes: vec![code],
            watched: Vec::new(),
            sunk: Vec::new(),
            escapes: FastMap::default(),
            places: Vec::new(),
            place: Place::default(),
        };
        let block = graph.add_block();
        let closure = graph.push(block, Op::Closure, Type::CLOSURE);
        graph.frames.push(Frame {
            code: 0,
            caller: None,
            base: 0,
            closure,
            return_address: None,
        });
        graph
    }

    /// A new block.
    pub fn add_block(&mut self) -> BlockId {
        self.blocks.push(Block {
            parameters: Vec::new(),
            nodes: Vec::new(),
            terminator: Terminator::None,
            is_loop: false,
            entry_state: None,
        });
        BlockId(self.blocks.len() as u32 - 1)
    }

    /// Appends a node to a block.
    pub fn push(&mut self, block: BlockId, op: Op, ty: Type) -> NodeId {
        let id = self.add_node(op, ty);
        self.blocks[block.index()].nodes.push(id);
        id
    }

    /// Adds a parameter to a block.
    pub fn add_parameter(
        &mut self,
        block: BlockId,
        representation: Representation,
        ty: Type,
    ) -> NodeId {
        let id = self.add_node(Op::BlockParameter(representation), ty);
        self.blocks[block.index()].parameters.push(id);
        id
    }

    fn add_node(&mut self, op: Op, ty: Type) -> NodeId {
        self.places.resize(self.nodes.len(), Place::default());
        self.places.push(self.place);
        self.nodes.push(Node { op, ty });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds a state.
    pub fn add_state(&mut self, state: State) -> StateId {
        self.states.push(state);
        StateId(self.states.len() as u32 - 1)
    }

    /// Adds a frame.
    pub fn add_frame(&mut self, frame: Frame) -> FrameId {
        self.frames.push(frame);
        FrameId(self.frames.len() as u32 - 1)
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// A state.
    pub fn state(&self, id: StateId) -> &State {
        &self.states[id.index()]
    }

    /// A frame.
    pub fn frame(&self, id: FrameId) -> &Frame {
        &self.frames[id.index()]
    }

    /// The snapshot of a frame's code.
    pub fn code_of(&self, id: FrameId) -> &Arc<CodeSnapshot> {
        &self.codes[self.frame(id).code]
    }

    /// The addresses of the bytecode at a place: its instruction, then the return addresses of the frames
    /// that were inlined below it, the procedure's own last.
    pub fn addresses(&self, place: Place) -> Vec<u64> {
        let mut frame = &self.frames[place.frame as usize];
        // The word behind the first one of the instruction, as for an interrupted frame.
        let mut addresses = vec![self.codes[frame.code].address(place.pc as usize + 1)];
        while let (Some(caller), Some(address)) = (frame.caller, frame.return_address) {
            addresses.push(address);
            frame = self.frame(self.state(caller).frame);
        }
        addresses
    }

    /// Where the bytecode continues for a state whose instruction compiled code never does itself: to
    /// leave there is no wrong guess.
    pub fn place_left_to_interpreter(&self, state: StateId) -> Option<u64> {
        let state = self.state(state);
        let code = self.code_of(state.frame);
        code.is_left_to_interpreter(state.pc)
            .then(|| code.address(state.pc))
    }

    /// The node whose value another one is, of a narrower type.
    pub fn unchecked(&self, mut id: NodeId) -> NodeId {
        while let Op::Guard(_, x, _) | Op::Refine(x) = self.node(id).op {
            id = x;
        }
        id
    }

    /// Whether a node is a new object that is not made where it stands, but in exits.
    pub fn is_sunk(&self, id: NodeId) -> bool {
        self.sunk.get(id.index()).copied().unwrap_or(false)
    }

    /// How a node's value is held.
    pub fn representation(&self, id: NodeId) -> Representation {
        self.node(id).op.representation()
    }

    /// Every slot that a state fills, outermost frame first: words from the outermost fp (the closure
    /// of a frame with base b is at b - 2, its return address at b - 1) and the content that
    /// belongs there.
    pub fn slots(&self, id: StateId) -> Vec<(i32, SlotContent)> {
        let mut chain = vec![id];
        while let Some(caller) = self.frame(self.state(chain[chain.len() - 1]).frame).caller {
            chain.push(caller);
        }
        let mut slots = Vec::new();
        for id in chain.into_iter().rev() {
            let state = self.state(id);
            let frame = self.frame(state.frame);
            let base = frame.base as i32;
            slots.push((base - 2, SlotContent::Node(frame.closure)));
            if let Some(address) = frame.return_address {
                slots.push((base - 1, SlotContent::Address(address)));
            }
            slots.extend(
                state
                    .registers
                    .iter()
                    .map(|(register, node)| (base + *register as i32, SlotContent::Node(*node))),
            );
        }
        slots
    }
}

/// Content that belongs into a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlotContent {
    /// A value; floats are boxed on the way.
    Node(NodeId),
    /// A raw return address.
    Address(u64),
}

impl Condition {
    /// Calls `visit` for each operand with what is wanted of it.
    pub fn each_operand(&self, visit: &mut impl FnMut(NodeId, Wanted)) {
        let wanted = Wanted::Held(match self {
            Condition::Floats(..) => Representation::Float,
            _ => Representation::Tagged,
        });
        match self {
            Condition::Test(_, x) => visit(*x, wanted),
            Condition::Same(x, y)
            | Condition::Fixnums(_, x, y)
            | Condition::Floats(_, x, y)
            | Condition::Characters(_, x, y)
            | Condition::RecordOf(x, y) => {
                visit(*x, wanted);
                visit(*y, wanted);
            }
        }
    }

    /// Replaces each operand.
    pub fn map_inputs(&mut self, change: &mut impl FnMut(&mut NodeId)) {
        match self {
            Condition::Test(_, x) => change(x),
            Condition::Same(x, y)
            | Condition::Fixnums(_, x, y)
            | Condition::Floats(_, x, y)
            | Condition::Characters(_, x, y)
            | Condition::RecordOf(x, y) => {
                change(x);
                change(y);
            }
        }
    }
}

impl Callee {
    /// Returns the closure that is called.
    pub fn closure(&self) -> NodeId {
        match self {
            Callee::Unknown(closure)
            | Callee::Known { closure, .. }
            | Callee::Capture { closure, .. } => *closure,
        }
    }

    /// Returns the tagged words of the code objects that are known.
    pub fn codes(&self) -> impl Iterator<Item = u64> {
        let (code, receiver) = match self {
            Callee::Unknown(_) => (None, None),
            Callee::Known { code, .. } => (Some(*code), None),
            Callee::Capture { code, receiver, .. } => (Some(*code), Some(*receiver)),
        };
        code.into_iter().chain(receiver)
    }

    /// Replaces the operand.
    pub fn map_inputs(&mut self, change: &mut impl FnMut(&mut NodeId)) {
        match self {
            Callee::Unknown(closure)
            | Callee::Known { closure, .. }
            | Callee::Capture { closure, .. } => change(closure),
        }
    }
}
