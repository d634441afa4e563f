//! The language in which handlers of guests are written: operands, slots, traps, dispatch.
//!
//! The machine's registers are the address of the instruction, the frame, the instance's first memory,
//! the instance and the activation. A handler reads its operands behind the address of the instruction.

use canny_tables::guest::{Number, Reason, activation, instance};
use canny_wasm_meaning::{Meaning, type_of};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F32X4, F64X2, I32, I64};
use cranelift_codegen::ir::{
    Block, Endianness, FuncRef, InstBuilder, MemFlagsData, SigRef, Type, Value,
};
use cranelift_frontend::FunctionBuilder;

const TRUSTED: MemFlagsData = MemFlagsData::trusted();

/// Vectors are cast lane by lane, as they lie in memory.
const LITTLE: MemFlagsData = MemFlagsData::new().with_endianness(Endianness::Little);

/// A handler under construction.
pub struct Handler<'a, 'b> {
    pub builder: &'a mut FunctionBuilder<'b>,
    /// Address of the instruction.
    pub pc: Value,
    pub frame: Value,
    /// Where the instance's first memory begins.
    pub memory: Value,
    pub instance: Value,
    pub activation: Value,
    /// The accumulator of integers, of 64 bits.
    pub integer: Value,
    /// The accumulator of floats, which are the first part of it, and of vectors.
    pub float: Value,
    signature: SigRef,
    /// The handler of the instruction that returns to another instance.
    pub return_across: FuncRef,
    exits: Vec<(Reason, Block)>,
    entry: [Value; 7],
}

impl<'b> Meaning<'b> for Handler<'_, 'b> {
    fn builder(&mut self) -> &mut FunctionBuilder<'b> {
        self.builder
    }

    fn trap_if(&mut self, condition: Value, reason: Reason) {
        let exit = self.exit(reason);
        let go_on = self.builder.create_block();
        self.builder.ins().brif(condition, exit, &[], go_on, &[]);
        self.builder.switch_to_block(go_on);
    }
}

impl<'a, 'b> Handler<'a, 'b> {
    /// A handler whose parameters are the machine's registers.
    pub fn new(
        builder: &'a mut FunctionBuilder<'b>,
        registers: [Value; 7],
        signature: SigRef,
        return_across: FuncRef,
    ) -> Self {
        let [pc, frame, memory, instance, activation, integer, float] = registers;
        Handler {
            builder,
            pc,
            frame,
            memory,
            instance,
            activation,
            integer,
            float,
            signature,
            return_across,
            exits: Vec::new(),
            entry: registers,
        }
    }

    fn exit(&mut self, reason: Reason) -> Block {
        if let Some((_, block)) = self.exits.iter().find(|(known, _)| *known == reason) {
            return *block;
        }
        let block = self.builder.create_block();
        self.builder.set_cold_block(block);
        self.exits.push((reason, block));
        block
    }

    /// Writes the ways to the runtime that the handler needs.
    pub fn finish(&mut self) {
        [
            self.pc,
            self.frame,
            self.memory,
            self.instance,
            self.activation,
            self.integer,
            self.float,
        ] = self.entry;
        for (reason, block) in std::mem::take(&mut self.exits) {
            self.builder.switch_to_block(block);
            self.leave(reason);
        }
    }

    /// Returns to the runtime at this instruction.
    pub fn leave(&mut self, reason: Reason) {
        self.leave_at(self.pc, reason);
    }

    /// Returns to the runtime, which goes on at an address.
    pub fn leave_at(&mut self, pc: Value, reason: Reason) {
        let (frame, instance) = (self.frame, self.instance);
        self.store(pc, self.activation, activation::PC);
        self.store(frame, self.activation, activation::FRAME);
        self.store(instance, self.activation, activation::INSTANCE);
        let reason = self.builder.ins().iconst(I64, reason as i64);
        self.builder.ins().return_(&[reason]);
    }

    fn registers(&self, pc: Value) -> [Value; 7] {
        [
            pc,
            self.frame,
            self.memory,
            self.instance,
            self.activation,
            self.integer,
            self.float,
        ]
    }

    /// Gives up the register of the accumulator of integers.
    pub fn forget_integer(&mut self) {
        self.integer = self.activation;
    }

    /// The content of the accumulator of a kind of number.
    pub fn kept(&mut self, kind: Number) -> Value {
        let b = &mut self.builder;
        match kind {
            Number::I32 => b.ins().ireduce(I32, self.integer),
            Number::I64 => self.integer,
            Number::F32 => {
                let vector = b.ins().bitcast(F32X4, LITTLE, self.float);
                b.ins().extractlane(vector, 0)
            }
            Number::F64 => b.ins().extractlane(self.float, 0),
            Number::V128 => self.float,
        }
    }

    /// Puts a value into the accumulator of a kind of number.
    pub fn keep(&mut self, kind: Number, value: Value) {
        let b = &mut self.builder;
        match kind {
            Number::I32 => self.integer = b.ins().uextend(I64, value),
            Number::I64 => self.integer = value,
            Number::F32 => {
                let vector = b.ins().scalar_to_vector(F32X4, value);
                self.float = b.ins().bitcast(F64X2, LITTLE, vector);
            }
            Number::F64 => self.float = b.ins().scalar_to_vector(F64X2, value),
            Number::V128 => self.float = value,
        }
    }

    /// Goes on at an address.
    pub fn dispatch(&mut self, pc: Value) {
        let handler = self.load(pc, 0);
        let registers = self.registers(pc);
        self.builder
            .ins()
            .return_call_indirect(self.signature, handler, &registers);
    }

    /// Goes on behind this instruction, which has so many bytes.
    pub fn next(&mut self, bytes: usize) {
        let handler = self.load(self.pc, bytes as i32);
        let pc = self.builder.ins().iadd_imm_s(self.pc, bytes as i64);
        let registers = self.registers(pc);
        self.builder
            .ins()
            .return_call_indirect(self.signature, handler, &registers);
    }

    /// Takes one off the budget; if none is left, the runtime is asked, and goes on at the address.
    pub fn charge(&mut self, pc: Value) {
        let budget = self.load(self.activation, activation::BUDGET);
        let rest = self.builder.ins().iadd_imm_s(budget, -1);
        self.store(rest, self.activation, activation::BUDGET);
        let used_up = self
            .builder
            .ins()
            .icmp_imm_s(IntCC::SignedLessThan, rest, 0);
        let ask = self.builder.create_block();
        let go_on = self.builder.create_block();
        self.builder.set_cold_block(ask);
        self.builder.ins().brif(used_up, ask, &[], go_on, &[]);
        self.builder.switch_to_block(ask);
        self.leave_at(pc, Reason::Budget);
        self.builder.switch_to_block(go_on);
    }

    // Memory that the machine owns.

    pub fn load(&mut self, base: Value, offset: i32) -> Value {
        self.load_as(I64, base, offset)
    }

    pub fn load_as(&mut self, kind: Type, base: Value, offset: i32) -> Value {
        self.builder.ins().load(kind, TRUSTED, base, offset)
    }

    pub fn store(&mut self, value: Value, base: Value, offset: i32) {
        self.builder.ins().store(TRUSTED, value, base, offset);
    }

    /// The word of an array that an index names.
    pub fn element(&mut self, base: Value, index: Value) -> Value {
        let offset = self.builder.ins().ishl_imm_u(index, 3);
        let place = self.builder.ins().iadd(base, offset);
        self.load(place, 0)
    }

    // Operands.

    /// An operand of 16 bits, without a sign.
    pub fn short(&mut self, at: i32) -> Value {
        self.builder.ins().uload16(I64, TRUSTED, self.pc, at)
    }

    /// An operand of 32 bits, without a sign.
    pub fn long(&mut self, at: i32) -> Value {
        self.builder.ins().uload32(TRUSTED, self.pc, at)
    }

    /// An operand of 32 bits with a sign.
    pub fn long_signed(&mut self, at: i32) -> Value {
        self.builder.ins().sload32(TRUSTED, self.pc, at)
    }

    /// An operand of 64 bits.
    pub fn wide(&mut self, at: i32) -> Value {
        self.load(self.pc, at)
    }

    /// Address of the slot that an operand names.
    pub fn slot(&mut self, at: i32) -> Value {
        let index = self.short(at);
        let offset = self.builder.ins().ishl_imm_u(index, 3);
        self.builder.ins().iadd(self.frame, offset)
    }

    /// Content of the slot that an operand names.
    pub fn operand(&mut self, kind: Type, at: i32) -> Value {
        let slot = self.slot(at);
        self.load_as(kind, slot, 0)
    }

    /// Writes the slot that the operand at 8 names.
    pub fn set_result(&mut self, value: Value) {
        let slot = self.slot(8);
        self.store(value, slot, 0);
    }

    /// A constant of an instruction: one of 32 bits is at a place, one of 64 bits at 16.
    pub fn constant(&mut self, kind: Number, at: i32) -> Value {
        let at = if kind.is_wide() { 16 } else { at };
        self.load_as(type_of(kind), self.pc, at)
    }

    /// Takes over another instance.
    pub fn set_instance(&mut self, instance: Value) {
        self.instance = instance;
        self.memory = self.load(instance, instance::MEMORY);
    }

    /// A constant byte distance from the instruction, at a place.
    pub fn target(&mut self, at: i32) -> Value {
        let distance = self.long_signed(at);
        self.builder.ins().iadd(self.pc, distance)
    }
}
