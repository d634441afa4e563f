//! Lowers functions of one value that its kind answers: predicates of numbers, and functions that are
//! the identity of most numbers.
//!
//! Owns the tables of both. The leaf function is called on a cold path for values of other kinds, and
//! for those that are an error.

use canny_spesh::graph::{FloatFunction, NodeId};
use canny_tables::kinds::Kind;
use canny_tables::layout::{self, FIELD0, FIXNUM_SHIFT, FLAG_NEGATIVE};
use canny_tables::leaves::LeafId;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder, Value};

use super::segment::{Segment, TRUSTED};
use crate::JitError;

/// The one of fixnums.
const ONE: u64 = 1 << FIXNUM_SHIFT;

/// The tags of words, and behind them the kinds of objects.
const ROWS: usize = 8 + 256;

/// The truth value for each tag and kind; [`ASK`] where the leaf function has to be asked.
type Answers = [u16; ROWS];

const ASK: u16 = 0;
const YES: u16 = layout::TRUE as u16;
const NO: u16 = layout::FALSE as u16;
const _: () = assert!(YES as u64 == layout::TRUE && NO as u64 == layout::FALSE);

/// The answers of a predicate for the kinds of numbers, and for what is no number. Words that are flonums
/// are finite.
struct Predicate {
    fixnum: u16,
    /// A flonum in a word.
    word: u16,
    /// A flonum that is an object.
    flonum: u16,
    bignum: u16,
    ratnum: u16,
    compnum: u16,
    other: u16,
}

impl Predicate {
    const fn answers(self) -> Answers {
        let mut rows = [self.other; ROWS];
        let mut tag = 0;
        while tag < 8 {
            rows[tag] = match tag as u64 {
                0 | 4 => self.fixnum,
                layout::TAG_PAIR | layout::TAG_OBJECT | layout::TAG_IMMEDIATE => self.other,
                _ => self.word,
            };
            tag += 1;
        }
        rows[8 + Kind::Flonum as usize] = self.flonum;
        rows[8 + Kind::Bignum as usize] = self.bignum;
        rows[8 + Kind::Ratnum as usize] = self.ratnum;
        rows[8 + Kind::Compnum as usize] = self.compnum;
        rows
    }
}

macro_rules! predicates {
    ($($table:ident $name:literal: $fixnum:ident $word:ident $flonum:ident $bignum:ident $ratnum:ident
       $compnum:ident $other:ident;)*) => {
        $(
            static $table: Answers = Predicate {
                fixnum: $fixnum,
                word: $word,
                flonum: $flonum,
                bignum: $bignum,
                ratnum: $ratnum,
                compnum: $compnum,
                other: $other,
            }
            .answers();
        )*

        fn answers(primitive: &str) -> Option<&'static Answers> {
            match primitive {
                $($name => Some(&$table),)*
                _ => None,
            }
        }
    };
}

predicates! {
    // fixnum, flonum in a word, flonum object, bignum, ratnum, compnum, anything else
    NUMBER "number?": YES YES YES YES YES YES NO;
    COMPLEX "complex?": YES YES YES YES YES YES NO;
    REAL "real?": YES YES YES YES YES NO NO;
    RATIONAL "rational?": YES YES ASK YES YES NO NO;
    INTEGER "integer?": YES ASK ASK YES NO NO NO;
    EXACT_INTEGER "exact-integer?": YES NO NO YES NO NO NO;
    EXACT_RATIONAL "exact-rational?": YES NO NO YES YES NO NO;
    EXACT "exact?": YES NO NO YES YES ASK ASK;
    INEXACT "inexact?": NO YES YES NO NO ASK ASK;
    NAN "nan?": NO NO ASK NO NO ASK ASK;
    FINITE "finite?": YES YES ASK YES YES ASK ASK;
    INFINITE "infinite?": NO NO ASK NO NO ASK ASK;
}

/// A function and the operands for which it needs no call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    /// The identity of exact integers, and a rounding of flonums.
    Rounding(FloatFunction),
    /// The identity of exact real numbers, and the fixnum of a flonum.
    Exact,
    /// The flonum of a fixnum, and the identity of flonums.
    Inexact,
    Absolute,
    Negate,
    Numerator,
    Denominator,
    Even,
    Odd,
}

impl Function {
    fn of(primitive: &str) -> Option<Function> {
        Some(match primitive {
            "floor" => Function::Rounding(FloatFunction::Floor),
            "ceiling" => Function::Rounding(FloatFunction::Ceiling),
            "truncate" => Function::Rounding(FloatFunction::Truncate),
            "round" => Function::Rounding(FloatFunction::Round),
            "exact" => Function::Exact,
            "inexact" => Function::Inexact,
            "abs" | "magnitude" => Function::Absolute,
            "-" => Function::Negate,
            "numerator" => Function::Numerator,
            "denominator" => Function::Denominator,
            "even?" => Function::Even,
            "odd?" => Function::Odd,
            _ => return None,
        })
    }
}

impl Segment<'_, '_> {
    /// A function of one value that its kind answers; false if the leaf function is another one.
    pub(super) fn function_by_kind(
        &mut self,
        id: NodeId,
        leaf: LeafId,
        operand: NodeId,
    ) -> Result<bool, JitError> {
        let primitive = leaf.row().primitive;
        let (answers, function) = (answers(primitive), Function::of(primitive));
        if answers.is_none() && function.is_none() {
            return Ok(false);
        }
        let leaf = self.leaf_function(leaf)?;
        let x = self.tagged(operand);
        let (slow, done) = (self.cold_block(), self.new_block());
        let result = self.builder.append_block_param(done, I64);
        if let Some(answers) = answers {
            let answer = self.answer_of(x, answers);
            self.builder
                .ins()
                .brif(answer, done, &[answer.into()], slow, &[]);
        } else if let Some(function) = function {
            self.function_of_kinds(id, function, x, slow, done)?;
        }
        self.begin(slow);
        let answer = self.call_leaf(id, leaf, &[operand])?;
        self.builder.ins().jump(done, &[answer.into()]);
        self.begin(done);
        self.define(id, result);
        Ok(true)
    }

    /// Goes to `done` with a value that is a number, and goes on in a block for others.
    pub(super) fn give_number(&mut self, x: NodeId, done: Block) {
        let x = self.value(x);
        let (number, other) = (self.new_block(), self.cold_block());
        let answer = self.answer_of(x, &NUMBER);
        let is_number = self.masked(answer, u64::MAX, layout::TRUE);
        self.builder.ins().brif(is_number, number, &[], other, &[]);
        self.begin(number);
        self.builder.ins().jump(done, &[x.into()]);
        self.begin(other);
    }

    /// The row of a table for a value.
    fn answer_of(&mut self, x: Value, answers: &'static Answers) -> Value {
        let (object, known) = (self.new_block(), self.new_block());
        let row = self.builder.append_block_param(known, I64);
        let tag = self.builder.ins().band_imm_s(x, layout::TAG_MASK as i64);
        let equal = IntCC::Equal;
        let is_object = self
            .builder
            .ins()
            .icmp_imm_s(equal, tag, layout::TAG_OBJECT as i64);
        self.builder
            .ins()
            .brif(is_object, object, &[], known, &[tag.into()]);
        self.begin(object);
        let kind = self.load_byte(x, layout::HEADER + 1);
        let behind = self.builder.ins().iadd_imm_s(kind, 8);
        self.builder.ins().jump(known, &[behind.into()]);
        self.begin(known);
        let table = self.word(answers.as_ptr() as u64);
        let scaled = self.builder.ins().ishl_imm_u(row, 1);
        let place = self.builder.ins().iadd(table, scaled);
        self.builder.ins().uload16(I64, TRUSTED, place, 0)
    }

    /// Computes the function of fixnums and of flonums in words, and gives bignums and ratios back; goes to
    /// `slow` with other values.
    fn function_of_kinds(
        &mut self,
        id: NodeId,
        function: Function,
        x: Value,
        slow: Block,
        done: Block,
    ) -> Result<(), JitError> {
        let (fixnum, other) = (self.new_block(), self.new_block());
        self.masked_branch(x, 3, 0, fixnum, other);
        self.begin(fixnum);
        let answer = self.of_fixnum(function, x, slow);
        self.builder.ins().jump(done, &[answer.into()]);
        self.begin(other);
        let (flonum, object) = (self.new_block(), self.new_block());
        let tag = self.builder.ins().band_imm_s(x, 6);
        let usual = self.builder.ins().icmp_imm_s(IntCC::Equal, tag, 2);
        self.builder.ins().brif(usual, flonum, &[], object, &[]);
        self.begin(flonum);
        match function {
            Function::Numerator | Function::Denominator | Function::Even | Function::Odd => {
                self.builder.ins().jump(slow, &[]);
            }
            _ => {
                let answer = self.of_flonum(id, function, x, slow)?;
                self.builder.ins().jump(done, &[answer.into()]);
            }
        }
        self.begin(object);
        self.of_object(function, x, slow, done);
        Ok(())
    }

    fn of_fixnum(&mut self, function: Function, x: Value, slow: Block) -> Value {
        match function {
            Function::Rounding(_) | Function::Exact | Function::Numerator => x,
            Function::Denominator => self.word(ONE),
            Function::Even | Function::Odd => {
                let bit = self.builder.ins().band_imm_s(x, ONE as i64);
                self.parity(function, bit)
            }
            Function::Inexact => {
                let double = self.float_of_fixnum(x);
                self.box_float(double)
            }
            Function::Absolute | Function::Negate => {
                let zero = self.word(0);
                let (opposite, overflow) = self.builder.ins().ssub_overflow(zero, x);
                let fits = self.new_block();
                self.builder.ins().brif(overflow, slow, &[], fits, &[]);
                self.begin(fits);
                match function {
                    Function::Absolute => self.builder.ins().smax(x, opposite),
                    _ => opposite,
                }
            }
        }
    }

    /// Of a flonum of the usual magnitudes, whose sign is the fourth bit of the word.
    fn of_flonum(
        &mut self,
        id: NodeId,
        function: Function,
        x: Value,
        slow: Block,
    ) -> Result<Value, JitError> {
        const SIGN: i64 = 8;
        Ok(match function {
            Function::Rounding(rounding) => {
                let double = self.double_of_word(x);
                let rounded = self.rounded(rounding, double);
                self.box_float(rounded)
            }
            Function::Exact => {
                let double = self.double_of_word(x);
                self.detour = Some(slow);
                let fixnum = self.fixnum_of_double(id, double);
                self.detour = None;
                fixnum?
            }
            Function::Absolute => self.builder.ins().band_imm_s(x, !SIGN),
            Function::Negate => self.builder.ins().bxor_imm_s(x, SIGN),
            _ => x,
        })
    }

    /// The truth value of a function for an integer whose lowest bit is zero or not.
    fn parity(&mut self, function: Function, bit: Value) -> Value {
        let wanted = match function {
            Function::Odd => IntCC::NotEqual,
            _ => IntCC::Equal,
        };
        let holds = self.builder.ins().icmp_imm_s(wanted, bit, 0);
        self.truth(holds)
    }

    /// The function of a bignum or a ratio; goes to `slow` with others.
    fn of_object(&mut self, function: Function, x: Value, slow: Block, done: Block) {
        let last = match function {
            Function::Inexact | Function::Negate => {
                self.builder.ins().jump(slow, &[]);
                return;
            }
            Function::Exact | Function::Numerator | Function::Denominator => Kind::Ratnum,
            _ => Kind::Bignum,
        };
        const _: () = assert!(Kind::Bignum as u8 + 1 == Kind::Ratnum as u8);
        let (object, exact) = (self.new_block(), self.new_block());
        self.masked_branch(x, layout::TAG_MASK, layout::TAG_OBJECT, object, slow);
        self.begin(object);
        let kind = self.load_byte(x, layout::HEADER + 1);
        let above = self.builder.ins().iadd_imm_s(kind, -(Kind::Bignum as i64));
        let kinds = last as i64 - Kind::Bignum as i64;
        let is_exact = self
            .builder
            .ins()
            .icmp_imm_s(IntCC::UnsignedLessThanOrEqual, above, kinds);
        self.builder.ins().brif(is_exact, exact, &[], slow, &[]);
        self.begin(exact);
        let answer = match function {
            Function::Absolute => {
                let negative = self.sign_flag(x);
                self.builder
                    .ins()
                    .brif(negative, slow, &[], done, &[x.into()]);
                return;
            }
            Function::Even | Function::Odd => {
                let limb = self.load(I64, x, FIELD0);
                let bit = self.builder.ins().band_imm_s(limb, 1);
                self.parity(function, bit)
            }
            Function::Numerator | Function::Denominator => {
                let (ratio, integer) = (self.new_block(), self.new_block());
                self.builder.ins().brif(above, ratio, &[], integer, &[]);
                self.begin(ratio);
                let is_above = function == Function::Numerator;
                let part = self.load(I64, x, if is_above { FIELD0 } else { FIELD0 + 8 });
                self.builder.ins().jump(done, &[part.into()]);
                self.begin(integer);
                if is_above { x } else { self.word(ONE) }
            }
            _ => x,
        };
        self.builder.ins().jump(done, &[answer.into()]);
    }

    /// A word that is not zero if a bignum is below zero.
    pub(super) fn sign_flag(&mut self, bignum: Value) -> Value {
        let flags = self.load_byte(bignum, layout::HEADER + 2);
        self.builder
            .ins()
            .band_imm_s(flags, i64::from(FLAG_NEGATIVE))
    }
}

#[cfg(test)]
mod tests {
    use canny_tables::leaves;

    use super::*;

    #[test]
    fn tables_are_of_leaf_functions() {
        let functions = leaves::ROWS.iter().filter(|row| row.arguments == 1);
        let known = functions.filter(|row| {
            answers(row.primitive).is_some() || Function::of(row.primitive).is_some()
        });
        assert_eq!(known.count(), 12 + 13);
    }
}
