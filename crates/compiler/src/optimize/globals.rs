//! The known values of global variables.
//!
//! A global of a library or program that nobody assigns keeps the value of its definition. It is
//! *constant* if moreover no code that mentions it can run before the definition, so that reading
//! it cannot fail. To find out, the forms are followed in order. A form that does more than define
//! a procedure may run everything that it or an earlier such form mentions, directly or through
//! definitions. A global reached that way before its own definition is not constant.
//!
//! For globals of other libraries the caller's [`Imports`] say what their compilation found.

use std::collections::{HashMap, HashSet};

use canny_syntax::core::{Expr, ExprKind, GlobalName, Lambda, TopForm, Unit, UnitKind};
use canny_syntax::name::Name;
use canny_tables::primitives;

use super::forms::Forms;
use super::known::{Exported, Known, decode};
use crate::walk::{for_each_child, form_expr};

/// Where the compiler learns about globals of other libraries.
pub trait Imports {
    /// The bytes that [`crate::unit::CompiledUnit::inlinable`] has for this global.
    fn inline_information(&self, global: &GlobalName) -> Option<Vec<u8>>;
}

/// The known values of globals.
#[derive(Debug, Default)]
pub struct Globals {
    known: HashMap<GlobalName, Known>,
    /// The answers of other libraries, which stay true.
    told: HashMap<GlobalName, Option<Known>>,
    /// For each form the forms of the unit whose definitions it mentions.
    mentioned: Vec<Vec<u32>>,
}

impl Globals {
    /// Collects the known values before or between passes.
    pub fn collect(unit: &Unit, imports: Option<&dyn Imports>) -> Globals {
        Globals::default().collect_again(unit, imports)
    }

    /// Collects the known values anew, after passes over the same unit.
    pub fn collect_again(self, unit: &Unit, imports: Option<&dyn Imports>) -> Globals {
        let mut told = self.told;
        let mut known = HashMap::new();
        let mentioned: Vec<Vec<&GlobalName>> = unit
            .body
            .iter()
            .map(|form| {
                let mut found = Vec::new();
                mentions(form_expr(form), &mut found);
                found
            })
            .collect();
        if let Some(imports) = imports {
            collect_imports(unit, &mentioned, imports, &mut told, &mut known);
        }
        let mentioned = if unit.kind == UnitKind::Toplevel {
            vec![Vec::new(); unit.body.len()]
        } else {
            collect_own(unit, &mentioned, &mut known)
        };
        Globals {
            known,
            told,
            mentioned,
        }
    }

    /// For each form the forms of the unit whose definitions it mentions. Forms for a prompt depend
    /// on no other form.
    pub fn mentioned(&self) -> &[Vec<u32>] {
        &self.mentioned
    }

    /// Whether reading the global always gives the same value and never fails.
    pub fn is_constant(&self, global: &GlobalName) -> bool {
        self.known.contains_key(global)
    }

    /// The known value of a global.
    pub fn get(&self, global: &GlobalName) -> Option<&Known> {
        self.known.get(global)
    }

    /// An expression that can stand for the global.
    pub fn replacement(&self, global: &GlobalName) -> Option<ExprKind> {
        match self.known.get(global)? {
            Known::Constant(datum) => Some(ExprKind::Constant(datum.clone())),
            Known::Primitive(id) => Some(ExprKind::PrimitiveRef(*id)),
            _ => None,
        }
    }
}

fn collect_imports(
    unit: &Unit,
    mentioned: &[Vec<&GlobalName>],
    imports: &dyn Imports,
    told: &mut HashMap<GlobalName, Option<Known>>,
    known: &mut HashMap<GlobalName, Known>,
) {
    let others = mentioned
        .iter()
        .flatten()
        .filter(|global| global.library != unit.name);
    let distinct: HashSet<&GlobalName> = others.copied().collect();
    for global in distinct {
        let value = match told.get(global) {
            Some(value) => value.clone(),
            None => {
                let value = ask(imports, global);
                told.insert(global.clone(), value.clone());
                value
            }
        };
        if let Some(value) = value {
            known.insert(global.clone(), value);
        }
    }
}

/// Asks the library of a global for its value.
fn ask(imports: &dyn Imports, global: &GlobalName) -> Option<Known> {
    let bytes = imports.inline_information(global)?;
    Some(match decode(&bytes)? {
        Exported::Constant(datum) => Known::Constant(datum),
        Exported::Primitive(name) => Known::Primitive(primitives::lookup(&name)?),
        Exported::Procedure(procedure) => Known::Imported(procedure.into()),
        Exported::Value => Known::Value,
    })
}

/// Adds the values of the unit's own globals; gives for each form the definitions that it mentions.
fn collect_own(
    unit: &Unit,
    mentioned: &[Vec<&GlobalName>],
    known: &mut HashMap<GlobalName, Known>,
) -> Vec<Vec<u32>> {
    let own = |global: &GlobalName| global.library == unit.name;
    let mut definition: HashMap<Name, u32> = HashMap::new();
    for (index, form) in unit.body.iter().enumerate() {
        if let TopForm::Define(global, _) = form {
            definition.insert(global.name, index as u32);
        }
    }
    let mentioned: Vec<Vec<u32>> = mentioned
        .iter()
        .map(|all| {
            let names = all.iter().filter(|global| own(global));
            let mut forms: Vec<u32> = names
                .filter_map(|global| definition.get(&global.name).copied())
                .collect();
            forms.sort_unstable();
            forms.dedup();
            forms
        })
        .collect();
    let fixed: HashSet<Name> = unit
        .globals
        .iter()
        .filter(|global| !global.assigned)
        .map(|global| global.name)
        .collect();
    let mut reached = Forms::none(unit.body.len());
    for (index, form) in unit.body.iter().enumerate() {
        let is_inert = matches!(form, TopForm::Define(_, expr)
            if matches!(expr.kind, ExprKind::Lambda(_) | ExprKind::CaseLambda(_)));
        if !is_inert {
            let mut pending = mentioned[index].clone();
            while let Some(at) = pending.pop() {
                if !reached.has(at as usize) {
                    reached.add(at as usize);
                    pending.extend(&mentioned[at as usize]);
                }
            }
        }
        if let TopForm::Define(global, expr) = form
            && own(global)
            && fixed.contains(&global.name)
        {
            // A procedure is defined without running anything, so mentions by its own body are
            // harmless; other definitions were followed above.
            let value = value_of(expr, known);
            if !reached.has(definition[&global.name] as usize) {
                known.insert(global.clone(), value);
            }
        }
    }
    mentioned
}

fn value_of(expr: &Expr, known: &HashMap<GlobalName, Known>) -> Known {
    match &expr.kind {
        ExprKind::Constant(datum) => Known::Constant(datum.clone()),
        ExprKind::PrimitiveRef(id) => Known::Primitive(*id),
        ExprKind::Lambda(_) | ExprKind::CaseLambda(_) => Known::Procedure,
        ExprKind::GlobalRef(global) => match known.get(global) {
            Some(value @ (Known::Constant(_) | Known::Primitive(_))) => value.clone(),
            _ => Known::Value,
        },
        _ => Known::Value,
    }
}

/// Adds every global that the expression mentions.
pub fn mentions<'a>(expr: &'a Expr, globals: &mut Vec<&'a GlobalName>) {
    if let ExprKind::GlobalRef(global) | ExprKind::GlobalSet(global, _) = &expr.kind {
        globals.push(global);
    }
    for_each_child(expr, &mut |child| mentions(child, globals));
}

/// The procedures that the unit's constant globals are defined as.
pub fn own_procedures<'u>(unit: &'u Unit, globals: &Globals) -> HashMap<GlobalName, &'u [Lambda]> {
    let mut procedures = HashMap::new();
    for form in &unit.body {
        let TopForm::Define(global, expr) = form else {
            continue;
        };
        if !matches!(globals.get(global), Some(Known::Procedure)) {
            continue;
        }
        let clauses: &[Lambda] = match &expr.kind {
            ExprKind::Lambda(lambda) => std::slice::from_ref(&**lambda),
            ExprKind::CaseLambda(clauses) => clauses,
            _ => continue,
        };
        procedures.insert(global.clone(), clauses);
    }
    procedures
}
