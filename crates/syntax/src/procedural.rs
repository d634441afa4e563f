//! Macros whose transformers are procedures: what the expander asks of the machine that runs them.
//!
//! The expander knows nothing of bytecode. It hands the expanded transformer expression to a
//! [`MacroHost`](crate::library::MacroHost), which compiles and runs it wherever it likes, and gets a
//! [`ProcedureTransformer`] back. That machine does not share the expander's tables, so the identifiers
//! that cross the border are [`MacroIdentifier`]s: descriptions that the expander turns into its own
//! identifiers when they come back ([`Hygiene`]).

use std::fmt;
use std::sync::Arc;

use crate::macro_definition::ClosedAlias;
use crate::name::Name;
use crate::span::Span;
use crate::syntax::{Identifier, Syntax};

/// An identifier as a transformer procedure sees it. Equal ones are `bound-identifier=?` within one step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MacroIdentifier {
    /// One of the use's own, in the numbering of the expansion `epoch`.
    Known {
        /// The number of the expansion it belongs to.
        epoch: u64,
        /// The identifier there.
        identifier: Identifier,
    },
    /// The result of explicit renaming: a symbol as seen from the macro's definition.
    Renamed(Name),
    /// From a template: it means what it means at that top level.
    Closed(ClosedAlias),
    /// From a template that mentions local bindings; the number is the expansion's.
    Live {
        /// The number of the expansion it belongs to.
        epoch: u64,
        /// The symbol.
        name: Name,
        /// The place in that expansion's table.
        number: u32,
    },
    /// The result of `datum->syntax`: a symbol as if it had been written in place of the first
    /// identifier.
    Like(Box<MacroIdentifier>, Name),
    /// A result of `generate-temporaries`.
    Fresh(Name, u64),
}

impl MacroIdentifier {
    /// The symbol that `quote` gives.
    pub fn name(&self) -> Name {
        match self {
            MacroIdentifier::Known { identifier, .. } => identifier.name,
            MacroIdentifier::Renamed(name)
            | MacroIdentifier::Live { name, .. }
            | MacroIdentifier::Like(_, name)
            | MacroIdentifier::Fresh(name, _) => *name,
            MacroIdentifier::Closed(closed) => closed.name,
        }
    }
}

/// Why a transformer gave no expansion.
#[derive(Clone, Debug, Default)]
pub struct MacroFailure {
    /// The error message.
    pub message: String,
    /// The part of the use that is wrong, if the transformer said so.
    pub span: Option<Span>,
    /// More about it, such as where in the transformer it happened.
    pub notes: Vec<String>,
}

/// The questions that a running transformer may ask of the expander.
pub trait Hygiene {
    /// The number of this expansion, for [`MacroIdentifier::Known`].
    fn epoch(&self) -> u64;

    /// The identifier in this expansion's own numbering.
    fn identifier(&mut self, identifier: &MacroIdentifier) -> Identifier;

    /// Whether the two identifiers mean the same at the macro use (`free-identifier=?`).
    fn compare(&mut self, left: &MacroIdentifier, right: &MacroIdentifier) -> bool;
}

/// A macro transformer that is a procedure.
pub trait ProcedureTransformer: Send + Sync {
    /// The expansion of the use `form`: a list that begins with the keyword, the keyword alone, or an
    /// assignment to it.
    fn transform(&self, form: &Syntax, hygiene: &mut dyn Hygiene) -> Result<Syntax, MacroFailure>;

    /// Whether it takes the keyword alone, without parentheses.
    fn takes_identifier(&self) -> bool;

    /// Whether it takes assignments to the keyword.
    fn takes_assignment(&self) -> bool;
}

impl fmt::Debug for dyn ProcedureTransformer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a procedural transformer")
    }
}

/// A transformer, and its code in a form that can be kept in a library's interface.
#[derive(Clone)]
pub struct MadeTransformer {
    /// The transformer.
    pub transformer: Arc<dyn ProcedureTransformer>,
    /// The code from which [`MacroHost::load`] makes it again.
    pub code: Arc<[u8]>,
}
