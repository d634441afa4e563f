//! Macros: their lasting form, their form during an expansion, and the way between the two.
//!
//! While a unit is expanded, a macro's identifiers may be aliases, which are numbers in that
//! expansion's tables. What lives longer (a library's macro, a macro typed at the prompt) is
//! *closed*: each alias becomes an entry that says "the symbol `name`, looked up as `lookup` among
//! the globals of `library`". Opening such a macro makes fresh aliases from the entries. This is
//! enough because a macro defined at top level can only mention names of top levels: of its own
//! library or of those whose macros took part in making it.

use serde::{Deserialize, Serialize};

use crate::expander::scope::ScopeId;
use crate::expander::syntax_rules::RuleSet;
use crate::name::Name;
use crate::procedural::{ClosedAlias, MadeTransformer};

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
    /// A macro of another library, which does not export it: whoever imports that library does not know it.
    pub is_hidden: bool,
}

/// The lasting form of a macro.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum MacroDefinition {
    /// `syntax-rules`.
    Rules {
        /// The rules; an alias `n` in them, other than zero, is `aliases[n - 1]`.
        rules: RuleSet,
        /// The identifiers that other macros inserted into the rules.
        aliases: Vec<ClosedAlias>,
    },
    /// A procedure, as the code that a [`MacroHost`](crate::procedural::MacroHost) makes it from.
    Procedure(Vec<u8>),
}
