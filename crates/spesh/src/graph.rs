//! The graph: static single assignment over blocks, with states from which the interpreter can go on.
//!
//! Blocks have parameters instead of phis. A value is *tagged* (a word of the machine) or a *float* (an
//! unboxed double); see [`Op::representation`]. Control leaves compiled code in three ways: a guard fails and
//! the interpreter goes on from a [`State`]; a call suspends the frame, whose state is then in its slots; a
//! return or tail call ends it.
//!
//! **Frames are the interpreter's.** Word `k` above fp is register `k`; an inlined procedure's frame lies
//! where the interpreter would have put it, [`Frame::base`] words above. Whenever anything but this code may
//! look (a call, an instruction left to the runtime, an exit), every live register of every frame of the state
//! is in its slot, with the closures and return addresses of inlined frames. Between those points values
//! are in machine registers and slots may be stale.
//!
//! A tagged value that is used after a call or runtime instruction and was computed before it is loaded again
//! from a slot of the state there, for a collection may have moved what it refers to; the builder sees to it
//! that every such value has a slot ([`crate::verify`] checks it). Allocation does not move anything.

use std::sync::Arc;

use canny_tables::kinds::Kind;
use canny_tables::leaves::LeafId;
use canny_tables::opcodes::{Opcode, opcode_byte};

use crate::elements::{ElementKind, Elements};
use crate::snapshot::{CodeSnapshot, is_left_to_interpreter};
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

/// A kind of memory, for effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// Cars of pairs.
    Car,
    /// Cdrs of pairs.
    Cdr,
    /// Elements of vectors.
    Vector,
    /// Contents of boxes.
    Box,
    /// Values of global variables.
    Cell,
    /// Fields of records.
    Record,
    /// Captured values, code and other words that never change after construction.
    Constant,
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
}

impl Test {
    /// The test that exactly the values of a type pass, if there is one.
    pub fn of_type(ty: Type) -> Option<Test> {
        Some(match ty {
            Type::FIXNUM => Test::Fixnum,
            Type::FLONUM => Test::Flonum,
            Type::PAIR => Test::Pair,
            Type::CHARACTER => Test::Character,
            _ => Test::Kind(ty.kind()?),
        })
    }
}

/// What a branch or guard asks.
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

/// Who is called.
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
}

/// What a node does.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// A block's parameter.
    BlockParameter(Representation),
    /// What the slot so many words above the outermost fp holds on entry.
    Slot(u32),
    /// The double of an argument that is a flonum, as [`Graph::required`] says.
    FloatSlot(u32),
    /// What such a slot holds right after an [`Op::Runtime`] whose instruction writes several registers; only nodes of
    /// this kind may stand between.
    Reload(u32),
    /// The closure of the outermost frame on entry.
    Closure,
    /// The number of arguments on entry to code that takes a variable number, a fixnum.
    ArgumentCount,
    /// A word that is no reference.
    Word(u64),
    /// The tagged word in a pool slot; the address of the slot.
    PoolSlot(u64),
    /// A double.
    Float(f64),

    /// The value, known to pass the test; leaves otherwise.
    Guard(Test, NodeId, StateId),
    /// Nothing; leaves unless the condition holds.
    Require(Condition, StateId),
    /// Nothing; leaves if somebody asks the thread to come to a safepoint.
    Poll(StateId),
    /// The value, of a narrower type that its uses may rely on. No code.
    Refine(NodeId),

    /// Fixnum arithmetic on fixnums; leaves when the result is no fixnum.
    Fixnum(FixnumOperation, NodeId, NodeId, StateId),
    /// Float arithmetic on floats.
    FloatArithmetic(FloatOperation, NodeId, NodeId),
    /// A float function; [`FloatFunction::SquareRoot`] alone uses the state.
    FloatFunction(FloatFunction, NodeId, Option<StateId>),
    /// The double of a fixnum.
    FixnumToFloat(NodeId),
    /// The fixnum of a float that is an integer of fixnum range; leaves otherwise.
    FloatToFixnum(NodeId, StateId),
    /// The double in a tagged flonum.
    Unbox(NodeId),
    /// The double of a tagged fixnum or flonum.
    NumberToFloat(NodeId),
    /// The tagged flonum of a double; may allocate.
    Box(NodeId),

    /// A word of an object or pair: offset in bytes from the tagged word.
    Load {
        /// The pair or object.
        object: NodeId,
        /// Offset from the tagged word.
        offset: i32,
        /// Which memory.
        memory: Memory,
    },
    /// Sets a word of an object or pair, and marks its card if the value may be a reference.
    Store {
        /// The pair or object.
        object: NodeId,
        /// Offset from the tagged word.
        offset: i32,
        /// The new content.
        value: NodeId,
        /// Which memory.
        memory: Memory,
    },
    /// The element of a vector at a fixnum index inside its bounds.
    LoadElement(NodeId, NodeId),
    /// Sets the element of a vector at a fixnum index inside its bounds; vector, index, value.
    StoreElement(NodeId, NodeId, NodeId),
    /// Nothing; leaves if the object (vector, bytevector) is immutable, or if code relies on the value of the cell.
    RequireMutable(NodeId, StateId),
    /// Length of a vector or bytevector, as a fixnum.
    Length(NodeId),
    /// Length of a string, as a fixnum.
    StringLength(NodeId),
    /// Nothing; leaves unless the first, a fixnum, is from 0 to below the second, a fixnum.
    RequireIndex(NodeId, NodeId, StateId),
    /// The character of a string at a fixnum index inside its bounds; leaves if the string is wide.
    StringRef(NodeId, NodeId, StateId),
    /// The byte of a bytevector, as a fixnum, at a fixnum index inside its bounds.
    LoadByte(NodeId, NodeId),
    /// Sets a byte: bytevector, index inside its bounds, fixnum from 0 to 255.
    StoreByte(NodeId, NodeId, NodeId),
    /// The number of elements of a numeric vector of these elements, as a fixnum.
    ElementCount(Elements, NodeId),
    /// The element of such a vector at a fixnum index inside its bounds: a float, or a fixnum.
    LoadNumber(Elements, NodeId, NodeId),
    /// Sets an element: vector, index inside its bounds, float or fixnum of the range.
    StoreNumber(Elements, NodeId, NodeId, NodeId),
    /// Sets a character of a mutable string at a fixnum index inside its bounds; leaves if the string is wide or the character
    /// is not ASCII.
    StringSet(NodeId, NodeId, NodeId, StateId),
    /// A register of the dynamic state; its offset in the thread block.
    Dynamic(i32),
    /// Sets such a register.
    SetDynamic(i32, NodeId),
    /// The class key of any value, a fixnum.
    ClassKey(NodeId),
    /// The code point of a character as a fixnum.
    CharacterToFixnum(NodeId),
    /// The character of a fixnum that is a code point; leaves otherwise.
    FixnumToCharacter(NodeId, StateId),
    /// `#t` if the condition holds, else `#f`.
    Boolean(Condition),

    /// A new pair.
    Cons(NodeId, NodeId),
    /// A new object of a kind with these payload words.
    Allocate(Kind, Vec<NodeId>),

    /// The value of a leaf function; leaves if it declines. Nothing moves meanwhile.
    Leaf(LeafId, Vec<NodeId>, StateId),

    /// Calls; the state's innermost frame makes the call at the state's pc, and the state's registers are those
    /// live across it. The value is the call's. Arguments of a known callee may be floats.
    Call(Callee, Vec<NodeId>, StateId),
    /// The double of the value of a call, which stands right before; leaves if it is no flonum. Nobody else uses that value.
    FloatResult(NodeId, StateId),
    /// Executes the instruction at the state's pc in the runtime, all of its operands being in the state. The value
    /// is that of the instruction's register a afterwards, unspecified if it defines none.
    Runtime(StateId),
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it does.
    pub op: Op,
    /// What its value is.
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

/// How a block ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Terminator {
    /// Not yet known: only while the graph is built.
    None,
    /// Goes on.
    Jump(Edge),
    /// Goes one way or the other.
    Branch {
        /// The question.
        condition: Condition,
        /// If it holds.
        then: Edge,
        /// If not.
        otherwise: Edge,
    },
    /// Executes the branch instruction at the state's pc in the runtime and goes where that says.
    RuntimeBranch {
        /// The state before the instruction.
        state: StateId,
        /// If the instruction branched.
        taken: Edge,
        /// If it went on.
        fall: Edge,
    },
    /// Returns from the outermost frame; a float as such where that is expected.
    Return(NodeId),
    /// Calls in place of the outermost frame. The state is that before the instruction, in the outermost frame, with the
    /// callee and the arguments in the instruction's window: there the machine goes on when the call is unusual.
    TailCall(Callee, Vec<NodeId>, StateId),
    /// Leaves for the interpreter, which goes on from the state.
    Exit(StateId),
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
    /// At the head of a loop: the state in which the loop is entered, for checks that are made once before it; none if they
    /// are not to be made there.
    pub entry_state: Option<StateId>,
}

/// A frame that a state describes.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Index of its code in [`Graph::codes`].
    pub code: usize,
    /// State of the calling frame at the call that was inlined, for its registers live across the call; none for
    /// the outermost frame and what replaced it by a tail call.
    pub caller: Option<StateId>,
    /// Words from the outermost fp to this frame's fp.
    pub base: u32,
    /// Its closure.
    pub closure: NodeId,
    /// The return address for its slot; `None` if the slot has it already (the outermost frame's).
    pub return_address: Option<u64>,
}

/// A point from which the interpreter can go on.
#[derive(Clone, Debug)]
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
    /// Types that arguments must have at the start, by register: calls with others are passed on to the next candidate
    /// or to the bytecode. Every type has a [`Test`].
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

    /// Where the bytecode goes on for a state whose instruction compiled code never does itself: to leave there is
    /// no wrong guess.
    pub fn place_left_to_interpreter(&self, state: StateId) -> Option<u64> {
        let state = self.state(state);
        let code = self.code_of(state.frame);
        let opcode = Opcode::from_byte(opcode_byte(*code.instructions.get(state.pc)?))?;
        is_left_to_interpreter(opcode).then(|| code.address(state.pc))
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

    /// Every slot that a state fills, outermost frame first: words from the outermost fp (the closure of a frame
    /// with base b is at b - 2, its return address at b - 1) and what belongs there.
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

/// What belongs into a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlotContent {
    /// A value; floats are boxed on the way.
    Node(NodeId),
    /// A raw return address.
    Address(u64),
}

impl Op {
    /// How the value is held.
    pub fn representation(&self) -> Representation {
        match self {
            Op::BlockParameter(representation) => *representation,
            Op::Float(_)
            | Op::FloatSlot(_)
            | Op::FloatResult(..)
            | Op::FloatArithmetic(..)
            | Op::FloatFunction(..)
            | Op::FixnumToFloat(_)
            | Op::Unbox(_)
            | Op::NumberToFloat(_) => Representation::Float,
            Op::LoadNumber(elements, ..) if elements.kind == ElementKind::Float => {
                Representation::Float
            }
            Op::Require(..)
            | Op::Poll(_)
            | Op::Store { .. }
            | Op::StoreElement(..)
            | Op::StoreByte(..)
            | Op::StoreNumber(..)
            | Op::StringSet(..)
            | Op::SetDynamic(..)
            | Op::RequireMutable(..)
            | Op::RequireIndex(..) => Representation::Nothing,
            _ => Representation::Tagged,
        }
    }

    /// The state to which the node may leave, or that it publishes.
    pub fn state(&self) -> Option<StateId> {
        match self {
            Op::Guard(_, _, state)
            | Op::Require(_, state)
            | Op::Poll(state)
            | Op::Fixnum(_, _, _, state)
            | Op::FloatToFixnum(_, state)
            | Op::RequireMutable(_, state)
            | Op::RequireIndex(_, _, state)
            | Op::StringRef(_, _, state)
            | Op::StringSet(_, _, _, state)
            | Op::FixnumToCharacter(_, state)
            | Op::Leaf(_, _, state)
            | Op::Call(_, _, state)
            | Op::FloatResult(_, state)
            | Op::Runtime(state) => Some(*state),
            Op::FloatFunction(_, _, state) => *state,
            _ => None,
        }
    }

    /// The same with another state to leave to; what has none is unchanged.
    pub fn with_state(mut self, new: StateId) -> Op {
        match &mut self {
            Op::Guard(_, _, state)
            | Op::Require(_, state)
            | Op::Poll(state)
            | Op::Fixnum(_, _, _, state)
            | Op::FloatToFixnum(_, state)
            | Op::RequireMutable(_, state)
            | Op::RequireIndex(_, _, state)
            | Op::StringRef(_, _, state)
            | Op::StringSet(_, _, _, state)
            | Op::FixnumToCharacter(_, state)
            | Op::Leaf(_, _, state)
            | Op::Call(_, _, state)
            | Op::FloatResult(_, state)
            | Op::Runtime(state)
            | Op::FloatFunction(_, _, Some(state)) => *state = new,
            _ => {}
        }
        self
    }

    /// Whether a collection may happen while the node runs, so that tagged values have to be loaded again.
    pub fn is_safepoint(&self) -> bool {
        matches!(self, Op::Call(..) | Op::Runtime(_))
    }

    /// Calls `visit` for each operand (those of states not counted).
    pub fn each_input(&self, mut visit: impl FnMut(NodeId)) {
        self.clone().map_inputs(|id| {
            visit(id);
            id
        });
    }

    /// Replaces each operand (those of states not counted).
    pub fn map_inputs(&mut self, mut map: impl FnMut(NodeId) -> NodeId) {
        let mut change = |id: &mut NodeId| *id = map(*id);
        match self {
            Op::BlockParameter(_)
            | Op::Slot(_)
            | Op::FloatSlot(_)
            | Op::Reload(_)
            | Op::Closure
            | Op::ArgumentCount
            | Op::Word(_)
            | Op::PoolSlot(_)
            | Op::Float(_)
            | Op::Poll(_)
            | Op::Dynamic(_)
            | Op::Runtime(_) => {}
            Op::Guard(_, x, _)
            | Op::Refine(x)
            | Op::FloatFunction(_, x, _)
            | Op::FixnumToFloat(x)
            | Op::FloatToFixnum(x, _)
            | Op::Unbox(x)
            | Op::NumberToFloat(x)
            | Op::Box(x)
            | Op::FloatResult(x, _)
            | Op::RequireMutable(x, _)
            | Op::Length(x)
            | Op::StringLength(x)
            | Op::ElementCount(_, x)
            | Op::SetDynamic(_, x)
            | Op::ClassKey(x)
            | Op::CharacterToFixnum(x)
            | Op::FixnumToCharacter(x, _) => change(x),
            Op::Load { object, .. } => change(object),
            Op::Require(condition, _) | Op::Boolean(condition) => condition.map_inputs(&mut change),
            Op::Fixnum(_, x, y, _)
            | Op::FloatArithmetic(_, x, y)
            | Op::LoadElement(x, y)
            | Op::RequireIndex(x, y, _)
            | Op::StringRef(x, y, _)
            | Op::LoadByte(x, y)
            | Op::LoadNumber(_, x, y)
            | Op::Cons(x, y) => {
                change(x);
                change(y);
            }
            Op::Store { object, value, .. } => {
                change(object);
                change(value);
            }
            Op::StoreElement(x, y, z)
            | Op::StoreByte(x, y, z)
            | Op::StoreNumber(_, x, y, z)
            | Op::StringSet(x, y, z, _) => {
                change(x);
                change(y);
                change(z);
            }
            Op::Allocate(_, words) | Op::Leaf(_, words, _) => words.iter_mut().for_each(change),
            Op::Call(callee, arguments, _) => {
                callee.map_inputs(&mut change);
                arguments.iter_mut().for_each(change);
            }
        }
    }
}

impl Condition {
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
    /// Replaces the operand.
    pub fn map_inputs(&mut self, change: &mut impl FnMut(&mut NodeId)) {
        match self {
            Callee::Unknown(closure) | Callee::Known { closure, .. } => change(closure),
        }
    }
}

impl Terminator {
    /// The edges.
    pub fn edges(&self) -> impl Iterator<Item = &Edge> {
        let (first, second) = match self {
            Terminator::Jump(edge) => (Some(edge), None),
            Terminator::Branch {
                then, otherwise, ..
            } => (Some(then), Some(otherwise)),
            Terminator::RuntimeBranch { taken, fall, .. } => (Some(taken), Some(fall)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The edges, to change them.
    pub fn edges_mut(&mut self) -> impl Iterator<Item = &mut Edge> {
        let (first, second) = match self {
            Terminator::Jump(edge) => (Some(edge), None),
            Terminator::Branch {
                then, otherwise, ..
            } => (Some(then), Some(otherwise)),
            Terminator::RuntimeBranch { taken, fall, .. } => (Some(taken), Some(fall)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The state to which the end leaves, or that it publishes.
    pub fn state(&self) -> Option<StateId> {
        match self {
            Terminator::RuntimeBranch { state, .. }
            | Terminator::Exit(state)
            | Terminator::TailCall(_, _, state) => Some(*state),
            _ => None,
        }
    }

    /// Replaces each operand, edges included (those of states not counted).
    pub fn map_inputs(&mut self, mut map: impl FnMut(NodeId) -> NodeId) {
        let mut change = |id: &mut NodeId| *id = map(*id);
        match self {
            Terminator::Return(x) => change(x),
            Terminator::TailCall(callee, arguments, _) => {
                callee.map_inputs(&mut change);
                arguments.iter_mut().for_each(&mut change);
            }
            Terminator::Branch { condition, .. } => condition.map_inputs(&mut change),
            _ => {}
        }
        for edge in self.edges_mut() {
            edge.arguments.iter_mut().for_each(&mut change);
        }
    }
}
