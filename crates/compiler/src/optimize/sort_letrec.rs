//! Splits recursive bindings into the simplest forms that mean the same.
//!
//! On entry any [`ExprKind::Letrec`]. On exit each remaining one is either *fixed* (every initial
//! value is a procedure and no variable is assigned; [`is_fixed`](crate::walk::is_fixed)) or a minimal
//! *complex* group whose variables the code generator boxes and checks. Everything else became
//! [`ExprKind::Let`]. Not optional: the code generator relies on it.
//!
//! The method is that of Ghuloum and Dybvig, "Fixing letrec (reloaded)": strongly connected
//! components of the graph "the initial value of i mentions j", with extra edges that keep the
//! effects of initial values in order.

use canny_syntax::core::{Expr, ExprKind, TopForm, Unit, VarId, VarTable};

use super::forms::Forms;
use crate::walk::{for_each_child_mut, is_procedure};

/// Sorts every `letrec` of these forms of the unit.
pub fn run(unit: &mut Unit, forms: &Forms) {
    let count = unit.locals.len();
    let mut pass = Sorter {
        locals: &unit.locals,
        place: vec![None; count],
        groups: Vec::new(),
    };
    for (_, form) in forms.of_mut(&mut unit.body) {
        match form {
            TopForm::Define(_, expr) | TopForm::Expression(expr) => pass.visit(expr),
        }
    }
}

/// A group whose initial values are being visited.
struct Group {
    /// The binding whose initial value is being visited.
    current: Option<usize>,
    /// For each binding the bindings that its initial value mentions.
    mentions: Vec<Vec<usize>>,
}

struct Sorter<'a> {
    locals: &'a VarTable,
    /// Group and index of each variable bound by an enclosing group.
    place: Vec<Option<(u32, u32)>>,
    groups: Vec<Group>,
}

impl Sorter<'_> {
    fn visit(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::LocalRef(var) => self.mention(*var),
            ExprKind::LocalSet(var, value) => {
                let var = *var;
                self.visit(value);
                self.mention(var);
            }
            ExprKind::Letrec { .. } => self.visit_letrec(expr),
            _ => for_each_child_mut(expr, &mut |child| self.visit(child)),
        }
    }

    fn mention(&mut self, var: VarId) {
        if let Some((group, index)) = self.place[var.0 as usize] {
            let group = &mut self.groups[group as usize];
            if let Some(current) = group.current {
                group.mentions[current].push(index as usize);
            }
        }
    }

    fn visit_letrec(&mut self, expr: &mut Expr) {
        let unspecified = ExprKind::Sequence(Vec::new());
        let ExprKind::Letrec {
            star,
            mut bindings,
            mut body,
        } = std::mem::replace(&mut expr.kind, unspecified)
        else {
            return;
        };
        let id = self.groups.len();
        self.groups.push(Group {
            current: None,
            mentions: vec![Vec::new(); bindings.len()],
        });
        for (index, (var, _)) in bindings.iter().enumerate() {
            self.place[var.0 as usize] = Some((id as u32, index as u32));
        }
        for (index, (_, init)) in bindings.iter_mut().enumerate() {
            self.groups[id].current = Some(index);
            self.visit(init);
        }
        self.groups[id].current = None;
        self.visit(&mut body);
        let mentions = self
            .groups
            .pop()
            .map(|group| group.mentions)
            .unwrap_or_default();
        expr.kind = if star {
            self.split_star(expr.span, bindings, mentions, *body)
        } else {
            self.split_parallel(expr.span, bindings, mentions, *body)
        };
    }

    /// `letrec*`: one component after the other.
    fn split_star(
        &self,
        span: canny_syntax::span::Span,
        bindings: Vec<(VarId, Expr)>,
        mut mentions: Vec<Vec<usize>>,
        body: Expr,
    ) -> ExprKind {
        let mut last_effect = None;
        for (index, (_, init)) in bindings.iter().enumerate() {
            if is_ordered(init) {
                mentions[index].extend(last_effect);
                last_effect = Some(index);
            }
        }
        let mut slots: Vec<Option<(VarId, Expr)>> = bindings.into_iter().map(Some).collect();
        let mut result = body;
        for mut component in components(&mentions).into_iter().rev() {
            component.sort_unstable();
            let recursive = component.len() > 1 || mentions[component[0]].contains(&component[0]);
            let bindings = component
                .iter()
                .filter_map(|index| slots[*index].take())
                .collect();
            let body = Box::new(result);
            let kind = if recursive {
                ExprKind::Letrec {
                    star: true,
                    bindings,
                    body,
                }
            } else {
                ExprKind::Let { bindings, body }
            };
            result = Expr::new(span, kind);
        }
        result.kind
    }

    /// `letrec`: all initial values are computed before any variable gets one. When none of the
    /// values that are not procedures mentions the group, a parallel `let` around the procedures
    /// does that; else the group stays as it is.
    fn split_parallel(
        &self,
        span: canny_syntax::span::Span,
        bindings: Vec<(VarId, Expr)>,
        mentions: Vec<Vec<usize>>,
        body: Expr,
    ) -> ExprKind {
        let fixed = |(var, init): &(VarId, Expr)| is_procedure(init) && !self.locals[*var].assigned;
        let independent = bindings
            .iter()
            .zip(&mentions)
            .all(|(binding, mentions)| fixed(binding) || mentions.is_empty());
        if !independent {
            return ExprKind::Letrec {
                star: false,
                bindings,
                body: Box::new(body),
            };
        }
        let mut new_index = vec![None; bindings.len()];
        let mut count = 0;
        for (index, binding) in bindings.iter().enumerate() {
            if fixed(binding) {
                new_index[index] = Some(count);
                count += 1;
            }
        }
        let mut procedure_mentions = Vec::new();
        for (index, mentions) in mentions.iter().enumerate() {
            if new_index[index].is_some() {
                procedure_mentions.push(mentions.iter().filter_map(|at| new_index[*at]).collect());
            }
        }
        let (procedures, values): (Vec<_>, Vec<_>) = bindings.into_iter().partition(fixed);
        let inner = self.split_star(span, procedures, procedure_mentions, body);
        if values.is_empty() {
            return inner;
        }
        ExprKind::Let {
            bindings: values,
            body: Box::new(Expr::new(span, inner)),
        }
    }
}

/// Whether the moment of the evaluation matters.
fn is_ordered(init: &Expr) -> bool {
    !matches!(
        init.kind,
        ExprKind::Lambda(_)
            | ExprKind::CaseLambda(_)
            | ExprKind::Constant(_)
            | ExprKind::PrimitiveRef(_)
    )
}

/// Strongly connected components of the graph with edges `mentions`, each after all that it
/// mentions (Tarjan's algorithm with an explicit stack).
pub(super) fn components(mentions: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let count = mentions.len();
    let (mut order, mut low) = (vec![NEW; count], vec![0; count]);
    let (mut on_stack, mut stack) = (vec![false; count], Vec::new());
    let (mut next, mut result) = (0, Vec::new());
    for root in 0..count {
        if order[root] != NEW {
            continue;
        }
        let mut path: Vec<(usize, usize)> = vec![(root, 0)];
        while let Some(&mut (node, ref mut edge)) = path.last_mut() {
            if *edge == 0 && order[node] == NEW {
                (order[node], low[node]) = (next, next);
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(&target) = mentions[node].get(*edge) {
                *edge += 1;
                if order[target] == NEW {
                    path.push((target, 0));
                } else if on_stack[target] {
                    low[node] = low[node].min(order[target]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                low[parent] = low[parent].min(low[node]);
            }
            if low[node] == order[node] {
                let start = stack
                    .iter()
                    .rposition(|member| *member == node)
                    .unwrap_or(0);
                let component = stack.split_off(start);
                component
                    .iter()
                    .for_each(|member| on_stack[*member] = false);
                result.push(component);
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::components;

    #[test]
    fn components_come_after_what_they_mention() {
        // 0 → 1 ⇄ 2, 3 → 3, 4 alone
        let graph = [vec![1], vec![2], vec![1], vec![3], vec![]];
        let mut found = components(&graph);
        found
            .iter_mut()
            .for_each(|component| component.sort_unstable());
        assert_eq!(found, [vec![1, 2], vec![0], vec![3], vec![4]]);
    }
}
