//! Properties of a procedure that a program may ask for: its name and its arity.
//!
//! A procedure is called as its code is, unless its closure was given a name of its own. Such names
//! are kept in a table of the machine, by the closure's word, which the collector updates.

use std::collections::HashMap;
use std::sync::Arc;

use canny_compiler::unit::Parameters;
use canny_heap::{WeakRoots, WeakVisitor};
use canny_locks::{Mutex, MutexGuard};
use canny_syntax::name::Name;
use canny_tables::primitives::by_id;
use canny_value::Value;

use crate::Vm;
use crate::code::CodeRef;

/// Names of single closures.
#[derive(Debug, Default)]
pub(crate) struct ProcedureNames {
    names: Mutex<HashMap<Value, Arc<str>>>,
}

/// The table as the heap holds it.
pub(crate) struct ProcedureNamesHandle(pub(crate) Arc<ProcedureNames>);

impl ProcedureNames {
    fn lock(&self) -> MutexGuard<'_, HashMap<Value, Arc<str>>> {
        self.names.lock()
    }
}

impl WeakRoots for ProcedureNamesHandle {
    unsafe fn update_weak(&mut self, visitor: &WeakVisitor<'_, '_>) {
        let mut names = self.0.lock();
        if names.is_empty() {
            return;
        }
        let old = std::mem::take(&mut *names);
        names.extend(old.into_iter().filter_map(|(closure, name)| {
            let closure = visitor.forwarded_if_alive(closure)?;
            Some((closure, name))
        }));
    }
}

impl Vm {
    /// The name of a procedure; `None` for one without a name, or for a value that is no procedure.
    pub fn procedure_name(&self, procedure: Value) -> Option<String> {
        let own = self.procedure_names.lock().get(&procedure).cloned();
        if let Some(name) = own {
            return Some(name.to_string());
        }
        let (unit, index) = self.metadata(CodeRef::of_closure(procedure)?)?;
        unit.codes[index].name.clone()
    }

    /// Gives one closure a name of its own.
    pub fn set_procedure_name(&self, procedure: Value, name: &str) {
        if CodeRef::of_closure(procedure).is_some() {
            self.procedure_names.lock().insert(procedure, name.into());
        }
    }

    /// The parameters of a procedure's clauses; none for primitives, which have no names for them.
    pub fn procedure_parameters(&self, procedure: Value) -> Option<Vec<Parameters>> {
        let (unit, index) = self.metadata(CodeRef::of_closure(procedure)?)?;
        let metadata = &unit.codes[index];
        metadata
            .primitive
            .is_none()
            .then(|| metadata.clauses.clone())
    }

    /// The row of the primitive that a procedure is.
    pub fn procedure_primitive(
        &self,
        procedure: Value,
    ) -> Option<&'static canny_tables::primitives::Primitive> {
        let (unit, index) = self.metadata(CodeRef::of_closure(procedure)?)?;
        let id = unit.codes[index].primitive?;
        Some(by_id(canny_tables::primitives::PrimitiveId(id)))
    }

    /// How a procedure is called, such as `(list-tail list k)`, one text for each clause. The parameters of a
    /// primitive are called by their types.
    pub fn procedure_calls(&self, procedure: Value) -> Vec<String> {
        let Some((unit, index)) =
            CodeRef::of_closure(procedure).and_then(|code| self.metadata(code))
        else {
            return Vec::new();
        };
        let metadata = &unit.codes[index];
        if let Some(id) = metadata.primitive {
            return vec![by_id(canny_tables::primitives::PrimitiveId(id)).call_text()];
        }
        let name = self.procedure_name(procedure);
        let name = name.as_deref().unwrap_or("_");
        let clauses = metadata.clauses.iter();
        clauses.map(|clause| clause.call_text(name)).collect()
    }

    /// The keyword parameters of a procedure, without `#:`.
    pub fn procedure_keywords(&self, procedure: Value) -> Vec<Name> {
        let found = CodeRef::of_closure(procedure).and_then(|code| self.metadata(code));
        let Some((unit, index)) = found else {
            return Vec::new();
        };
        let clauses = unit.codes[index].clauses.iter();
        clauses
            .flat_map(|clause| clause.keywords.iter().copied())
            .collect()
    }

    /// The least number of arguments of a procedure and the greatest, if there is one; `None` for
    /// what is no procedure.
    pub fn procedure_arity(&self, procedure: Value) -> Option<(usize, Option<usize>)> {
        let (unit, index) = self.metadata(CodeRef::of_closure(procedure)?)?;
        let metadata = &unit.codes[index];
        if let Some(id) = metadata.primitive {
            let row = by_id(canny_tables::primitives::PrimitiveId(id));
            return Some((row.arity_min.into(), row.arity_max.map(usize::from)));
        }
        let least = metadata
            .clauses
            .iter()
            .map(|clause| clause.arguments_min())
            .min();
        let greatest = metadata
            .clauses
            .iter()
            .map(|clause| clause.arguments_max())
            .try_fold(0, |greatest, count| count.map(|count| greatest.max(count)));
        Some((least.unwrap_or(0), greatest.filter(|_| least.is_some())))
    }
}
