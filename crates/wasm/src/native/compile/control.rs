//! Blocks, loops, branches.
//!
//! Values of a branch are parameters of the block that it leads to. Where code is entered at a loop, blocks
//! around that loop take all operands: a jump back to an outer loop comes again to what was before the
//! entrance, with operands of its own.

use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, JumpTableData, Type, Value};
use wasmparser::{BlockType, BrTable, ValType};

use super::catches::Clause;
use super::unroll::Copies;
use super::{Compiler, Refusal, kind_of};
use crate::code::LoopOperand;
use crate::definitions;

/// The kind of a block.
#[derive(Debug)]
pub enum Kind {
    Block,
    /// With the block at which it begins, and the place where its turns begin.
    Loop(Block, Turn),
    /// With the block of the other branch, and the parameters there.
    If(Block, Vec<Value>),
    Else,
    /// With the clauses that catch exceptions inside of it.
    Try(Vec<Clause>),
    Function,
}

/// The turn of a loop that is being compiled.
#[derive(Debug)]
pub struct Turn {
    /// Where the next one begins.
    next: Block,
    /// The copies that follow, if there is more than one.
    copies: Option<Copies>,
}

/// A block that is open.
#[derive(Debug)]
pub struct Control {
    pub(super) kind: Kind,
    /// Operands below its parameters.
    height: usize,
    parameters: Vec<Type>,
    results: Vec<Type>,
    /// The block behind it.
    exit: Block,
    /// Whether its blocks take the operands below its parameters too.
    takes_all: bool,
}

fn arguments(values: &[Value]) -> Vec<BlockArg> {
    values.iter().map(|value| BlockArg::Value(*value)).collect()
}

impl Compiler<'_, '_> {
    pub(super) fn block_type(&self, kind: BlockType) -> (Vec<Type>, Vec<Type>) {
        match kind {
            BlockType::Empty => (Vec::new(), Vec::new()),
            BlockType::Type(kind) => {
                let of = match kind {
                    ValType::I32 => cranelift_codegen::ir::types::I32,
                    ValType::F32 => cranelift_codegen::ir::types::F32,
                    ValType::F64 => cranelift_codegen::ir::types::F64,
                    ValType::V128 => cranelift_codegen::ir::types::I8X16,
                    ValType::I64 | ValType::Ref(_) => cranelift_codegen::ir::types::I64,
                };
                (Vec::new(), vec![of])
            }
            BlockType::FuncType(index) => {
                let number = self.module.parts().types[index as usize];
                let kind = definitions::function_type(number);
                let parameters = kind.parameters.iter().map(|kind| kind_of(*kind));
                let results = kind.results.iter().map(|kind| kind_of(*kind));
                (parameters.collect(), results.collect())
            }
        }
    }

    fn block_with(&mut self, parameters: &[Type]) -> Block {
        let block = self.b.create_block();
        for of in parameters {
            self.b.append_block_param(block, *of);
        }
        block
    }

    /// Types of operands that a block takes besides its own ones, if it takes all.
    fn below(&self, parameters: usize) -> Vec<Type> {
        if self.entrance.is_none() {
            return Vec::new();
        }
        let below = &self.stack[..self.stack.len() - parameters];
        let kinds = below.iter().map(|value| self.b.func.dfg.value_type(*value));
        kinds.collect()
    }

    pub(super) fn open(&mut self, kind: Kind, parameters: Vec<Type>, results: Vec<Type>) {
        let mut taken = self.below(parameters.len());
        taken.extend(&results);
        let exit = self.block_with(&taken);
        self.control.push(Control {
            kind,
            height: self.stack.len() - parameters.len(),
            parameters,
            results,
            exit,
            takes_all: self.entrance.is_some(),
        });
    }

    pub(super) fn open_function(&mut self, results: Vec<Type>) {
        self.open(Kind::Function, Vec::new(), results);
    }

    pub(super) fn open_block(&mut self, block: BlockType) {
        let (parameters, results) = self.block_type(block);
        self.open(Kind::Block, parameters, results);
    }

    pub(super) fn open_loop(&mut self, block: BlockType) {
        let (parameters, results) = self.block_type(block);
        if self.from == Some(self.offset) {
            self.enter_here();
        }
        // Blocks that take all operands have no copies.
        let copies = self.copies.take().filter(|_| self.entrance.is_none());
        let mut taken = self.below(parameters.len());
        let first = self.stack.len() - parameters.len() - taken.len();
        taken.extend(&parameters);
        let header = self.block_with(&taken);
        let values = arguments(&self.stack[first..]);
        self.b.ins().jump(header, &values);
        self.stack.truncate(first);
        self.b.switch_to_block(header);
        let values = self.b.block_params(header).to_vec();
        self.stack.extend(values);
        let next = match copies {
            Some(_) => self.block_with(&taken),
            None => header,
        };
        let turn = Turn { next, copies };
        self.open(Kind::Loop(header, turn), parameters, results);
        match copies {
            Some(Copies { left, .. }) => {
                self.charge(i64::from(left) + 1);
                self.add_to_budget(i64::from(left));
            }
            None => self.charge(1),
        }
    }

    /// Begins the next copy of the innermost loop, if there is one.
    fn open_copy(&mut self) -> bool {
        let Some(control) = self.control.last_mut() else {
            return false;
        };
        let Kind::Loop(header, turn) = &mut control.kind else {
            return false;
        };
        let Some(copies) = turn.copies.as_mut().filter(|copies| copies.left > 0) else {
            return false;
        };
        copies.left -= 1;
        self.again = Some(copies.begin);
        let (header, here, is_last) = (*header, turn.next, copies.left == 0);
        let (height, parameters) = (control.height, control.parameters.clone());
        let next = if is_last {
            header
        } else {
            self.block_with(&parameters)
        };
        if let Some(Kind::Loop(_, turn)) = self.control.last_mut().map(|control| &mut control.kind)
        {
            turn.next = next;
        }
        self.b.switch_to_block(here);
        self.b.seal_block(here);
        self.stack.truncate(height);
        let values = self.b.block_params(here).to_vec();
        self.stack.extend(values);
        self.add_to_budget(-1);
        true
    }

    /// Lets the code be entered here. All operands become parameters of a block, since those of the code
    /// before are others.
    fn enter_here(&mut self) {
        let Some((entrance, frame)) = self.entrance.take() else {
            return;
        };
        let kinds: Vec<Type> = self
            .stack
            .iter()
            .map(|value| self.b.func.dfg.value_type(*value))
            .collect();
        let here = self.block_with(&kinds);
        let values = arguments(&self.stack);
        self.b.ins().jump(here, &values);
        self.b.switch_to_block(entrance);
        let operands = std::mem::take(&mut self.from_operands);
        let mut values = Vec::new();
        for (of, operand) in kinds.iter().zip(operands) {
            values.push(match operand {
                LoopOperand::Slot(slot) => self.slot(frame, slot as usize, *of),
                LoopOperand::Constant(bits) => self.constant_of(*of, bits),
            });
        }
        let values = arguments(&values);
        self.b.ins().jump(here, &values);
        self.b.switch_to_block(here);
        self.b.seal_block(here);
        self.stack = self.b.block_params(here).to_vec();
    }

    fn constant_of(&mut self, of: Type, bits: u64) -> Value {
        use cranelift_codegen::ir::types::{F32, F64, I32};
        match of {
            I32 => self.b.ins().iconst(I32, bits as u32 as i64),
            F32 => {
                let bits = cranelift_codegen::ir::immediates::Ieee32::with_bits(bits as u32);
                self.b.ins().f32const(bits)
            }
            F64 => {
                let bits = cranelift_codegen::ir::immediates::Ieee64::with_bits(bits);
                self.b.ins().f64const(bits)
            }
            other => self.b.ins().iconst(other, bits as i64),
        }
    }

    pub(super) fn open_if(&mut self, block: BlockType) {
        let (parameters, results) = self.block_type(block);
        let condition = self.pop();
        let (then, other) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(condition, then, &[], other, &[]);
        self.b.switch_to_block(then);
        self.b.seal_block(then);
        self.b.seal_block(other);
        let first = self.stack.len() - parameters.len() - self.below(parameters.len()).len();
        let values = self.stack[first..].to_vec();
        self.open(Kind::If(other, values), parameters, results);
    }

    pub(super) fn open_else(&mut self) {
        if self.unreachable.take().is_none() {
            self.fall_through();
        }
        let Some(control) = self.control.last_mut() else {
            return;
        };
        let Kind::If(other, values) = std::mem::replace(&mut control.kind, Kind::Else) else {
            return;
        };
        let kept = if control.takes_all { 0 } else { control.height };
        self.stack.truncate(kept);
        self.stack.extend(values);
        self.b.switch_to_block(other);
    }

    /// Jumps behind the innermost block with its results.
    fn fall_through(&mut self) {
        let Some(control) = self.control.last() else {
            return;
        };
        let values = self.values_for(control, control.results.len());
        let exit = control.exit;
        self.b.ins().jump(exit, &values);
    }

    pub(super) fn close(&mut self) {
        if self.unreachable.take().is_none() {
            self.fall_through();
        }
        if self.open_copy() {
            return;
        }
        let Some(control) = self.control.pop() else {
            return;
        };
        match &control.kind {
            Kind::If(other, values) => {
                // Without the other branch, parameters are results.
                self.b.switch_to_block(*other);
                let values = arguments(values);
                self.b.ins().jump(control.exit, &values);
            }
            Kind::Loop(header, _) => self.b.seal_block(*header),
            _ => {}
        }
        self.b.switch_to_block(control.exit);
        self.b.seal_block(control.exit);
        let kept = if control.takes_all { 0 } else { control.height };
        self.stack.truncate(kept);
        let results = self.b.block_params(control.exit).to_vec();
        self.stack.extend(results);
        if matches!(control.kind, Kind::Function) {
            self.write_return(control.results.len());
        }
    }

    fn write_return(&mut self, count: usize) {
        let first = self.stack.len() - count;
        let mut values = vec![self.b.use_var(self.budget)];
        values.extend(&self.stack[first..]);
        self.b.ins().return_(&values);
    }

    /// Returns the newest operands.
    pub(super) fn give_results(&mut self) {
        let count = self.control[0].results.len();
        self.write_return(count);
        self.unreachable = Some(0);
    }

    /// The values of a branch to a block, of which it takes so many of the newest operands.
    fn values_for(&self, control: &Control, count: usize) -> Vec<BlockArg> {
        let first = self.stack.len() - count;
        let mut values = Vec::new();
        if control.takes_all {
            values.extend(arguments(&self.stack[..control.height]));
        }
        values.extend(arguments(&self.stack[first..]));
        values
    }

    /// The block that a branch leads to, and the values that it takes there.
    pub(super) fn branch_values(&self, depth: u32) -> (Block, Vec<BlockArg>) {
        let control = &self.control[self.control.len() - 1 - depth as usize];
        let (block, count) = match &control.kind {
            Kind::Loop(_, turn) => (turn.next, control.parameters.len()),
            _ => (control.exit, control.results.len()),
        };
        (block, self.values_for(control, count))
    }

    pub(super) fn branch(&mut self, depth: u32) {
        let (block, values) = self.branch_values(depth);
        self.b.ins().jump(block, &values);
        self.unreachable = Some(0);
    }

    /// Branches if a condition holds, or if it does not.
    pub(super) fn branch_if(&mut self, condition: Value, wanted: bool, depth: u32) {
        let (target, values) = self.branch_values(depth);
        let go_on = self.b.create_block();
        // The budget behind a loop is computed where the branch is taken.
        let edge = self.leaves_copies(depth).then(|| self.b.create_block());
        let (block, taken) = match edge {
            Some(edge) => (edge, &[][..]),
            None => (target, &values[..]),
        };
        if wanted {
            self.b.ins().brif(condition, block, taken, go_on, &[]);
        } else {
            self.b.ins().brif(condition, go_on, &[], block, taken);
        }
        if let Some(edge) = edge {
            self.b.switch_to_block(edge);
            self.b.seal_block(edge);
            self.b.ins().jump(target, &values);
        }
        self.b.switch_to_block(go_on);
        self.b.seal_block(go_on);
    }

    /// Whether a branch leads out of a loop that has copies.
    fn leaves_copies(&self, depth: u32) -> bool {
        let inner = &self.control[self.control.len() - depth as usize..];
        inner.iter().any(|control| match &control.kind {
            Kind::Loop(_, turn) => turn.copies.is_some(),
            _ => false,
        })
    }

    pub(super) fn branch_table(&mut self, table: &BrTable) -> Result<(), Refusal> {
        let index = self.pop();
        let call = |compiler: &mut Self, depth: u32| {
            let (block, values) = compiler.branch_values(depth);
            compiler.b.func.dfg.block_call(block, &values)
        };
        let mut calls = Vec::new();
        for depth in table.targets() {
            let depth = depth.map_err(super::unreadable)?;
            calls.push(call(self, depth));
        }
        let other = call(self, table.default());
        let data = JumpTableData::new(other, &calls);
        let data = self.b.create_jump_table(data);
        self.b.ins().br_table(index, data);
        self.unreachable = Some(0);
        Ok(())
    }
}
