//! Macros: their lasting form, their form during an expansion, and the way between the two.
//!
//! While a unit is expanded, a macro's identifiers may be aliases, which are numbers in that
//! expansion's tables. What lives longer (a library's macro, a macro typed at the prompt) is
//! *closed*: each alias becomes an entry that says "the symbol `name`, looked up as `lookup` among
//! the globals of `library`". Opening such a macro makes fresh aliases from the entries. This is
//! enough because a macro defined at top level can only mention names of top levels: of its own
//! library or of those whose macros took part in making it.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::core::LibraryKey;
use crate::expander::scope::ScopeId;
use crate::expander::syntax_rules::RuleSet;
use crate::name::Name;
use crate::syntax::{Identifier, Syntax};

/// How a macro transforms its uses.
#[derive(Clone)]
pub(crate) enum Transformer {
    Rules(RuleSet),
    Procedure(Arc<dyn ProcedureTransformer>),
}

/// A macro during an expansion.
pub(crate) struct Macro {
    /// Its name, for messages.
    pub name: Name,
    /// The scope of its definition: what the identifiers it inserts are looked up in.
    pub scope: ScopeId,
    pub transformer: Transformer,
}

/// The lasting form of a `syntax-rules` macro.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MacroDefinition {
    /// The rules; an alias `n` in them, other than zero, is `aliases[n - 1]`.
    pub(crate) rules: RuleSet,
    pub(crate) aliases: Vec<ClosedAlias>,
}

/// An identifier that some macro inserted into a macro definition.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct ClosedAlias {
    /// The symbol that `quote` gives.
    pub name: Name,
    /// The name to look up.
    pub lookup: Name,
    /// Where to look it up.
    pub library: LibraryKey,
}

/// A macro transformer that is a procedure, such as the value of an `er-macro-transformer` form.
/// The implementor runs the procedure in whatever machine it has.
pub trait ProcedureTransformer: Send + Sync {
    /// The expansion of the use `form`, or a message that says why there is none.
    fn transform(&self, form: &Syntax, hygiene: &mut dyn Hygiene) -> Result<Syntax, String>;
}

/// What a procedural transformer may ask of the expander.
pub trait Hygiene {
    /// The identifier as inserted by this step: it means what `identifier` means where the macro
    /// was defined. The same argument gives the same result throughout one step.
    fn rename(&mut self, identifier: Identifier) -> Identifier;

    /// Whether the two identifiers mean the same at the macro use (`free-identifier=?`).
    fn compare(&mut self, left: Identifier, right: Identifier) -> bool;
}

impl fmt::Debug for dyn ProcedureTransformer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a procedural transformer")
    }
}
