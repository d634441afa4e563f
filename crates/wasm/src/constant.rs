//! Constant expressions: initial values, offsets, elements.
//!
//! They are read once, and evaluated for each instance.

use wasmparser::{ConstExpr, Operator};

use crate::error::{Error, Trap};
use crate::heap::{I31, I31_BITS};

/// A step of a constant expression.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A number's or a vector's bits, or the null reference.
    Value(u128),
    /// A global variable.
    Global(u32),
    /// A reference to a function.
    Function(u32),
    Add32,
    Sub32,
    Mul32,
    Add64,
    Sub64,
    Mul64,
    /// A small integer.
    Integer,
    /// A struct of a type with this number.
    Struct(u32),
    StructDefault(u32),
    /// An array of a type with this number.
    Array(u32),
    ArrayDefault(u32),
    /// The same with so many elements.
    ArrayFixed(u32, u32),
}

/// The things to which constant expressions refer; it makes objects for them.
pub trait Context {
    /// The value of a global variable.
    fn global(&self, index: u32) -> u128;
    /// The word for a function.
    fn function(&self, index: u32) -> u64;
    /// Makes a struct whose fields are the last values, and takes them; without them of zeros.
    fn structure(&mut self, kind: u32, values: Option<&mut Vec<u128>>) -> Result<u64, Trap>;
    /// Makes an array with these values; without them of zeros.
    fn array(&mut self, kind: u32, length: u32, values: ArrayValues) -> Result<u64, Trap>;
}

/// The elements of a new array.
pub enum ArrayValues {
    Zeros,
    /// All of them the same.
    Same(u128),
    Each(Vec<u128>),
}

/// A constant expression.
#[derive(Clone, Debug)]
pub struct Constant {
    steps: Vec<Step>,
}

impl Constant {
    /// The expression that gives a function.
    pub fn function(index: u32) -> Constant {
        Constant {
            steps: vec![Step::Function(index)],
        }
    }

    /// Reads an expression that was validated, in a module with these types.
    pub fn read(expression: &ConstExpr, types: &[u32]) -> Result<Constant, Error> {
        let kind = |index: u32| types[index as usize];
        let mut steps = Vec::new();
        for operator in expression.get_operators_reader() {
            let operator = operator?;
            steps.push(match operator {
                Operator::I32Const { value } => Step::Value(u128::from(value as u32)),
                Operator::I64Const { value } => Step::Value(u128::from(value as u64)),
                Operator::F32Const { value } => Step::Value(u128::from(value.bits())),
                Operator::F64Const { value } => Step::Value(u128::from(value.bits())),
                Operator::V128Const { value } => Step::Value(value.i128() as u128),
                Operator::RefNull { .. } => Step::Value(0),
                Operator::GlobalGet { global_index } => Step::Global(global_index),
                Operator::RefFunc { function_index } => Step::Function(function_index),
                Operator::I32Add => Step::Add32,
                Operator::I32Sub => Step::Sub32,
                Operator::I32Mul => Step::Mul32,
                Operator::I64Add => Step::Add64,
                Operator::I64Sub => Step::Sub64,
                Operator::I64Mul => Step::Mul64,
                Operator::RefI31 => Step::Integer,
                Operator::StructNew { struct_type_index } => Step::Struct(kind(struct_type_index)),
                Operator::StructNewDefault { struct_type_index } => {
                    Step::StructDefault(kind(struct_type_index))
                }
                Operator::ArrayNew { array_type_index } => Step::Array(kind(array_type_index)),
                Operator::ArrayNewDefault { array_type_index } => {
                    Step::ArrayDefault(kind(array_type_index))
                }
                Operator::ArrayNewFixed {
                    array_type_index,
                    array_size,
                } => Step::ArrayFixed(kind(array_type_index), array_size),
                // A word stays what it is.
                Operator::AnyConvertExtern | Operator::ExternConvertAny => continue,
                Operator::End => break,
                other => {
                    return Err(Error::Invalid {
                        text: format!("{other:?} is not supported in a constant expression"),
                        offset: expression.get_binary_reader().original_position(),
                    });
                }
            });
        }
        Ok(Constant { steps })
    }

    /// The value.
    pub fn evaluate(&self, context: &mut impl Context) -> Result<u128, Trap> {
        let mut stack = Vec::new();
        for step in &self.steps {
            // Validated: the operands are there.
            let mut pop = || stack.pop().unwrap_or(0);
            let value = match *step {
                Step::Value(bits) => bits,
                Step::Global(index) => context.global(index),
                Step::Function(index) => u128::from(context.function(index)),
                Step::Integer => u128::from(I31 | pop() as u64 & I31_BITS),
                Step::Struct(kind) => context.structure(kind, Some(&mut stack))?.into(),
                Step::StructDefault(kind) => context.structure(kind, None)?.into(),
                Step::Array(kind) => {
                    let length = pop() as u32;
                    let values = ArrayValues::Same(pop());
                    context.array(kind, length, values)?.into()
                }
                Step::ArrayDefault(kind) => {
                    let length = pop() as u32;
                    context.array(kind, length, ArrayValues::Zeros)?.into()
                }
                Step::ArrayFixed(kind, length) => {
                    let values = stack.split_off(stack.len() - length as usize);
                    context
                        .array(kind, length, ArrayValues::Each(values))?
                        .into()
                }
                operation => {
                    let y = pop() as u64;
                    let x = pop() as u64;
                    let narrow = |bits: u64| u64::from(bits as u32);
                    u128::from(match operation {
                        Step::Add32 => narrow(x.wrapping_add(y)),
                        Step::Sub32 => narrow(x.wrapping_sub(y)),
                        Step::Mul32 => narrow(x.wrapping_mul(y)),
                        Step::Add64 => x.wrapping_add(y),
                        Step::Sub64 => x.wrapping_sub(y),
                        _ => x.wrapping_mul(y),
                    })
                }
            };
            stack.push(value);
        }
        Ok(stack.pop().unwrap_or(0))
    }
}
