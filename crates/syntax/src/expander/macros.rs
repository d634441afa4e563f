//! Macros during an expansion: how a macro transforms its uses, and the scope of its definition.
//!
//! The identifiers of a macro may be aliases, which are numbers in this expansion's tables. See
//! [`MacroDefinition`](crate::macro_definition::MacroDefinition) for the form that lasts longer.

use crate::expander::scope::ScopeId;
use crate::name::Name;
use crate::procedural::MadeTransformer;
use crate::rules::RuleSet;

/// How a macro transforms its uses.
#[derive(Clone)]
pub(crate) enum Transformer {
    Rules(RuleSet),
    Procedure(MadeTransformer),
}

/// A macro during an expansion.
pub(crate) struct Macro {
    /// Its name, for messages.
    pub name: Name,
    /// The scope of its definition: what the identifiers it inserts are looked up in.
    pub scope: ScopeId,
    pub transformer: Transformer,
    /// A macro of another library, which does not export it: importers of that library do not know
    /// it.
    pub is_hidden: bool,
}
