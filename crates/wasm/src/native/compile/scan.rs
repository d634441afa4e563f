//! A look at a function before it is compiled. It says if the function is fit for that, and what it does
//! that its code has to be prepared for.

use wasmparser::{FunctionBody, Operator};

use super::Refusal;
use crate::definitions;
use crate::module::Module;
use crate::types::FunctionType;

/// Most bytes of a function that is compiled.
const BYTES_MAX: usize = 256 << 10;

/// Most results of a function in registers.
const RESULTS_MAX: usize = 4;

/// Most parameters.
const PARAMETERS_MAX: usize = 64;

/// Most values of an object that is made at once.
const VALUES_MAX: usize = 48;

const UNKNOWN_TAIL_CALL: Refusal =
    Refusal::Unfit("it calls a function in its place that may be interpreted");

/// The contents of a function that matter.
#[derive(Clone, Default, Debug)]
pub struct Contents {
    /// Calls, or operations of the runtime.
    pub has_calls: bool,
    /// Blocks that catch exceptions.
    pub catches: bool,
    /// The module's own functions that it calls in its place. They have to be machine code too, since
    /// another frame would stay on the stack at each call.
    pub tail_callees: Vec<u32>,
}

fn check(kind: &FunctionType) -> Result<(), Refusal> {
    if kind.results.len() > RESULTS_MAX {
        return Err(Refusal::Unfit("a function has many results"));
    }
    if kind.parameters.len() > PARAMETERS_MAX {
        return Err(Refusal::Unfit("a function has many parameters"));
    }
    Ok(())
}

/// Looks at all operators of a function of some type.
pub fn scan(
    module: &Module,
    body: &FunctionBody,
    kind: &FunctionType,
) -> Result<Contents, Refusal> {
    use Operator as O;
    check(kind)?;
    if body.as_bytes().len() > BYTES_MAX {
        return Err(Refusal::Unfit("it is too long"));
    }
    let parts = module.parts();
    let mut contents = Contents::default();
    let operators = body.get_operators_reader().map_err(super::unreadable)?;
    for operator in operators {
        let operator = operator.map_err(super::unreadable)?;
        let callee = match operator {
            O::Call { function_index } => Some(parts.functions[function_index as usize]),
            O::ReturnCall { function_index } => {
                let own_index = function_index.checked_sub(parts.imported_functions as u32);
                contents
                    .tail_callees
                    .push(own_index.ok_or(UNKNOWN_TAIL_CALL)?);
                Some(parts.functions[function_index as usize])
            }
            O::CallIndirect { type_index, .. } | O::CallRef { type_index } => {
                Some(parts.types[type_index as usize])
            }
            O::ReturnCallIndirect { .. } | O::ReturnCallRef { .. } => {
                return Err(UNKNOWN_TAIL_CALL);
            }
            O::StructNew { struct_type_index } => {
                let number = parts.types[struct_type_index as usize];
                if definitions::definition(number).fields().len() > VALUES_MAX {
                    return Err(Refusal::Unfit("it makes a large struct"));
                }
                None
            }
            O::ArrayNewFixed { array_size, .. } if array_size as usize > VALUES_MAX => {
                return Err(Refusal::Unfit("it makes an array of many values"));
            }
            _ => None,
        };
        if let Some(number) = callee {
            check(definitions::function_type(number))?;
        }
        contents.catches |= matches!(operator, O::TryTable { .. });
        contents.has_calls |= callee.is_some() || leaves(&operator);
    }
    Ok(contents)
}

/// Whether an operator is an operation of the runtime.
pub fn leaves(operator: &Operator) -> bool {
    use Operator as O;
    matches!(
        operator,
        O::Throw { .. }
            | O::ThrowRef
            | O::MemoryGrow { .. }
            | O::MemoryFill { .. }
            | O::MemoryCopy { .. }
            | O::MemoryInit { .. }
            | O::DataDrop { .. }
            | O::MemoryAtomicNotify { .. }
            | O::MemoryAtomicWait32 { .. }
            | O::MemoryAtomicWait64 { .. }
            | O::TableGet { .. }
            | O::TableSet { .. }
            | O::TableSize { .. }
            | O::TableGrow { .. }
            | O::TableFill { .. }
            | O::TableCopy { .. }
            | O::TableInit { .. }
            | O::ElemDrop { .. }
            | O::RefFunc { .. }
            | O::StructNew { .. }
            | O::StructNewDefault { .. }
            | O::StructGet { .. }
            | O::StructGetS { .. }
            | O::StructGetU { .. }
            | O::StructSet { .. }
            | O::ArrayNew { .. }
            | O::ArrayNewDefault { .. }
            | O::ArrayNewFixed { .. }
            | O::ArrayNewData { .. }
            | O::ArrayNewElem { .. }
            | O::ArrayGet { .. }
            | O::ArrayGetS { .. }
            | O::ArrayGetU { .. }
            | O::ArraySet { .. }
            | O::ArrayLen
            | O::ArrayFill { .. }
            | O::ArrayCopy { .. }
            | O::ArrayInitData { .. }
            | O::ArrayInitElem { .. }
            | O::RefTestNonNull { .. }
            | O::RefTestNullable { .. }
            | O::RefCastNonNull { .. }
            | O::RefCastNullable { .. }
            | O::BrOnCast { .. }
            | O::BrOnCastFail { .. }
    )
}
