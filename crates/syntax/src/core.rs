//! The core language: what the expander produces and the compiler consumes.
//!
//! One [`Unit`] is a library, a program or a form typed at the prompt. Every identifier is resolved:
//! a local variable is a [`VarId`] into the unit's [`VarTable`], a global is a [`GlobalName`] that
//! is unique in the whole system, a primitive is its row's number. No macro, no keyword and no
//! source syntax is left; every expression keeps the span of the source form it came from (for
//! code that a macro inserted: the span of the outermost macro use).
//!
//! Invariants:
//! - a variable is bound exactly once in its unit and is referred to only inside its scope;
//! - [`Variable::assigned`] is set exactly for variables that occur in a [`ExprKind::LocalSet`];
//! - a global that is not [`GlobalDefinition::assigned`] is never the target of a
//!   [`ExprKind::GlobalSet`], in this unit or in any other that comes later;
//! - in a library or program a global is defined once; at the prompt a later unit may redefine it;
//! - nesting is limited by the expander (see `expander::NESTING_LIMIT`), except inside a [`Datum`].

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::datum::Datum;
use crate::name::Name;
use crate::span::Span;

pub use crate::library_name::{LibraryKey, LibraryName};
pub use canny_tables::primitives::PrimitiveId;

/// The global variable `name` of a library, program or environment.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GlobalName {
    /// Where it is defined.
    pub library: LibraryKey,
    /// Its name, unique in its library; hidden definitions of macros have made-up names.
    pub name: Name,
}

/// A local variable of one unit: an index into [`Unit::locals`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VarId(pub u32);

/// The expander's facts about a local variable.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Variable {
    /// The name the programmer gave it.
    pub name: Name,
    /// Where it is bound.
    pub span: Span,
    /// Whether some `set!` of the unit assigns it.
    pub assigned: bool,
}

/// The local variables of a unit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct VarTable {
    variables: Vec<Variable>,
}

impl VarTable {
    /// Adds a variable that is not assigned so far.
    pub fn add(&mut self, name: Name, span: Span) -> VarId {
        let id = VarId(u32::try_from(self.variables.len()).expect("fewer than 2^32 variables"));
        self.variables.push(Variable {
            name,
            span,
            assigned: false,
        });
        id
    }

    /// How many variables there are.
    pub fn len(&self) -> usize {
        self.variables.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.variables.is_empty()
    }

    /// All variables with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (VarId, &Variable)> {
        self.variables
            .iter()
            .enumerate()
            .map(|(index, variable)| (VarId(index as u32), variable))
    }
}

impl std::ops::Index<VarId> for VarTable {
    type Output = Variable;
    fn index(&self, id: VarId) -> &Variable {
        &self.variables[id.0 as usize]
    }
}

impl std::ops::IndexMut<VarId> for VarTable {
    fn index_mut(&mut self, id: VarId) -> &mut Variable {
        &mut self.variables[id.0 as usize]
    }
}

/// The kind of source that a unit was expanded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnitKind {
    /// A `define-library` form.
    Library,
    /// A whole program: its globals are closed, nobody can add to them.
    Program,
    /// A form of `eval` or the prompt: its globals may be redefined and assigned by later units.
    Toplevel,
}

/// A separately compiled piece of source.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unit {
    /// The library's, program's or environment's key; the `library` of the globals it defines.
    pub name: LibraryKey,
    /// The kind of source it was expanded from.
    pub kind: UnitKind,
    /// Libraries to instantiate first, in order.
    pub requires: Vec<LibraryName>,
    /// The globals that the unit defines, in order of definition.
    pub globals: Vec<GlobalDefinition>,
    /// The forms to evaluate when the unit is instantiated, in order.
    pub body: Vec<TopForm>,
    /// The local variables of the body.
    pub locals: VarTable,
}

/// A global that a unit defines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlobalDefinition {
    /// Its name in the unit's library.
    pub name: Name,
    /// Where it is defined.
    pub span: Span,
    /// Whether a `set!` may assign it: one in the unit, or in a template of one of its macros.
    pub assigned: bool,
    /// Whether other units may refer to it: it is exported, or a macro may mention it.
    pub exported: bool,
}

/// A top-level form after expansion.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum TopForm {
    /// Gives a global its value. At the prompt also redefines it.
    Define(GlobalName, Expr),
    /// Evaluated for effect; the last one of a toplevel unit gives the unit's value.
    Expression(Expr),
}

/// An expression.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expr {
    /// Where it came from.
    pub span: Span,
    /// The kind of expression, with its parts.
    pub kind: ExprKind,
}

/// The kinds of expression.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ExprKind {
    /// A literal.
    Constant(Datum),
    /// The value of a local variable.
    LocalRef(VarId),
    /// Assigns a local variable; the value is unspecified.
    LocalSet(VarId, Box<Expr>),
    /// The value of a global variable, which may be unbound or not defined yet.
    GlobalRef(GlobalName),
    /// Assigns a global variable; the value is unspecified.
    GlobalSet(GlobalName, Box<Expr>),
    /// A primitive as a value (mostly as an operator).
    PrimitiveRef(#[serde(with = "primitive_by_name")] PrimitiveId),
    /// Test, consequent, alternative. A missing alternative is the constant unspecified.
    If(Box<[Expr; 3]>),
    /// A procedure.
    Lambda(Box<Lambda>),
    /// A procedure that chooses the first clause that accepts the number of arguments. The clauses
    /// have required and rest parameters only.
    CaseLambda(Vec<Lambda>),
    /// Evaluates in order; the value is the last one's. Never empty.
    Sequence(Vec<Expr>),
    /// Evaluates all initial values (order open), then binds, then the body.
    Let {
        /// Variables and initial values.
        bindings: Vec<(VarId, Expr)>,
        /// Sees the variables.
        body: Box<Expr>,
    },
    /// Recursive bindings; bodies with internal definitions become the `star` form. A reference to
    /// a variable before its initial value was computed is an error at run time.
    Letrec {
        /// Whether initial values are evaluated left to right (`letrec*`).
        star: bool,
        /// Variables and initial values.
        bindings: Vec<(VarId, Expr)>,
        /// Sees the variables.
        body: Box<Expr>,
    },
    /// Binds the values of `init`; the number of values must fit.
    LetValues {
        /// The variables.
        formals: Formals,
        /// Gives the values; does not see the variables.
        init: Box<Expr>,
        /// Sees the variables.
        body: Box<Expr>,
    },
    /// A procedure call. The order of evaluation is open.
    Call {
        /// The procedure.
        operator: Box<Expr>,
        /// Its arguments.
        operands: Vec<Expr>,
    },
}

/// The variables that receive multiple values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Formals {
    /// One value each.
    pub required: Vec<VarId>,
    /// A list of the remaining values.
    pub rest: Option<VarId>,
}

/// A procedure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lambda {
    /// A name for backtraces and for printing.
    pub name: Option<Name>,
    /// Positional parameters that must be given.
    pub required: Vec<VarId>,
    /// Positional parameters with defaults; a default sees the parameters before it.
    pub optional: Vec<(VarId, Expr)>,
    /// Keyword (without `#:`), parameter and default; a default sees the parameters before it.
    pub keywords: Vec<(Name, VarId, Expr)>,
    /// Receives a list of the arguments that remain after the positional ones (with keyword
    /// parameters: including the keyword arguments, as in Guile).
    pub rest: Option<VarId>,
    /// Whether unknown keyword arguments are accepted.
    pub allow_other_keys: bool,
    /// The body.
    pub body: Expr,
    /// The whole form.
    pub span: Span,
}

impl Expr {
    /// An expression with its span.
    pub fn new(span: Span, kind: ExprKind) -> Expr {
        Expr { span, kind }
    }

    /// A literal.
    pub fn constant(span: Span, datum: Datum) -> Expr {
        Expr::new(span, ExprKind::Constant(datum))
    }

    /// The unspecified value.
    pub fn unspecified(span: Span) -> Expr {
        Expr::constant(span, Datum::Unspecified)
    }

    /// A call.
    pub fn call(span: Span, operator: Expr, operands: Vec<Expr>) -> Expr {
        Expr::new(
            span,
            ExprKind::Call {
                operator: Box::new(operator),
                operands,
            },
        )
    }

    /// A call of a primitive.
    pub fn primitive_call(span: Span, primitive: PrimitiveId, operands: Vec<Expr>) -> Expr {
        Expr::call(
            span,
            Expr::new(span, ExprKind::PrimitiveRef(primitive)),
            operands,
        )
    }

    /// A conditional.
    pub fn conditional(span: Span, test: Expr, consequent: Expr, alternative: Expr) -> Expr {
        Expr::new(
            span,
            ExprKind::If(Box::new([test, consequent, alternative])),
        )
    }

    /// A sequence; a single expression stands for itself and none for the unspecified value.
    pub fn sequence(span: Span, mut expressions: Vec<Expr>) -> Expr {
        match expressions.len() {
            0 => Expr::unspecified(span),
            1 => expressions.remove(0),
            _ => Expr::new(span, ExprKind::Sequence(expressions)),
        }
    }
}

impl fmt::Display for GlobalName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.library, self.name)
    }
}

impl fmt::Debug for GlobalName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Debug for VarId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "v{}", self.0)
    }
}

/// Primitives travel between processes by name, because row numbers change with every new row.
mod primitive_by_name {
    use canny_tables::primitives::{self, PrimitiveId};
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(id: &PrimitiveId, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(id.row().name)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PrimitiveId, D::Error> {
        let name = String::deserialize(deserializer)?;
        primitives::lookup(&name)
            .ok_or_else(|| serde::de::Error::custom(format!("no primitive is called {name}")))
    }
}
