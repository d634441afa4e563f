//! Specializations that a procedure's calls are divided among, where the types of the arguments
//! choose on entry.
//!
//! Numbers divide calls: arithmetic on fixnums and on flonums are different instructions, and code
//! that does not know which leaves both to the runtime. Of most other types the program asks itself
//! (`vector?`, `null?`), once, and as cheaply as an entry would. Record types divide calls where the
//! procedure, with the small ones that it calls, asks for them several times ([`asks_for_classes`]):
//! an entry asks once for all of these. So a position that nearly always has one type is fixed, one
//! with fixnums and flonums divides, one with a few record types may, and the others stay open.

use canny_compiler::instruction::instructions;
use canny_tables::opcodes::Opcode;

use super::{Plan, SINGLE_PERCENT, accepts, is_worth_checking, reason_of};
use crate::code_map::CodeSet;
use crate::graph::EntryPoint;
use crate::snapshot::{CodeSnapshot, CodeSource};
use crate::statistics::{CallsiteStatistics, CodeStatistics, Histogram, TupleStatistics};
use crate::types::Type;

/// Specializations that a procedure can be entered at, the one for any types included.
pub const STARTS_MAX: usize = 4;
/// Share of the calls that are worth a specialization of their own.
const PART_PERCENT: u32 = 10;
/// The same where record types divide the calls.
const CLASS_PERCENT: u32 = 25;
/// Questions for record types that are worth one on entry.
const QUESTIONS_MIN: usize = 2;
/// Words of a callee whose questions count.
const CALLEE_WORDS_MAX: usize = 40;
/// Share of the calls that the specializations have to serve together, or there is one for any types instead.
const SERVED_PERCENT: u32 = 90;
/// The same where record types divide the calls: others come to their own later.
const SERVED_BY_CLASS_PERCENT: u32 = 75;

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
pub(super) fn parts(
    snapshot: &CodeSnapshot,
    callsite: &CallsiteStatistics,
    by_class: bool,
) -> Vec<Plan> {
    let types = positions(callsite, by_class, |position| {
        callsite.positions.get(position).cloned()
    });
    let divides_by_class = |position: usize| {
        let seen = callsite.positions.get(position);
        by_class && types[position] == Type::RECORD && seen.is_some_and(has_frequent_class)
    };
    let divides: Vec<bool> = (0..types.len())
        .map(|position| {
            let seen = callsite.positions.get(position);
            types[position] == Type::ANY && seen.is_some_and(is_fixnums_and_flonums)
                || divides_by_class(position)
        })
        .collect();
    let (part_percent, served_percent) = if (0..types.len()).any(divides_by_class) {
        (CLASS_PERCENT, SERVED_BY_CLASS_PERCENT)
    } else {
        (PART_PERCENT, SERVED_PERCENT)
    };
    let mut parts: Vec<Plan> = Vec::new();
    for tuple in &callsite.tuples {
        let mut wanted = types.clone();
        for (position, ty) in tuple.types.types().iter().enumerate() {
            if divides[position] {
                wanted[position] = *ty;
            }
        }
        let fits = tuple.types.is(&wanted) && wanted.iter().zip(&divides).all(is_one_if_divided);
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
    parts.retain(|part| is_share(part.hits, callsite.hits, part_percent));
    parts.sort_by_key(|part| std::cmp::Reverse(part.hits));
    parts.truncate(STARTS_MAX - 1);
    let served = parts.iter().map(|part| part.hits).sum();
    if !is_share(served, callsite.hits, served_percent) {
        parts.clear();
    }
    parts
}

fn is_one_if_divided((ty, divides): (&Type, &bool)) -> bool {
    !divides || *ty == Type::FIXNUM || *ty == Type::FLONUM || ty.record_class().is_some()
}

/// Whether some record type has the share of a part.
fn has_frequent_class(seen: &Histogram<Type>) -> bool {
    let is_part = |(ty, count): &&(Type, u32)| {
        ty.record_class().is_some() && is_share(*count, seen.total(), CLASS_PERCENT)
    };
    seen.iter().any(|part| is_part(&part))
}

/// Whether a procedure asks several times for the types of records, itself or in small procedures that
/// it calls.
pub(super) fn asks_for_classes(
    snapshot: &CodeSnapshot,
    statistics: &CodeStatistics,
    source: &dyn CodeSource,
) -> bool {
    let has_class = |(ty, _): &(Type, u32)| ty.record_class().is_some();
    let mut positions = statistics.callsites.iter().flat_map(|it| &it.positions);
    if !positions.any(|seen| seen.iter().any(has_class)) {
        return false;
    }
    let mut callees = CodeSet::default();
    statistics.each_site_table(|_, sites| {
        let entered = sites.values().flat_map(|site| site.callees.iter());
        callees.extend(entered.map(|(callee, _)| *callee));
    });
    callees.remove(&snapshot.word);
    let small = callees.into_iter().filter_map(|callee| {
        let callee = source.snapshot(callee)?;
        (callee.instructions.len() <= CALLEE_WORDS_MAX).then(|| questions(&callee))
    });
    questions(snapshot) + small.sum::<usize>() >= QUESTIONS_MIN
}

/// Instructions that ask for the type of a record.
fn questions(code: &CodeSnapshot) -> usize {
    let asks = |opcode| {
        matches!(
            opcode,
            Opcode::JumpRecord | Opcode::JumpNotRecord | Opcode::ClassKey
        )
    };
    let all = instructions(&code.instructions).flatten();
    all.filter(|instruction| asks(instruction.opcode)).count()
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

/// The type that nearly all calls have, if one does and code gains from it.
pub(super) fn stable(types: &Histogram<Type>, by_class: bool) -> Option<Type> {
    let exact = by_class.then(|| types.clone());
    exact
        .into_iter()
        .chain([types.mapped(Type::any_record)])
        .find_map(|types| {
            let (ty, count) = types.most()?;
            (is_worth_checking(ty) && is_share(count, types.total(), SINGLE_PERCENT)).then_some(ty)
        })
}

/// The type of each position that nearly always has it.
fn positions(
    callsite: &CallsiteStatistics,
    by_class: bool,
    seen: impl Fn(usize) -> Option<Histogram<Type>>,
) -> Vec<Type> {
    (0..usize::from(callsite.argument_count))
        .map(|position| stable(&seen(position)?, by_class))
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
    by_class: bool,
) -> Plan {
    let rest = || {
        let tuples = callsite.tuples.iter();
        tuples.filter(|tuple| !is_served(tuple, started))
    };
    let depth_max = rest().map(|tuple| tuple.depth_max).max().unwrap_or(0);
    let types = positions(callsite, by_class, |position| {
        let mut seen = Histogram::default();
        for tuple in rest() {
            let ty = *tuple.types.types().get(position)?;
            seen.add_all(&Histogram::of(ty, tuple.hits));
        }
        Some(seen)
    });
    let divides =
        |ty: &Type| *ty == Type::FIXNUM || *ty == Type::FLONUM || ty.record_class().is_some();
    if types.iter().any(divides) && started.len() + 1 < STARTS_MAX {
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
