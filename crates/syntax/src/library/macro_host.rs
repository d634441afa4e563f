//! The host that makes and runs transformers which are procedures.
//!
//! It gets all libraries, since the code of a transformer imports what it needs.

use std::sync::Arc;

use crate::core::{LibraryKey, Unit};
use crate::library::Libraries;
use crate::procedural::{MacroFailure, MadeTransformer, ProcedureTransformer};

/// Where transformer expressions run.
pub trait MacroHost: Send {
    /// Compiles and evaluates a unit whose last form is a transformer expression.
    fn make(
        &mut self,
        libraries: &mut Libraries,
        unit: Unit,
    ) -> Result<MadeTransformer, MacroFailure>;

    /// Makes a transformer from its code.
    fn load(
        &mut self,
        libraries: &mut Libraries,
        code: &[u8],
    ) -> Result<Arc<dyn ProcedureTransformer>, MacroFailure>;

    /// Compiles and runs definitions that transformers need; gives their code.
    fn define(&mut self, libraries: &mut Libraries, unit: Unit) -> Result<Arc<[u8]>, MacroFailure>;

    /// Runs such definitions from their code, unless that was done before.
    fn define_again(
        &mut self,
        libraries: &mut Libraries,
        code: &[Vec<u8>],
        library: &LibraryKey,
    ) -> Result<(), MacroFailure>;
}
