//! A made-up machine: a thread block, a stack, a nursery, code objects, and runtime entries that record what
//! happened.

use std::sync::Arc;

use canny_spesh::graph::{
    BlockId, Callee, Condition, Edge, EntryPoint, FrameId, Graph, NodeId, Op, Representation,
    State, StateId, Terminator, Test,
};
use canny_spesh::snapshot::{CodeSnapshot, CodeWord, LazyLiveness};
use canny_spesh::types::Type;
use canny_tables::kinds::Kind;
use canny_tables::layout::{self, FALSE, FIELD0, code, descriptor, record_type, thread};
use canny_tables::opcodes::{Opcode, TABLE_ENTRIES, encode_abc};

use crate::{CodeMemory, Compiled, Environment, Installed, MemoryOptions, Processor, compile};

const STACK_WORDS: usize = 1 << 16;
const NURSERY_WORDS: usize = 1 << 12;
/// Words of the thread block behind those that code knows.
const EXTRA: usize = thread::SIZE / 8;
const LEFT: usize = EXTRA;
const EXIT: usize = EXTRA + 1;
const CANDIDATE: usize = EXTRA + 2;
const LEFT_FP: usize = EXTRA + 3;
const BYTECODE: usize = EXTRA + 4;
const ALLOCATIONS: usize = EXTRA + 5;
const BOXES: usize = EXTRA + 6;
const SLOW: usize = EXTRA + 7;
const MOVED: usize = EXTRA + 8;
const SPARE: usize = EXTRA + 9;
const SPARE_END: usize = EXTRA + 10;
const BLOCK_WORDS: usize = EXTRA + 16;

/// Class key of the records of every type.
pub const RECORD_KEY: i64 = 1000;

/// Result of a run that left compiled code.
pub const LEFT_RESULT: u64 = 0xdead_0006;

/// Result of a run that met an instruction for which this machine has no runtime entry.
pub const UNEXPECTED_RESULT: u64 = 0xbad_0006;

/// Distance by which the made-up collector moves what pairs refer to.
pub const MOVE: u64 = 0x1000;

type Entry = unsafe extern "C" fn(*mut u64, *mut u64, *const u32, u32) -> *const u32;

pub struct Machine {
    pub block: Box<[u64]>,
    pub stack: Box<[u64]>,
    pub nursery: Box<[u64]>,
    spare: Box<[u64]>,
    pub cards: Box<[u8]>,
    table: Box<[usize; TABLE_ENTRIES]>,
    _runtime: Box<[Entry; TABLE_ENTRIES]>,
    pub memory: CodeMemory,
    /// Whether the interpreter resumes after compiled code was left.
    pub resumes: bool,
}

/// How compiled code was left.
#[derive(Debug, PartialEq, Eq)]
pub struct Left {
    pub exit: usize,
    pub candidate: u64,
    /// Words from the outermost fp of the run's frame.
    pub fp: i64,
    pub bytecode: u64,
}

/// First frame of a run: its registers 0 and 1 are the call's.
const FIRST_FP: usize = 16;
/// Frame of the called code.
pub const CALLEE_FP: usize = FIRST_FP + 2;

impl Machine {
    pub fn new() -> Machine {
        let mut machine = Machine {
            block: vec![0; BLOCK_WORDS].into(),
            stack: vec![0; STACK_WORDS].into(),
            nursery: vec![0; NURSERY_WORDS].into(),
            spare: vec![0; NURSERY_WORDS].into(),
            cards: vec![0; 1 << 10].into(),
            table: Box::new(*canny_llint::fast_table()),
            _runtime: Box::new([unexpected; TABLE_ENTRIES]),
            memory: CodeMemory::new(&MemoryOptions {
                code_bytes_max: 1 << 20,
                data_bytes_max: 1 << 20,
                writes_perf_map: false,
                writes_jitdump: false,
            })
            .unwrap(),
            resumes: false,
        };
        machine._runtime[Opcode::Leave as usize] = leave;
        machine._runtime[Opcode::Call as usize] = slow_call;
        machine._runtime[Opcode::TailCall as usize] = slow_call;
        machine._runtime[Opcode::CallPrimitive1 as usize] = primitive;
        machine._runtime[Opcode::CallPrimitive2 as usize] = collect_below;
        machine._runtime[Opcode::JumpLess as usize] = jump_less;
        machine._runtime[Opcode::ReadCharacter as usize] = of_port;
        machine._runtime[Opcode::PeekCharacter as usize] = of_port;
        machine._runtime[Opcode::WriteCharacter as usize] = to_port;
        machine._runtime[Opcode::ReadByte as usize] = of_port;
        machine._runtime[Opcode::PeekByte as usize] = of_port;
        machine._runtime[Opcode::WriteByte as usize] = to_port;
        let limit = &machine.stack[STACK_WORDS - 9000] as *const u64 as u64;
        machine.set(thread::LIMIT, limit);
        let nursery = align(machine.nursery.as_ptr() as u64);
        machine.set(thread::SCAN_CURSOR, nursery);
        machine.set(thread::SCAN_LIMIT, nursery + 8 * (NURSERY_WORDS as u64 - 2));
        let first_card = nursery >> layout::CARD_SHIFT;
        let cards = machine.cards.as_ptr() as u64;
        machine.set(thread::CARDS, cards.wrapping_sub(first_card));
        machine.set(thread::TABLE, machine.table.as_ptr() as u64);
        machine.set(thread::RUNTIME, machine._runtime.as_ptr() as u64);
        machine.block[SPARE] = align(machine.spare.as_ptr() as u64);
        machine.block[SPARE_END] = machine.block[SPARE] + 8 * (NURSERY_WORDS as u64 - 2);
        machine
    }

    pub fn set(&mut self, field: i32, word: u64) {
        self.block[field as usize / 8] = word;
    }

    pub fn get(&self, field: i32) -> u64 {
        self.block[field as usize / 8]
    }

    pub fn environment(&self) -> Environment {
        Environment {
            call_slow_stub: canny_llint::slow_stub(Opcode::Call),
            tail_call_slow_stub: canny_llint::slow_stub(Opcode::TailCall),
            capture_apart: canny_llint::native_capture_apart(),
            allocate: allocate as *const () as usize,
            box_flonum: box_flonum as *const () as usize,
            disassembles: std::env::var_os("CANNY_JIT_LISTING").is_some_and(|value| value == "1"),
            leaves: crate::tests::leaves::functions(),
            processor: Processor::Host,
            leaves_at_random: false,
        }
    }

    pub fn compile(&self, graph: &Graph) -> Compiled {
        let compiled = compile(graph, &self.environment()).unwrap();
        if !compiled.disassembly().is_empty() {
            println!("{}", compiled.disassembly());
        }
        compiled
    }

    /// Compiles a graph, and lets its code enter the result.
    pub fn install(&self, graph: &Graph, code: &FakeCode) -> Installed {
        let compiled = self.compile(graph);
        let installed = self.memory.install(&compiled, 77, &|_| None).unwrap();
        code.enter_at(&installed);
        installed
    }

    /// Calls a closure from the interpreter and runs until that returns.
    pub fn call(&mut self, callee: u64, arguments: &[u64]) -> u64 {
        let driver = [
            encode_abc(Opcode::Call, 0, arguments.len() as u8, 0),
            0,
            encode_abc(Opcode::Halt, 0, 0, 0),
        ];
        self.stack[FIRST_FP] = callee;
        self.stack[CALLEE_FP..CALLEE_FP + arguments.len()].copy_from_slice(arguments);
        self.block[LEFT] = 0;
        let resumes = u64::from(self.resumes);
        self.set(thread::RESULT, resumes);
        let fp = &mut self.stack[FIRST_FP] as *mut u64;
        // SAFETY: the driver is code of two instructions, the frame lies on the stack, and the block's
        // tables are complete.
        unsafe {
            canny_llint::enter(
                driver.as_ptr(),
                fp,
                self.block.as_mut_ptr().cast(),
                self.table.as_ptr(),
            )
        }
    }

    /// How the last run left compiled code, if it did.
    pub fn left(&self) -> Option<Left> {
        let fp = &self.stack[CALLEE_FP] as *const u64 as i64;
        (self.block[LEFT] > 0).then(|| Left {
            exit: self.block[EXIT] as usize,
            candidate: self.block[CANDIDATE],
            fp: (self.block[LEFT_FP] as i64 - fp) / 8,
            bytecode: self.block[BYTECODE],
        })
    }

    pub fn times_left(&self) -> u64 {
        self.block[LEFT]
    }

    /// A register of the called code's frame.
    pub fn register(&self, register: i32) -> u64 {
        self.stack[(CALLEE_FP as i32 + register) as usize]
    }

    pub fn allocations(&self) -> u64 {
        self.block[ALLOCATIONS]
    }

    pub fn boxes(&self) -> u64 {
        self.block[BOXES]
    }

    /// Bytes of scannable memory used so far.
    pub fn bytes_taken(&self) -> u64 {
        self.get(thread::SCAN_CURSOR)
    }

    pub fn slow_calls(&self) -> u64 {
        self.block[SLOW]
    }

    /// Collections of the made-up collector: calls of the primitive.
    pub fn collections(&self) -> u64 {
        self.block[MOVED]
    }

    pub fn marked_cards(&self) -> usize {
        self.cards.iter().filter(|card| **card != 0).count()
    }

    /// A record type derived from others, the outermost first.
    pub fn record_type(&mut self, ancestors: &[u64]) -> u64 {
        let mut words = [FALSE; record_type::WORDS_MIN];
        words[record_type::SERIAL] = fixnum(RECORD_KEY);
        words[record_type::PLACE] = fixnum((record_type::ANCESTORS + ancestors.len()) as i64);
        words[record_type::ANCESTORS..][..ancestors.len()].copy_from_slice(ancestors);
        self.object(Kind::RecordType, words.len() as u64, &words)
    }

    /// A vector in the nursery.
    pub fn vector(&mut self, elements: &[u64]) -> u64 {
        self.object(Kind::Vector, elements.len() as u64, elements)
    }

    pub fn object(&mut self, kind: Kind, length: u64, payload: &[u64]) -> u64 {
        let address = self.get(thread::SCAN_CURSOR);
        let words = (payload.len() + 1).next_multiple_of(2);
        self.set(thread::SCAN_CURSOR, address + 8 * words as u64);
        let header = layout::TAG_IMMEDIATE
            | (kind as u64) << layout::HEADER_KIND_SHIFT
            | length << layout::HEADER_LENGTH_SHIFT;
        for (index, word) in [header].iter().chain(payload).enumerate() {
            // SAFETY: tests fill a small part of the nursery.
            unsafe { *(address as *mut u64).add(index) = *word };
        }
        address + layout::TAG_OBJECT
    }

    pub fn closure(&mut self, code: &FakeCode, captured: &[u64]) -> u64 {
        let mut payload = vec![code.word];
        payload.extend(captured);
        self.object(Kind::Closure, payload.len() as u64, &payload)
    }
}

fn align(address: u64) -> u64 {
    (address + 15) & !15
}

/// The word at an offset from a tagged word.
pub fn peek(word: u64, offset: i32) -> u64 {
    // SAFETY: tests look at objects that they or compiled code made.
    unsafe { *((word as i64 + i64::from(offset)) as *const u64) }
}

// SAFETY of the entries: slow stubs and compiled code call them with the block above, a frame on its
// stack and the address behind an instruction's first word.

unsafe extern "C" fn unexpected(block: *mut u64, _: *mut u64, _: *const u32, _: u32) -> *const u32 {
    // SAFETY: see above.
    unsafe { *block.add(thread::RESULT as usize / 8) = UNEXPECTED_RESULT };
    std::ptr::null()
}

unsafe extern "C" fn leave(block: *mut u64, fp: *mut u64, pc: *const u32, _: u32) -> *const u32 {
    // SAFETY: see above; pc is behind the first word of an exit descriptor.
    unsafe {
        let at = pc.sub(1).cast::<u8>();
        let bytecode = *at.add(descriptor::BYTECODE).cast::<u64>();
        *block.add(LEFT) += 1;
        *block.add(EXIT) = u64::from(*at.add(descriptor::EXIT).cast::<u32>());
        *block.add(CANDIDATE) = *at.add(descriptor::CANDIDATE).cast::<u64>();
        *block.add(LEFT_FP) = fp as u64;
        *block.add(BYTECODE) = bytecode;
        let result = block.add(thread::RESULT as usize / 8);
        if *result == 1 {
            return bytecode as *const u32;
        }
        *result = LEFT_RESULT;
        std::ptr::null()
    }
}

/// The machine's general way of `call` and `tail-call`: takes anything that is not a closure for a
/// procedure that gives its own word.
unsafe extern "C" fn slow_call(
    block: *mut u64,
    fp: *mut u64,
    pc: *const u32,
    word: u32,
) -> *const u32 {
    // SAFETY: see above.
    unsafe {
        *block.add(SLOW) += 1;
        let a = (word >> 8 & 0xff) as usize;
        let callee = *fp.add(a);
        if Opcode::from_byte(word as u8) == Some(Opcode::Call) {
            *fp.add(a) = callee;
            return pc.add(1);
        }
        let next = *fp.sub(1) as *const u8;
        *fp.sub(2) = callee;
        let caller = fp.sub(usize::from(*next.sub(7)) + 2);
        *block.add(thread::FP as usize / 8) = caller as u64;
        next.cast()
    }
}

/// `call-primitive-1`: adds one to a fixnum; leaves the machine for `#f`. Everything that a pair tag
/// marks in the frame's first registers moves first.
unsafe extern "C" fn primitive(
    block: *mut u64,
    fp: *mut u64,
    pc: *const u32,
    word: u32,
) -> *const u32 {
    // SAFETY: see above.
    unsafe {
        let (a, b) = ((word >> 8 & 0xff) as usize, (word >> 16 & 0xff) as usize);
        *block.add(MOVED) += 1;
        for register in 0..COLLECTED {
            let slot = fp.add(register);
            if *slot & 7 == 1 {
                *slot += MOVE;
            }
        }
        let operand = *fp.add(b);
        if operand == layout::FALSE {
            *block.add(thread::RESULT as usize / 8) = LEFT_RESULT;
            return std::ptr::null();
        }
        *fp.add(a) = if operand & 3 == 0 {
            operand.wrapping_add(4)
        } else {
            operand
        };
        pc.add(1)
    }
}

/// `read-char` and its like: collects like `primitive`, and gives the end-of-file object.
unsafe extern "C" fn of_port(
    block: *mut u64,
    fp: *mut u64,
    pc: *const u32,
    word: u32,
) -> *const u32 {
    // SAFETY: see above.
    unsafe {
        to_port(block, fp, pc, word);
        *fp.add((word >> 8 & 0xff) as usize) = layout::EOF;
    }
    pc
}

/// `write-char` and `write-u8`: collects like `primitive`.
unsafe extern "C" fn to_port(block: *mut u64, fp: *mut u64, pc: *const u32, _: u32) -> *const u32 {
    // SAFETY: see above.
    unsafe {
        *block.add(MOVED) += 1;
        for register in 0..COLLECTED {
            let slot = fp.add(register);
            if *slot & 7 == 1 {
                *slot += MOVE;
            }
        }
    }
    pc
}

/// `call-primitive-2` of a callee whose caller called it from register 10: collects in the caller's frame.
unsafe extern "C" fn collect_below(
    block: *mut u64,
    fp: *mut u64,
    pc: *const u32,
    _: u32,
) -> *const u32 {
    // SAFETY: see above; the caller's frame begins 12 words below.
    unsafe {
        *block.add(MOVED) += 1;
        for register in 0..10 {
            let slot = fp.sub(12).add(register);
            if *slot & 7 == 1 {
                *slot += MOVE;
            }
        }
        pc.add(1)
    }
}

/// Registers that the made-up collector looks at.
pub const COLLECTED: usize = 12;

unsafe extern "C" fn jump_less(
    block: *mut u64,
    fp: *mut u64,
    pc: *const u32,
    word: u32,
) -> *const u32 {
    // SAFETY: see above.
    unsafe {
        let (a, b) = ((word >> 8 & 0xff) as usize, (word >> 16 & 0xff) as usize);
        *block.add(MOVED) += 1;
        for register in 0..COLLECTED {
            let slot = fp.add(register);
            if *slot & 7 == 1 {
                *slot += MOVE;
            }
        }
        if (*fp.add(a) as i64) < *fp.add(b) as i64 {
            pc.offset(1 + *pc as i32 as isize)
        } else {
            pc.add(1)
        }
    }
}

unsafe extern "C" fn allocate(block: *mut u64, bytes: u64) -> u64 {
    // SAFETY: see above.
    unsafe {
        *block.add(ALLOCATIONS) += 1;
        take_spare(block, bytes)
    }
}

unsafe fn take_spare(block: *mut u64, bytes: u64) -> u64 {
    // SAFETY: see above.
    unsafe {
        let address = *block.add(SPARE);
        *block.add(SPARE) += bytes;
        assert!(*block.add(SPARE) <= *block.add(SPARE_END));
        address
    }
}

unsafe extern "C" fn box_flonum(block: *mut u64, number: f64) -> u64 {
    // SAFETY: see above.
    unsafe {
        *block.add(BOXES) += 1;
        let address = take_spare(block, 16);
        *(address as *mut u64) = layout::TAG_IMMEDIATE
            | (Kind::Flonum as u64) << layout::HEADER_KIND_SHIFT
            | 1 << layout::HEADER_LENGTH_SHIFT;
        *(address as *mut f64).add(1) = number;
        address + layout::TAG_OBJECT
    }
}

/// A tagged flonum of usual magnitude or zero.
pub fn flonum(number: f64) -> u64 {
    let word = number.to_bits().rotate_left(4).wrapping_sub(1);
    assert!(matches!(word & 7, 2 | 3 | 7), "{number} needs a box");
    word
}

/// The double in any flonum word.
pub fn double(word: u64) -> f64 {
    if word & 7 == layout::TAG_OBJECT {
        f64::from_bits(peek(word, FIELD0))
    } else {
        f64::from_bits(word.wrapping_add(1).rotate_right(4))
    }
}

pub fn fixnum(n: i64) -> u64 {
    (n << 2) as u64
}

/// A code object that is never freed.
pub struct FakeCode {
    pub word: u64,
    pub snapshot: Arc<CodeSnapshot>,
    bytecode: u64,
}

impl FakeCode {
    /// A code object with this bytecode.
    pub fn new(name: &str, arity: u32, frame_words: u32, instructions: Vec<u32>) -> FakeCode {
        let fixed = 1 + code::FIXED_WORDS;
        let words = vec![0u64; fixed + instructions.len().div_ceil(2) + 4];
        let memory = Box::leak(words.into_boxed_slice());
        let start = align(memory.as_ptr() as u64);
        let word = start + layout::TAG_OBJECT;
        let bytecode = start + 8 * fixed as u64;
        let put = |offset: i32, value: u64| {
            // SAFETY: the fields lie in the leaked memory.
            unsafe { *((word as i64 + i64::from(offset)) as *mut u64) = value };
        };
        put(code::ENTRY, bytecode);
        put(
            code::ARITY,
            u64::from(arity) | u64::from(8 * frame_words) << 32,
        );
        put(code::POOL_LENGTH, (instructions.len() as u64) << 32);
        put(code::NATIVE, canny_llint::native_to_bytecode() as u64);
        for (index, instruction) in instructions.iter().enumerate() {
            // SAFETY: as above.
            unsafe { *(bytecode as *mut u32).add(index) = *instruction };
        }
        let liveness = LazyLiveness::new(instructions.clone().into(), frame_words as usize);
        FakeCode {
            word,
            bytecode,
            snapshot: Arc::new(CodeSnapshot {
                breaks: Default::default(),
                word: CodeWord(word),
                entry: bytecode,
                name: name.into(),
                instructions: instructions.into(),
                pool: Vec::new(),
                arity,
                frame_words,
                liveness,
            }),
        }
    }

    fn field(&self, offset: i32) -> *mut u64 {
        (self.word as i64 + i64::from(offset)) as *mut u64
    }

    pub fn enter_at(&self, installed: &Installed) {
        // SAFETY: the fields lie in the leaked memory.
        unsafe {
            *self.field(code::ENTRY) = installed.entry_descriptor as u64;
            *self.field(code::NATIVE) = installed.native_entry as u64;
        }
    }

    pub fn set_native(&self, native: u64) {
        // SAFETY: the fields lie in the leaked memory.
        unsafe { *self.field(code::NATIVE) = native };
    }

    pub fn set_entry(&self, entry: u64) {
        // SAFETY: the fields lie in the leaked memory.
        unsafe { *self.field(code::ENTRY) = entry };
    }

    pub fn enter_bytecode(&self) {
        // SAFETY: the fields lie in the leaked memory.
        unsafe {
            *self.field(code::ENTRY) = self.bytecode;
            *self.field(code::NATIVE) = canny_llint::native_to_bytecode() as u64;
        }
    }
}

/// A code whose instructions are all no operations, with a return of register 0 at the end.
pub fn plain_code(name: &str, arity: u32) -> FakeCode {
    let mut words = vec![encode_abc(Opcode::Nop, 0, 0, 0); 16];
    words.push(encode_abc(Opcode::Return, 0, 0, 0));
    FakeCode::new(name, arity, 32, words)
}

/// Builds a graph, block by block.
pub struct Builder {
    pub graph: Graph,
    pub block: BlockId,
}

impl Builder {
    pub fn new(code: &FakeCode) -> Builder {
        Builder {
            graph: Graph::new(code.snapshot.clone(), EntryPoint::Start),
            block: BlockId(0),
        }
    }

    pub fn push(&mut self, op: Op) -> NodeId {
        self.typed(op, Type::ANY)
    }

    pub fn typed(&mut self, op: Op, ty: Type) -> NodeId {
        self.graph.push(self.block, op, ty)
    }

    pub fn slot(&mut self, register: u32) -> NodeId {
        self.push(Op::Slot(register))
    }

    pub fn word(&mut self, word: u64) -> NodeId {
        self.push(Op::Word(word))
    }

    pub fn fixnum(&mut self, n: i64) -> NodeId {
        self.word(fixnum(n))
    }

    /// A state of the outermost frame.
    pub fn state(&mut self, pc: usize, registers: &[(u32, NodeId)]) -> StateId {
        self.state_in(FrameId(0), pc, registers)
    }

    pub fn state_in(&mut self, frame: FrameId, pc: usize, registers: &[(u32, NodeId)]) -> StateId {
        self.graph.add_state(State {
            frame,
            pc,
            registers: registers.to_vec(),
        })
    }

    pub fn guard_fixnum(&mut self, x: NodeId, state: StateId) -> NodeId {
        self.typed(Op::Guard(Test::Fixnum, x, state), Type::FIXNUM)
    }

    pub fn new_block(&mut self, parameters: &[Representation]) -> (BlockId, Vec<NodeId>) {
        let block = self.graph.add_block();
        let nodes = parameters
            .iter()
            .map(|representation| self.graph.add_parameter(block, *representation, Type::ANY))
            .collect();
        (block, nodes)
    }

    pub fn end(&mut self, terminator: Terminator) {
        self.graph.blocks[self.block.index()].terminator = terminator;
    }

    pub fn give(&mut self, x: NodeId) {
        self.end(Terminator::Return(x));
    }

    pub fn jump(&mut self, target: BlockId, arguments: &[NodeId]) {
        self.end(Terminator::Jump(edge(target, arguments)));
    }

    pub fn branch(&mut self, condition: Condition, then: Edge, otherwise: Edge) {
        self.end(Terminator::Branch {
            condition,
            then,
            otherwise,
        });
    }

    pub fn call(&mut self, callee: Callee, arguments: &[NodeId], state: StateId) -> NodeId {
        self.push(Op::Call(callee, arguments.to_vec(), state))
    }
}

pub fn edge(target: BlockId, arguments: &[NodeId]) -> Edge {
    Edge {
        target,
        arguments: arguments.to_vec(),
    }
}
