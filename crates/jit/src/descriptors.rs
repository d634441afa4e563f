//! The words of native descriptors behind those that the interpreter knows.
//!
//! The install step writes these words; compiled returns and entries go through them.

use canny_tables::layout::descriptor;

/// Offset in a return descriptor of the machine address to which compiled returns jump, with the value
/// in the register of pc and the callee's fp; the interpreter does not know of it.
pub(crate) const RETURN_NATIVE: usize = descriptor::RETURN_NATIVE;
/// Offset in an entry's descriptor of the machine address to which calls are passed on that have
/// arguments of other types.
pub(crate) const NEXT: usize = descriptor::SIZE;
/// Offset in a return descriptor of the machine address to which compiled returns of doubles jump, with
/// the callee's fp.
pub(crate) const RETURN_FLOAT: usize = RETURN_NATIVE + 8;
/// Offset in a return descriptor of the machine address to which compiled returns of words jump that
/// are fixnums.
pub(crate) const RETURN_FIXNUM: usize = RETURN_FLOAT + 8;
