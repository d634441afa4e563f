//! Constant expressions: initial values, offsets, elements.
//!
//! They are read once, and evaluated for each instance.

use wasmparser::{ConstExpr, Operator};

use crate::error::Error;

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

    /// Reads an expression that was validated.
    pub fn read(expression: &ConstExpr) -> Result<Constant, Error> {
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

    /// The value, with the values of global variables and the addresses of functions.
    pub fn evaluate(&self, global: impl Fn(u32) -> u128, function: impl Fn(u32) -> u64) -> u128 {
        let mut stack = Vec::new();
        for step in &self.steps {
            let value = match *step {
                Step::Value(bits) => bits,
                Step::Global(index) => global(index),
                Step::Function(index) => u128::from(function(index)),
                operation => {
                    // Validated: there are two operands, which are integers.
                    let y = stack.pop().unwrap_or(0) as u64;
                    let x = stack.pop().unwrap_or(0) as u64;
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
        stack.pop().unwrap_or(0)
    }
}
