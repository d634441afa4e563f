//! Arithmetic on fixnums and doubles, and conversions between them.
//!
//! A fixnum is a word shifted by `SHIFT`, so sums need no conversion and overflow of the word is
//! overflow of the fixnum. Operations that may overflow exit to their state before the result is
//! used. A flonum is immediate or an object; unboxing handles both.

use canny_spesh::graph::{FixnumOperation, FloatFunction, FloatOperation, NodeId, Op};
use canny_tables::layout::{self, FIELD0, FIXNUM_SHIFT};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F64, I64};
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value};

use super::segment::Segment;
use crate::JitError;

const SHIFT: i64 = FIXNUM_SHIFT as i64;
/// Greatest distance of a shift; the bits of a fixnum less one.
const SHIFT_MAX: i64 = 61;

impl Segment<'_, '_> {
    pub(super) fn number(&mut self, id: NodeId, op: &Op) -> Result<(), JitError> {
        let value = match op {
            Op::Fixnum(operation, x, y, _) => self.fixnum(id, *operation, *x, *y)?,
            Op::FloatArithmetic(operation, x, y) => {
                let (x, y) = (self.value(*x), self.value(*y));
                let ins = self.builder.ins();
                match operation {
                    FloatOperation::Add => ins.fadd(x, y),
                    FloatOperation::Subtract => ins.fsub(x, y),
                    FloatOperation::Multiply => ins.fmul(x, y),
                    FloatOperation::Divide => ins.fdiv(x, y),
                }
            }
            Op::FloatFunction(function, x, state) => {
                self.float_function(id, *function, *x, state.is_some())?
            }
            Op::FixnumToFloat(x) => {
                let x = self.value(*x);
                self.float_of_fixnum(x)
            }
            Op::FloatToFixnum(x, _) => self.fixnum_of_float(id, *x)?,
            Op::Unbox(x) => {
                let x = self.value(*x);
                self.unbox(x)
            }
            Op::NumberToFloat(x) => {
                let x = self.value(*x);
                self.float_of_number(x)
            }
            Op::Box(x) => {
                let x = self.value(*x);
                self.box_float(x)
            }
            _ => return Err(JitError::Invalid(format!("node {} is no number", id.0))),
        };
        self.define(id, value);
        Ok(())
    }

    // Fixnums.

    pub(super) fn fixnum(
        &mut self,
        id: NodeId,
        operation: FixnumOperation,
        x: NodeId,
        y: NodeId,
    ) -> Result<Value, JitError> {
        use FixnumOperation::{Add, And, Modulo, Multiply, Or, Quotient, Remainder, Shift};
        use FixnumOperation::{Subtract, Xor};
        Ok(match operation {
            Add => match (self.constant(x), self.constant(y)) {
                (_, Some(y)) => self.add_constant(id, x, y as i64)?,
                (Some(x), None) => self.add_constant(id, y, x as i64)?,
                (None, None) => {
                    let (x, y) = (self.value(x), self.value(y));
                    let (sum, overflow) = self.builder.ins().sadd_overflow(x, y);
                    self.exit_if(overflow, id)?;
                    sum
                }
            },
            Subtract => match self.constant(y) {
                Some(y) if y != i64::MIN as u64 => self.add_constant(id, x, -(y as i64))?,
                _ => {
                    let (x, y) = (self.value(x), self.value(y));
                    let (difference, overflow) = self.builder.ins().ssub_overflow(x, y);
                    self.exit_if(overflow, id)?;
                    difference
                }
            },
            Multiply => {
                // A constant is the one that loses its tag.
                let (x, y) = if self.constant(y).is_some() {
                    (y, x)
                } else {
                    (x, y)
                };
                let (x, y) = (self.untagged(x), self.value(y));
                let (product, overflow) = self.builder.ins().smul_overflow(x, y);
                self.exit_if(overflow, id)?;
                product
            }
            Quotient | Remainder | Modulo => self.division(id, operation, x, y)?,
            And => {
                let (x, y) = (self.value(x), self.value(y));
                self.builder.ins().band(x, y)
            }
            Or => {
                let (x, y) = (self.value(x), self.value(y));
                self.builder.ins().bor(x, y)
            }
            Xor => {
                let (x, y) = (self.value(x), self.value(y));
                self.builder.ins().bxor(x, y)
            }
            Shift => self.shift(id, x, y)?,
        })
    }

    fn untagged(&mut self, x: NodeId) -> Value {
        match self.constant(x) {
            Some(word) => self.word((word as i64 >> SHIFT) as u64),
            None => {
                let x = self.value(x);
                self.builder.ins().sshr_imm_u(x, SHIFT)
            }
        }
    }

    /// A comparison tells the overflow of a known addend more cheaply than the flag.
    fn add_constant(&mut self, id: NodeId, x: NodeId, addend: i64) -> Result<Value, JitError> {
        let x = self.value(x);
        if addend == 0 {
            return Ok(x);
        }
        let sum = self.builder.ins().iadd_imm_s(x, addend);
        let condition = if addend > 0 {
            IntCC::SignedLessThan
        } else {
            IntCC::SignedGreaterThan
        };
        let overflow = self.builder.ins().icmp(condition, sum, x);
        self.exit_if(overflow, id)?;
        Ok(sum)
    }

    /// Words are multiples of four, so no divisor is minus one for the machine and no quotient of words
    /// overflows; one quotient is no fixnum.
    fn division(
        &mut self,
        id: NodeId,
        operation: FixnumOperation,
        x: NodeId,
        y: NodeId,
    ) -> Result<Value, JitError> {
        let divisor = self.constant(y).map(|word| word as i64);
        let (x, y) = (self.value(x), self.value(y));
        match divisor {
            Some(0) => {
                let always = self.word(1);
                self.exit_if(always, id)?;
                return Ok(x);
            }
            Some(divisor) if operation == FixnumOperation::Modulo && is_power_of_two(divisor) => {
                return Ok(self.builder.ins().band_imm_s(x, divisor - 1));
            }
            Some(_) => {}
            None => {
                self.exit_unless(y, id)?;
            }
        }
        if operation == FixnumOperation::Quotient {
            let quotient = self.builder.ins().sdiv(x, y);
            if divisor.is_none_or(|divisor| divisor == -1 << SHIFT) {
                let outside = self.word(1 << SHIFT_MAX);
                let lost = self.builder.ins().icmp(IntCC::Equal, quotient, outside);
                self.exit_if(lost, id)?;
            }
            return Ok(self.builder.ins().ishl_imm_u(quotient, SHIFT));
        }
        let remainder = self.builder.ins().srem(x, y);
        if operation == FixnumOperation::Remainder {
            return Ok(remainder);
        }
        let signs = self.builder.ins().bxor(remainder, y);
        let differ = self
            .builder
            .ins()
            .icmp_imm_s(IntCC::SignedLessThan, signs, 0);
        let adjusted = self.builder.ins().iadd(remainder, y);
        let floored = self.builder.ins().select(differ, adjusted, remainder);
        let inexact = self.builder.ins().icmp_imm_s(IntCC::NotEqual, remainder, 0);
        Ok(self.builder.ins().select(inexact, floored, remainder))
    }

    fn shift(&mut self, id: NodeId, x: NodeId, y: NodeId) -> Result<Value, JitError> {
        let count = self.constant(y).map(|word| word as i64 >> SHIFT);
        let x = self.value(x);
        if let Some(count) = count {
            return if !(-SHIFT_MAX..=SHIFT_MAX).contains(&count) {
                let always = self.word(1);
                self.exit_if(always, id)?;
                Ok(x)
            } else if count <= 0 {
                let shifted = self.builder.ins().sshr_imm_u(x, -count);
                Ok(self.builder.ins().band_imm_s(shifted, !3))
            } else {
                let count = self.word(count as u64);
                self.shift_left(id, x, count)
            };
        }
        let y = self.value(y);
        let (right, left, done) = (self.new_block(), self.new_block(), self.new_block());
        let result = self.builder.append_block_param(done, I64);
        let negative = self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, y, 0);
        self.builder.ins().brif(negative, right, &[], left, &[]);
        self.begin(right);
        let count = self.builder.ins().ineg(y);
        let count = self.shift_count(id, count)?;
        let shifted = self.builder.ins().sshr(x, count);
        let cleared = self.builder.ins().band_imm_s(shifted, !3);
        self.builder.ins().jump(done, &[cleared.into()]);
        self.begin(left);
        let count = self.shift_count(id, y)?;
        let shifted = self.shift_left(id, x, count)?;
        self.builder.ins().jump(done, &[shifted.into()]);
        self.begin(done);
        Ok(result)
    }

    fn shift_count(&mut self, id: NodeId, tagged: Value) -> Result<Value, JitError> {
        let count = self.builder.ins().ushr_imm_u(tagged, SHIFT);
        let large = self
            .builder
            .ins()
            .icmp_imm_s(IntCC::UnsignedGreaterThan, count, SHIFT_MAX);
        self.exit_if(large, id)?;
        Ok(count)
    }

    fn shift_left(&mut self, id: NodeId, x: Value, count: Value) -> Result<Value, JitError> {
        let shifted = self.builder.ins().ishl(x, count);
        let back = self.builder.ins().sshr(shifted, count);
        let lost = self.builder.ins().icmp(IntCC::NotEqual, back, x);
        self.exit_if(lost, id)?;
        Ok(shifted)
    }

    // Floats.

    fn float_function(
        &mut self,
        id: NodeId,
        function: FloatFunction,
        x: NodeId,
        has_state: bool,
    ) -> Result<Value, JitError> {
        let x = self.value(x);
        if function == FloatFunction::SquareRoot && has_state {
            let zero = self.builder.ins().f64const(0.0);
            let negative = self.builder.ins().fcmp(FloatCC::LessThan, x, zero);
            self.exit_if(negative, id)?;
        }
        Ok(self.rounded(function, x))
    }

    /// A float function without a side exit.
    pub(super) fn rounded(&mut self, function: FloatFunction, x: Value) -> Value {
        let ins = self.builder.ins();
        match function {
            FloatFunction::Absolute => ins.fabs(x),
            FloatFunction::SquareRoot => ins.sqrt(x),
            FloatFunction::Floor => ins.floor(x),
            FloatFunction::Ceiling => ins.ceil(x),
            FloatFunction::Truncate => ins.trunc(x),
            FloatFunction::Round => ins.nearest(x),
            FloatFunction::Negate => ins.fneg(x),
        }
    }

    pub(super) fn float_of_fixnum(&mut self, x: Value) -> Value {
        let integer = self.builder.ins().sshr_imm_u(x, SHIFT);
        self.builder.ins().fcvt_from_sint(F64, integer)
    }

    fn fixnum_of_float(&mut self, id: NodeId, x: NodeId) -> Result<Value, JitError> {
        let x = self.value(x);
        self.fixnum_of_double(id, x)
    }

    pub(super) fn fixnum_of_double(&mut self, id: NodeId, x: Value) -> Result<Value, JitError> {
        let integer = self.builder.ins().fcvt_to_sint_sat(I64, x);
        let back = self.builder.ins().fcvt_from_sint(F64, integer);
        let other = self.builder.ins().fcmp(FloatCC::NotEqual, x, back);
        self.exit_if(other, id)?;
        let tagged = self.builder.ins().ishl_imm_u(integer, SHIFT);
        let again = self.builder.ins().sshr_imm_u(tagged, SHIFT);
        let large = self.builder.ins().icmp(IntCC::NotEqual, again, integer);
        self.exit_if(large, id)?;
        Ok(tagged)
    }

    /// The double in a flonum.
    pub(super) fn unbox(&mut self, x: Value) -> Value {
        let (object, word, done) = (self.cold_block(), self.new_block(), self.new_block());
        let in_word = self.is_flonum_in_word(x);
        self.builder.ins().brif(in_word, word, &[], object, &[]);
        self.take_double(x, [object, word], done)
    }

    /// Whether a flonum is no object. Their tags differ in one bit.
    pub(super) fn is_flonum_in_word(&mut self, flonum: Value) -> Value {
        const BIT: u64 = 2;
        const _: () = assert!(layout::TAG_OBJECT & BIT == 0);
        self.builder.ins().band_imm_s(flonum, BIT as i64)
    }

    /// The double in a value if it is a flonum; goes to `no` otherwise.
    pub(super) fn guarded_double(&mut self, x: Value, no: Block) -> Value {
        let (object, word, done) = (self.cold_block(), self.new_block(), self.new_block());
        self.flonum_test(x, [object, word], no);
        self.take_double(x, [object, word], done)
    }

    /// Takes the double out of a flonum that is an object, or not; continues in `done`.
    fn take_double(&mut self, x: Value, [object, word]: [Block; 2], done: Block) -> Value {
        let result = self.builder.append_block_param(done, F64);
        self.begin(object);
        let there = self.load(F64, x, FIELD0);
        self.builder.ins().jump(done, &[there.into()]);
        self.begin(word);
        let number = self.double_of_word(x);
        self.builder.ins().jump(done, &[number.into()]);
        self.begin(done);
        result
    }

    /// The double of a flonum that is no object.
    pub(super) fn double_of_word(&mut self, x: Value) -> Value {
        let bits = self.builder.ins().iadd_imm_s(x, 1);
        let bits = self.builder.ins().rotr_imm_u(bits, 4);
        self.builder.ins().bitcast(F64, MemFlagsData::new(), bits)
    }

    fn float_of_number(&mut self, x: Value) -> Value {
        let (fixnum, flonum, done) = (self.new_block(), self.new_block(), self.new_block());
        let result = self.builder.append_block_param(done, F64);
        let tag = self.builder.ins().band_imm_s(x, 3);
        self.builder.ins().brif(tag, flonum, &[], fixnum, &[]);
        self.begin(fixnum);
        let number = self.float_of_fixnum(x);
        self.builder.ins().jump(done, &[number.into()]);
        self.begin(flonum);
        let number = self.unbox(x);
        self.builder.ins().jump(done, &[number.into()]);
        self.begin(done);
        result
    }
}

fn is_power_of_two(word: i64) -> bool {
    word > 0 && word & (word - 1) == 0
}
