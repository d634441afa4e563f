//! Which specializations a procedure's calls are divided among, where the types of the arguments choose
//! on entry.
//!
//! Only numbers divide calls: arithmetic on fixnums and on flonums are different instructions, and code
//! that does not know which leaves both to the runtime. Of other types the program asks itself
//! (`vector?`, `null?`), once, and as cheaply as an entry would. So a position that nearly always has
//! one type is fixed, one with fixnums and flonums divides, and the others stay open.

use super::{Plan, SINGLE_PERCENT, accepts, is_worth_checking, reason_of};
use crate::graph::EntryPoint;
use crate::snapshot::CodeSnapshot;
use crate::statistics::{CallsiteStatistics, CodeStatistics, Histogram, TupleStatistics};
use crate::types::Type;

/// Specializations that a procedure can be entered at, the one for any types included.
pub const STARTS_MAX: usize = 4;
/// Share of the calls that are worth a specialization of their own.
const PART_PERCENT: u32 = 10;
/// Share of the calls that the specializations have to serve together, or there is one for any types instead.
const SERVED_PERCENT: u32 = 90;

/// Whether a part is so much of the whole.
fn is_share(part: u32, whole: u32, percent: u32) -> bool {
    u64::from(part) * 100 >= u64::from(whole) * u64::from(percent)
}

/// The callsite of code that takes one number of arguments.
pub(super) fn only_callsite<'s>(
    snapshot: &CodeSnapshot,
    statistics: &'s CodeStatistics,
) -> Option<&'s CallsiteStatistics> {
    use canny_tables::layout::code::VARIADIC;
    let mut callsites = statistics.callsites.iter();
    (snapshot.arity != VARIADIC)
        .then(|| callsites.find(|callsite| accepts(snapshot, callsite)))
        .flatten()
}

/// The first specializations of a procedure; none if they would not serve nearly all of its calls.
pub(super) fn parts(snapshot: &CodeSnapshot, callsite: &CallsiteStatistics) -> Vec<Plan> {
    let types = positions(callsite, |position| {
        callsite.positions.get(position).cloned()
    });
    let divides: Vec<bool> = (0..types.len())
        .map(|position| {
            let seen = callsite.positions.get(position);
            types[position] == Type::ANY && seen.is_some_and(is_fixnums_and_flonums)
        })
        .collect();
    let mut parts: Vec<Plan> = Vec::new();
    for tuple in &callsite.tuples {
        let mut wanted = types.clone();
        for (position, ty) in tuple.types.types().iter().enumerate() {
            if divides[position] {
                wanted[position] = *ty;
            }
        }
        let fits = tuple.types.is(&wanted) && wanted.iter().zip(&divides).all(is_number_if_divided);
        if fits {
            match parts.iter_mut().find(|part| part.parameter_types == wanted) {
                Some(part) => {
                    part.hits += tuple.hits;
                    part.depth_max = part.depth_max.max(tuple.depth_max);
                }
                None => parts.push(plan(
                    snapshot,
                    callsite,
                    wanted,
                    tuple.hits,
                    tuple.depth_max,
                )),
            }
        }
    }
    parts.retain(|part| is_share(part.hits, callsite.hits, PART_PERCENT));
    parts.sort_by_key(|part| std::cmp::Reverse(part.hits));
    parts.truncate(STARTS_MAX - 1);
    let served = parts.iter().map(|part| part.hits).sum();
    if !is_share(served, callsite.hits, SERVED_PERCENT) {
        parts.clear();
    }
    parts
}

fn is_number_if_divided((ty, divides): (&Type, &bool)) -> bool {
    !divides || *ty == Type::FIXNUM || *ty == Type::FLONUM
}

fn is_fixnums_and_flonums(seen: &Histogram<Type>) -> bool {
    let count = |wanted| {
        let found = seen.iter().find(|(ty, _)| *ty == wanted);
        found.map_or(0, |(_, count)| *count)
    };
    let (fixnums, flonums) = (count(Type::FIXNUM), count(Type::FLONUM));
    is_share(
        fixnums.saturating_add(flonums),
        seen.total(),
        SINGLE_PERCENT,
    ) && is_share(fixnums.min(flonums), seen.total(), PART_PERCENT)
}

/// The type of each position that nearly always has it.
fn positions(
    callsite: &CallsiteStatistics,
    seen: impl Fn(usize) -> Option<Histogram<Type>>,
) -> Vec<Type> {
    (0..usize::from(callsite.argument_count))
        .map(|position| {
            let types = seen(position)?;
            let (ty, count) = types.most()?;
            (is_worth_checking(ty) && is_share(count, types.total(), SINGLE_PERCENT)).then_some(ty)
        })
        .map(|ty| ty.unwrap_or(Type::ANY))
        .collect()
}

/// Calls that none of these specializations serves.
pub(super) fn unserved(callsite: &CallsiteStatistics, started: &[&[Type]]) -> u32 {
    let serves = |types: &&[Type]| types.iter().all(|ty| *ty == Type::ANY);
    if started.iter().any(serves) {
        return 0;
    }
    let served = callsite
        .tuples
        .iter()
        .filter(|tuple| is_served(tuple, started))
        .map(|tuple| tuple.hits)
        .sum();
    callsite.hits.saturating_sub(served)
}

fn is_served(tuple: &TupleStatistics, started: &[&[Type]]) -> bool {
    started.iter().any(|types| tuple.types.is(types))
}

/// Another specialization beside those that there are, for calls that none of them serves.
pub(super) fn one_more(
    snapshot: &CodeSnapshot,
    callsite: &CallsiteStatistics,
    started: &[&[Type]],
    hits: u32,
) -> Plan {
    let rest = || {
        let tuples = callsite.tuples.iter();
        tuples.filter(|tuple| !is_served(tuple, started))
    };
    let depth_max = rest().map(|tuple| tuple.depth_max).max().unwrap_or(0);
    let types = positions(callsite, |position| {
        let mut seen = Histogram::default();
        for tuple in rest() {
            let ty = *tuple.types.types().get(position)?;
            seen.add_all(&Histogram::of(ty, tuple.hits));
        }
        Some(seen)
    });
    let is_number = |ty: &Type| *ty == Type::FIXNUM || *ty == Type::FLONUM;
    let are_numbers = types.iter().any(is_number);
    if are_numbers && started.len() + 1 < STARTS_MAX {
        return plan(snapshot, callsite, types, hits, depth_max);
    }
    let open = vec![Type::ANY; types.len()];
    plan(snapshot, callsite, open, hits, depth_max)
}

fn plan(
    snapshot: &CodeSnapshot,
    callsite: &CallsiteStatistics,
    types: Vec<Type>,
    hits: u32,
    depth_max: u32,
) -> Plan {
    Plan {
        code: snapshot.word,
        entry: EntryPoint::Start,
        reason: reason_of(&types),
        parameter_types: types,
        hits,
        hits_of_all: callsite.hits,
        depth_max,
    }
}
