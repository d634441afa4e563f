//! The lasting form of macros: what interfaces and environments keep, and what is serialised.
//!
//! While a unit is expanded, a macro's identifiers may be aliases, which are numbers in that
//! expansion's tables. A macro that outlives the expansion (of a library, or typed at the prompt)
//! is *closed*: each alias becomes an entry that says "the symbol `name`, looked up as `lookup`
//! among the globals of `library`". Opening such a macro makes fresh aliases from the entries. This
//! is enough because a macro defined at top level can only mention names of top levels: of its own
//! library or of those whose macros took part in making it.

use serde::{Deserialize, Serialize};

use crate::core::LibraryKey;
use crate::name::Name;
use crate::rules::RuleSet;
use crate::syntax::AliasId;

/// An identifier of a macro that outlives the expansion which made it: the symbol `name`, looked up as
/// `lookup` among the globals of `library`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClosedAlias {
    /// The symbol that `quote` gives.
    pub name: Name,
    /// The name to look up.
    pub lookup: Name,
    /// Where to look it up.
    pub library: LibraryKey,
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
    /// A procedure, as the code that a host of macros makes it from.
    Procedure(Vec<u8>),
}

impl MacroDefinition {
    /// The names of the top level of `own`, the macro's library, that its rules mention.
    pub(crate) fn mentioned(&self, own: &LibraryKey) -> Vec<Name> {
        let MacroDefinition::Rules { rules, aliases } = self else {
            return Vec::new();
        };
        let plain = rules
            .identifiers()
            .filter(|identifier| identifier.alias == AliasId::NONE);
        let plain = plain.map(|identifier| identifier.name);
        let aliased = aliases
            .iter()
            .filter(|alias| alias.library == *own)
            .map(|alias| alias.lookup);
        plain.chain(aliased).collect()
    }
}
