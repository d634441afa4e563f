//! Matching a macro use against the patterns of a rule set.
//!
//! The depth of native recursion is the depth of the pattern, which is limited; the input is only
//! walked along.

use crate::rules::{ListPattern, Pattern, Repeated, Rule};
use crate::syntax::{Identifier, Syntax};

/// The match of a pattern variable.
#[derive(Clone, Debug)]
pub(crate) enum Matched {
    /// Nothing yet.
    None,
    One(Syntax),
    /// One entry per repetition.
    Many(Vec<Matched>),
}

/// Whether an input identifier is the literal of that number.
pub(crate) type IsLiteral<'a> = dyn FnMut(u32, Identifier) -> bool + 'a;

/// Matches the operands of a macro use; the result has an entry per variable of the rule.
pub(crate) fn match_rule(
    rule: &Rule,
    operands: &Syntax,
    is_literal: &mut IsLiteral<'_>,
) -> Option<Vec<Matched>> {
    let mut variables = vec![Matched::None; rule.variables as usize];
    match_pattern(&rule.pattern, operands, &mut variables, is_literal).then_some(variables)
}

fn match_pattern(
    pattern: &Pattern,
    syntax: &Syntax,
    variables: &mut [Matched],
    is_literal: &mut IsLiteral<'_>,
) -> bool {
    match pattern {
        Pattern::Anything => true,
        Pattern::Variable(index) => {
            variables[*index as usize] = Matched::One(syntax.clone());
            true
        }
        Pattern::Literal(index) => syntax
            .as_identifier()
            .is_some_and(|identifier| is_literal(*index, identifier)),
        Pattern::Datum(datum) => syntax.as_identifier().is_none() && syntax.to_datum() == *datum,
        Pattern::List(list) => match_list(list, syntax, variables, is_literal),
        Pattern::Vector(list) => match syntax.as_vector() {
            Some(elements) => {
                let whole = Syntax::list(syntax.span, elements.to_vec());
                match_list(list, &whole, variables, is_literal)
            }
            None => false,
        },
    }
}

fn match_list(
    list: &ListPattern,
    syntax: &Syntax,
    variables: &mut [Matched],
    is_literal: &mut IsLiteral<'_>,
) -> bool {
    let mut rest = syntax;
    for pattern in &list.before {
        let Some(pair) = rest.as_pair() else {
            return false;
        };
        if !match_pattern(pattern, &pair.car, variables, is_literal) {
            return false;
        }
        rest = &pair.cdr;
    }
    if let Some(repeated) = &list.repeated {
        let mut available = 0_usize;
        let mut end = rest;
        while let Some(pair) = end.as_pair() {
            available += 1;
            end = &pair.cdr;
        }
        let Some(count) = available.checked_sub(list.after.len()) else {
            return false;
        };
        match match_repeated(repeated, rest, count, variables, is_literal) {
            Some(behind) => rest = behind,
            None => return false,
        }
        for pattern in &list.after {
            let Some(pair) = rest.as_pair() else {
                return false;
            };
            if !match_pattern(pattern, &pair.car, variables, is_literal) {
                return false;
            }
            rest = &pair.cdr;
        }
    }
    match &list.tail {
        Some(tail) => match_pattern(tail, rest, variables, is_literal),
        None => rest.is_nil(),
    }
}

/// Matches `count` elements; returns what follows them.
fn match_repeated<'s>(
    repeated: &Repeated,
    mut rest: &'s Syntax,
    count: usize,
    variables: &mut [Matched],
    is_literal: &mut IsLiteral<'_>,
) -> Option<&'s Syntax> {
    let range = repeated.first as usize..repeated.end as usize;
    let mut collected: Vec<Vec<Matched>> =
        range.clone().map(|_| Vec::with_capacity(count)).collect();
    for _ in 0..count {
        let pair = rest.as_pair()?;
        if !match_pattern(&repeated.pattern, &pair.car, variables, is_literal) {
            return None;
        }
        for (offset, values) in collected.iter_mut().enumerate() {
            values.push(std::mem::replace(
                &mut variables[range.start + offset],
                Matched::None,
            ));
        }
        rest = &pair.cdr;
    }
    for (offset, values) in collected.into_iter().enumerate() {
        variables[range.start + offset] = Matched::Many(values);
    }
    Some(rest)
}
