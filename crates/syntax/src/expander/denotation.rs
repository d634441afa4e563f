//! The meanings of identifiers during one expansion: local variables exist only here, and macros
//! are opened (see `macros`). [`Binding`](crate::binding::Binding) is the lasting form.

use std::sync::Arc;

use canny_tables::primitives::{self, PrimitiveId};

use crate::core::{GlobalName, VarId};
use crate::core_form::CoreForm;
use crate::expander::macros::Macro;

/// The meaning of an identifier at a place in the program.
#[derive(Clone)]
pub(crate) enum Denotation {
    Core(CoreForm),
    Primitive(PrimitiveId),
    Local(VarId),
    /// A pattern variable of `syntax-case`: the variable that holds what it matched, and how many ellipses it
    /// needs.
    Pattern {
        variable: VarId,
        depth: u32,
    },
    /// `home` tells whether the variable belongs to the library in whose scope the identifier was
    /// looked up, as opposed to being imported there; only then may it be assigned.
    Global {
        name: GlobalName,
        home: bool,
    },
    Macro(Arc<Macro>),
    /// Not bound; a global of that name may come to exist in that library or environment.
    Unbound(GlobalName),
}

impl Denotation {
    /// Whether two identifiers with these meanings are `free-identifier=?`.
    pub fn is_same(&self, other: &Denotation) -> bool {
        match (self, other) {
            (Denotation::Core(left), Denotation::Core(right)) => left == right,
            (Denotation::Primitive(left), Denotation::Primitive(right)) => left == right,
            (Denotation::Local(left), Denotation::Local(right)) => left == right,
            (
                Denotation::Pattern { variable: left, .. },
                Denotation::Pattern {
                    variable: right, ..
                },
            ) => left == right,
            (Denotation::Global { name: left, .. }, Denotation::Global { name: right, .. }) => {
                left == right
            }
            (Denotation::Macro(left), Denotation::Macro(right)) => Arc::ptr_eq(left, right),
            (Denotation::Unbound(left), Denotation::Unbound(right)) => left.name == right.name,
            _ => false,
        }
    }

    /// Whether it is that core form.
    pub fn is_core(&self, form: CoreForm) -> bool {
        matches!(self, Denotation::Core(own) if *own == form)
    }

    /// Whether it is that auxiliary keyword; an unbound identifier of the same name counts, since
    /// programs often forget to import `else` or `...`.
    pub fn is_auxiliary(&self, form: CoreForm) -> bool {
        match self {
            Denotation::Core(own) => *own == form,
            Denotation::Unbound(name) => name.name.as_str() == form.name(),
            _ => false,
        }
    }
}

/// The number of the primitive called `name`.
pub fn lookup_primitive(name: &str) -> Option<PrimitiveId> {
    primitives::lookup(name)
}
