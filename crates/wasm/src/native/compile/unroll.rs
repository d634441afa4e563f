//! Short loops become several copies of themselves in a row.
//!
//! The first copy takes the turns of all off the budget; a branch out of the loop puts back those that
//! it has not made. So fuel is counted as without copies, and a turn costs neither a subtraction nor a
//! jump back. Later copies find in registers what earlier ones have stored.

use wasmparser::Operator;

use super::scan;

/// Most operators of a loop that is copied.
const OPERATORS_MAX: usize = 40;

/// Operators of all copies together, about.
const OPERATORS_WANTED: usize = 80;

/// Most copies.
const COPIES_MAX: usize = 4;

/// A loop whose copies are being compiled.
#[derive(Clone, Copy, Debug)]
pub struct Copies {
    /// The number of the operator behind the loop's own.
    pub begin: usize,
    /// How many copies follow the current one.
    pub left: u32,
}

/// The copies that the loop whose operator has a number is worth, if it is more than one.
pub fn copies(operators: &[(Operator, u64)], number: usize) -> Option<Copies> {
    use Operator as O;
    let begin = number + 1;
    let mut depth: u32 = 0;
    let mut comes_back = false;
    for (count, (operator, _)) in operators.get(begin..)?.iter().enumerate() {
        if count > OPERATORS_MAX || scan::leaves(operator) {
            return None;
        }
        match operator {
            O::Block { .. } | O::If { .. } => depth += 1,
            O::Br { relative_depth } | O::BrIf { relative_depth } => {
                comes_back |= *relative_depth == depth;
            }
            O::End if depth > 0 => depth -= 1,
            O::End => {
                let wanted = (OPERATORS_WANTED / count.max(1)).min(COPIES_MAX) as u32;
                let left = wanted.checked_sub(1).filter(|_| comes_back)?;
                return (left > 0).then_some(Copies { begin, left });
            }
            O::Loop { .. }
            | O::TryTable { .. }
            | O::Call { .. }
            | O::CallIndirect { .. }
            | O::CallRef { .. } => return None,
            _ => {}
        }
    }
    None
}
