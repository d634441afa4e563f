//! The sizes that several passes agree on, and the rewriting steps that all of them share.

/// Size of a procedure that is always worth a copy.
pub const SIZE_MAX: usize = 14;

/// Greatest size of a procedure that importers of its library get to copy.
pub const PORTABLE_SIZE_MAX: usize = 80;

/// Greatest number of operands of a call and of required parameters of a procedure.
pub const OPERANDS_MAX: usize = 80;

/// The rewriting steps that are left.
#[derive(Debug)]
pub struct Budget {
    left: Option<u64>,
}

impl Budget {
    /// So many steps, or any number.
    pub fn new(limit: Option<u64>) -> Budget {
        Budget { left: limit }
    }

    /// Takes one step if there is one.
    pub fn spend(&mut self) -> bool {
        match &mut self.left {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }

    /// Whether there is a step left.
    pub fn allows(&self) -> bool {
        self.left != Some(0)
    }
}
