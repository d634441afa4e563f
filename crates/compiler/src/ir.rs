//! The code generator's input: procedures with explicit closures, boxes and labels.
//!
//! Made by [`crate::lower`] from the core. Invariants:
//! - a variable that [`Program::boxed`] marks is held in a box: its binding makes the box, reads
//!   are [`Kind::Unbox`] and writes [`Kind::SetBox`];
//! - [`Kind::Goto`] occurs only in tail position relative to the [`Kind::Labels`] that binds its
//!   label, in the same procedure;
//! - [`Kind::Primitive`] has a number of operands that the primitive accepts.

use canny_syntax::core::{GlobalName, VarId};
use canny_syntax::datum::Datum;
use canny_syntax::name::Name;
use canny_syntax::span::Span;
use canny_tables::primitives::PrimitiveId;

/// Nodes that a search looks at before it stops.
pub const SEARCH_BUDGET: usize = 200;

/// Index into [`Program::procedures`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcedureId(pub u32);

/// A whole unit.
#[derive(Debug)]
pub struct Program {
    /// Every procedure; the entry is one of them.
    pub procedures: Vec<Procedure>,
    /// The procedure without parameters that runs the body.
    pub entry: ProcedureId,
    /// For each local variable, whether it lives in a box.
    pub boxed: Vec<bool>,
    /// For each local variable, whether it is assigned while it lives in a register.
    pub assigned: Vec<bool>,
    /// For each local variable, the procedure it is bound to for good.
    pub known: Vec<Option<ProcedureId>>,
    /// For each local variable its name.
    pub names: Vec<Name>,
    /// For each local variable the place where it is bound.
    pub bound: Vec<Span>,
    /// The variables that imported procedures brought, whose names say nothing to the programmer.
    pub imported: Vec<bool>,
}

/// A procedure.
#[derive(Debug)]
pub struct Procedure {
    /// Its name.
    pub name: Option<Name>,
    /// The whole form.
    pub span: Span,
    /// The procedure around it.
    pub enclosing: Option<ProcedureId>,
    /// One clause, or those of a `case-lambda`.
    pub clauses: Vec<Clause>,
    /// Variables of enclosing procedures that it or an inner procedure mentions, in order of first
    /// mention. Those that turn out to be constants are skipped by the code generator.
    pub free: Vec<VarId>,
    /// The variable bound to this very procedure.
    pub self_variable: Option<VarId>,
    /// The unassigned global defined as this very procedure.
    pub self_global: Option<GlobalName>,
}

/// Parameters and body.
#[derive(Debug)]
pub struct Clause {
    /// Must be given.
    pub required: Vec<VarId>,
    /// May be left out.
    pub optional: Vec<(VarId, Node)>,
    /// Given by name.
    pub keywords: Vec<(Name, VarId, Node)>,
    /// Takes what remains.
    pub rest: Option<VarId>,
    /// Whether unknown keywords are accepted.
    pub allow_other_keys: bool,
    /// The body.
    pub body: Node,
}

/// An expression.
#[derive(Debug)]
pub struct Node {
    /// Where it came from.
    pub span: Span,
    /// The kind of expression, with its parts.
    pub kind: Kind,
}

/// The kinds of expression.
#[derive(Debug)]
pub enum Kind {
    /// A literal.
    Constant(Datum),
    /// The marker of a variable without a value yet.
    Unbound,
    /// A variable that is not boxed.
    Local(VarId),
    /// The content of a boxed variable; `check` says that it may have no value yet.
    Unbox {
        /// The variable.
        var: VarId,
        /// Whether to raise if it has no value yet.
        check: bool,
    },
    /// Assigns a variable in a register.
    SetLocal(VarId, Box<Node>),
    /// Assigns a boxed variable.
    SetBox(VarId, Box<Node>),
    /// A global variable.
    Global(GlobalName),
    /// Assigns a global variable.
    SetGlobal(GlobalName, Box<Node>),
    /// Defines a global variable.
    DefineGlobal(GlobalName, Box<Node>),
    /// A primitive as a value.
    PrimitiveValue(PrimitiveId),
    /// Test, consequent, alternative.
    If(Box<[Node; 3]>),
    /// In order; never empty.
    Sequence(Vec<Node>),
    /// Binds in order; no initial value mentions a variable bound here.
    Let(Vec<(VarId, Node)>, Box<Node>),
    /// A closure.
    Closure(ProcedureId),
    /// Closures that may refer to each other.
    Fix(Vec<(VarId, ProcedureId)>, Box<Node>),
    /// Code that is jumped to with new values for its parameters.
    Labels {
        /// The labels, named by the variables they were made from.
        labels: Vec<Label>,
        /// Where control enters.
        body: Box<Node>,
    },
    /// A jump.
    Goto {
        /// The label.
        label: VarId,
        /// Values of its parameters.
        arguments: Vec<Node>,
    },
    /// A call through a procedure object.
    Call {
        /// The procedure.
        operator: Box<Node>,
        /// Its arguments.
        operands: Vec<Node>,
    },
    /// A primitive applied.
    Primitive {
        /// The primitive.
        id: PrimitiveId,
        /// Its arguments.
        operands: Vec<Node>,
    },
    /// Binds multiple values.
    LetValues {
        /// One value each.
        required: Vec<VarId>,
        /// A list of the others.
        rest: Option<VarId>,
        /// Gives the values.
        init: Box<Node>,
        /// Sees the variables.
        body: Box<Node>,
    },
}

/// A label.
#[derive(Debug)]
pub struct Label {
    /// Its name.
    pub var: VarId,
    /// Its parameters.
    pub parameters: Vec<VarId>,
    /// The expression to evaluate after a jump.
    pub body: Node,
}

impl Node {
    /// A node.
    pub fn new(span: Span, kind: Kind) -> Node {
        Node { span, kind }
    }

    /// Whether `test` holds for this node or one inside it, not counting inner procedures. Says
    /// yes when the search takes too long.
    pub fn any(&self, budget: &mut usize, test: &mut dyn FnMut(&Node) -> bool) -> bool {
        if *budget == 0 {
            return true;
        }
        *budget -= 1;
        let mut among = |nodes: &[Node]| nodes.iter().any(|node| node.any(budget, test));
        let inside = match &self.kind {
            Kind::Constant(_)
            | Kind::Unbound
            | Kind::Local(_)
            | Kind::Unbox { .. }
            | Kind::Global(_)
            | Kind::PrimitiveValue(_)
            | Kind::Closure(_) => false,
            Kind::SetLocal(_, value)
            | Kind::SetBox(_, value)
            | Kind::SetGlobal(_, value)
            | Kind::DefineGlobal(_, value) => among(std::slice::from_ref(value)),
            Kind::If(parts) => among(parts.as_slice()),
            Kind::Sequence(parts) => among(parts),
            Kind::Let(bindings, body) => {
                bindings
                    .iter()
                    .any(|(_, init)| among(std::slice::from_ref(init)))
                    || among(std::slice::from_ref(body))
            }
            Kind::Fix(_, body) => among(std::slice::from_ref(body)),
            Kind::Labels { labels, body } => {
                labels
                    .iter()
                    .any(|label| among(std::slice::from_ref(&label.body)))
                    || among(std::slice::from_ref(body))
            }
            Kind::Goto { arguments, .. } => among(arguments),
            Kind::Call { operator, operands } => {
                among(std::slice::from_ref(operator)) || among(operands)
            }
            Kind::Primitive { operands, .. } => among(operands),
            Kind::LetValues { init, body, .. } => {
                among(std::slice::from_ref(init)) || among(std::slice::from_ref(body))
            }
        };
        inside || test(self)
    }

    /// Whether evaluating the node may assign a variable that lives in a register.
    pub fn may_assign(&self, var: VarId, budget: &mut usize) -> bool {
        self.any(
            budget,
            &mut |node| matches!(node.kind, Kind::SetLocal(other, _) if other == var),
        )
    }
}
