//! Scopes and aliases: how hygiene works here.
//!
//! The algorithm is renaming with marks, as in Clinger and Rees, "Macros That Work", and van
//! Tonder's SRFI 72. Each macro step gives every identifier that its template inserts a fresh
//! mark; such a marked identifier is an *alias*: a number, the identifier it stands for, and the
//! scope of the macro's definition. To find what an identifier means, it is looked up as it is in
//! the scopes around its place; if nothing binds it and it is an alias, the identifier it stands
//! for is looked up in the scope of the macro's definition; and so on inwards. Binding an
//! identifier makes an entry for exactly that identifier, mark included. Hence
//! - a binding that a macro inserts catches only identifiers inserted by the same step;
//! - an identifier that a macro inserts means what it means where the macro was defined, unless
//!   the same step binds it;
//! - identifiers in the arguments of a macro are not touched.
//!
//! Sets of scopes (Flatt, 2016) were considered: they need scopes added to whole syntax trees,
//! lazily, and a search for the largest subset at each look-up; here arguments are passed through
//! untouched and a look-up is a walk along the scopes. The `rename` procedure of an
//! `er-macro-transformer` makes an alias; `datum->syntax` makes an alias with the mark of the given
//! identifier.
//!
//! Scopes and aliases live as long as one unit is expanded. Macros outlive it, and are closed
//! first: see `macros`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::core::LibraryKey;
use crate::expander::denotation::Denotation;
use crate::expander::macros::Macro;
use crate::name::Name;
use crate::syntax::{AliasId, Identifier};

/// A scope of the unit being expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ScopeId(u32);

impl ScopeId {
    /// The outermost scope of the unit.
    pub const TOP: ScopeId = ScopeId(0);
}

/// The kinds of scope.
pub(crate) enum ScopeKind {
    /// The unit's own globals: the environment's table.
    Top,
    /// The globals of another library, as its macros see them.
    Foreign(LibraryKey),
    /// A binding form or body.
    Local(LocalTable),
}

struct Scope {
    parent: Option<ScopeId>,
    kind: ScopeKind,
}

/// The identifier that an alias stands for, and where to look that up.
#[derive(Clone, Copy)]
pub(crate) struct Alias {
    pub inner: Identifier,
    pub scope: ScopeId,
    /// The macro step that made it.
    group: u32,
}

/// Scopes with more entries than this get a hash table.
const LINEAR_ENTRIES_MAX: usize = 8;

/// The bindings of a local scope. Later entries win, which matters only after errors.
#[derive(Default)]
pub(crate) struct LocalTable {
    entries: Vec<(Identifier, Denotation)>,
    index: HashMap<Identifier, usize>,
}

impl LocalTable {
    fn get(&self, identifier: Identifier) -> Option<&Denotation> {
        if self.entries.len() > LINEAR_ENTRIES_MAX {
            return self
                .index
                .get(&identifier)
                .map(|&position| &self.entries[position].1);
        }
        self.entries
            .iter()
            .rev()
            .find(|(own, _)| *own == identifier)
            .map(|(_, denotation)| denotation)
    }

    fn insert(&mut self, identifier: Identifier, denotation: Denotation) {
        self.entries.push((identifier, denotation));
        if self.entries.len() == LINEAR_ENTRIES_MAX + 1 {
            self.index = self
                .entries
                .iter()
                .enumerate()
                .map(|(position, (own, _))| (*own, position))
                .collect();
        } else if self.entries.len() > LINEAR_ENTRIES_MAX {
            self.index.insert(identifier, self.entries.len() - 1);
        }
    }
}

/// All scopes and aliases of the unit being expanded.
pub(crate) struct Scopes {
    scopes: Vec<Scope>,
    aliases: Vec<Alias>,
    foreign: HashMap<LibraryKey, ScopeId>,
    group: u32,
    /// Aliases made by [`Scopes::alias_like`] outside of their step, by what they stand for.
    late: HashMap<(u32, ScopeId, Identifier), Identifier>,
}

impl Scopes {
    /// Just the outermost scope.
    pub fn new() -> Scopes {
        let unused = Alias {
            inner: Identifier::plain(crate::name::Name::new("")),
            scope: ScopeId::TOP,
            group: 0,
        };
        Scopes {
            scopes: vec![Scope {
                parent: None,
                kind: ScopeKind::Top,
            }],
            aliases: vec![unused],
            foreign: HashMap::new(),
            group: 0,
            late: HashMap::new(),
        }
    }

    fn add(&mut self, scope: Scope) -> ScopeId {
        let id = ScopeId(u32::try_from(self.scopes.len()).expect("fewer than 2^32 scopes"));
        self.scopes.push(scope);
        id
    }

    /// A new empty scope inside `parent`.
    pub fn add_local(&mut self, parent: ScopeId) -> ScopeId {
        self.add(Scope {
            parent: Some(parent),
            kind: ScopeKind::Local(LocalTable::default()),
        })
    }

    /// The scope of another library's globals.
    pub fn foreign(&mut self, library: &LibraryKey) -> ScopeId {
        if let Some(&scope) = self.foreign.get(library) {
            return scope;
        }
        let scope = self.add(Scope {
            parent: None,
            kind: ScopeKind::Foreign(library.clone()),
        });
        self.foreign.insert(library.clone(), scope);
        scope
    }

    /// The kind of the scope.
    pub fn kind(&self, scope: ScopeId) -> &ScopeKind {
        &self.scopes[scope.0 as usize].kind
    }

    /// Whether the scope is that of a binding form or body.
    pub fn is_local(&self, scope: ScopeId) -> bool {
        matches!(self.kind(scope), ScopeKind::Local(_))
    }

    /// The binding that this very scope makes.
    pub fn local(&self, scope: ScopeId, identifier: Identifier) -> Option<&Denotation> {
        match self.kind(scope) {
            ScopeKind::Local(table) => table.get(identifier),
            _ => None,
        }
    }

    /// The macros that a local scope binds.
    pub fn macros(&self, scope: ScopeId) -> Vec<Arc<Macro>> {
        let ScopeKind::Local(table) = self.kind(scope) else {
            return Vec::new();
        };
        let entry = |(_, denotation): &(Identifier, Denotation)| match denotation {
            Denotation::Macro(opened) => Some(opened.clone()),
            _ => None,
        };
        table.entries.iter().filter_map(entry).collect()
    }

    /// The bindings of a local scope, in order.
    pub fn entries(&self, scope: ScopeId) -> &[(Identifier, Denotation)] {
        match self.kind(scope) {
            ScopeKind::Local(table) => &table.entries,
            _ => &[],
        }
    }

    /// The scope around a scope.
    pub fn parent(&self, scope: ScopeId) -> Option<ScopeId> {
        self.scopes[scope.0 as usize].parent
    }

    /// Binds an identifier in a local scope.
    pub fn bind(&mut self, scope: ScopeId, identifier: Identifier, denotation: Denotation) {
        if let ScopeKind::Local(table) = &mut self.scopes[scope.0 as usize].kind {
            table.insert(identifier, denotation);
        }
    }

    /// Walks outwards from `scope`: the innermost local binding, or the outermost scope reached.
    pub fn lookup_local(
        &self,
        mut scope: ScopeId,
        identifier: Identifier,
    ) -> Result<&Denotation, ScopeId> {
        loop {
            if let Some(found) = self.local(scope, identifier) {
                return Ok(found);
            }
            match self.scopes[scope.0 as usize].parent {
                Some(parent) => scope = parent,
                None => return Err(scope),
            }
        }
    }

    /// The names that the local scopes around a place bind.
    pub fn local_names(&self, scope: ScopeId) -> Vec<Name> {
        let mut names = Vec::new();
        let mut next = Some(scope);
        while let Some(scope) = next {
            let Scope { parent, kind } = &self.scopes[scope.0 as usize];
            if let ScopeKind::Local(table) = kind {
                names.extend(table.entries.iter().map(|(own, _)| own.name));
            }
            next = *parent;
        }
        names
    }

    /// The outermost scope around `scope`.
    pub fn outermost(&self, mut scope: ScopeId) -> ScopeId {
        while let Some(parent) = self.scopes[scope.0 as usize].parent {
            scope = parent;
        }
        scope
    }

    /// A fresh alias of `inner` as seen from `scope`.
    pub fn add_alias(&mut self, inner: Identifier, scope: ScopeId) -> Identifier {
        let alias = AliasId(u32::try_from(self.aliases.len()).expect("fewer than 2^32 aliases"));
        self.aliases.push(Alias {
            inner,
            scope,
            group: self.group,
        });
        Identifier {
            name: inner.name,
            alias,
        }
    }

    /// The aliases made from now on belong to another macro step.
    pub fn begin_step(&mut self) {
        self.group += 1;
    }

    /// The symbol `name` as if it stood where `context` was written: with the marks of all steps that
    /// `context` went through.
    pub fn alias_like(&mut self, context: Identifier, name: Name) -> Identifier {
        let Some(Alias {
            inner,
            scope,
            group,
        }) = self.alias(context)
        else {
            return Identifier::plain(name);
        };
        let inner = self.alias_like(inner, name);
        // The aliases of a step lie side by side.
        let of_step = |alias: &&Alias| alias.group == group;
        let place = context.alias.0 as usize;
        let start = place
            - self.aliases[..place]
                .iter()
                .rev()
                .take_while(of_step)
                .count();
        let mut step = self.aliases[start..].iter().take_while(of_step);
        if let Some(offset) = step.position(|alias| alias.inner == inner && alias.scope == scope) {
            return Identifier {
                name,
                alias: AliasId((start + offset) as u32),
            };
        }
        if let Some(known) = self.late.get(&(group, scope, inner)) {
            return *known;
        }
        let present = std::mem::replace(&mut self.group, group);
        let alias = self.add_alias(inner, scope);
        self.group = present;
        self.late.insert((group, scope, inner), alias);
        alias
    }

    /// Whether a macro of another library inserted the identifier.
    pub fn is_of_another_library(&self, identifier: Identifier) -> bool {
        self.alias(identifier)
            .is_some_and(|alias| matches!(self.kind(alias.scope), ScopeKind::Foreign(_)))
    }

    /// The identifier and scope that an alias stands for; `None` for plain identifiers.
    pub fn alias(&self, identifier: Identifier) -> Option<Alias> {
        (identifier.alias != AliasId::NONE).then(|| self.aliases[identifier.alias.0 as usize])
    }
}
