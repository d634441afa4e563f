//! Entry of procedures that take a variable number of arguments.
//!
//! Until the entry instruction is done, the frame holds the arguments as they came, `argument_count` of
//! them, and all of those are live.

use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};

use super::calls::Passed;
use super::{Next, Site};
use crate::control::condition::ConditionKind;
use crate::data::symbols::symbol_name;
use crate::primitive::Raise;
use crate::thread::Thread;

pub(crate) fn entry(site: &mut Site) -> Next {
    let (required, optional, rest) = (site.a_index(), site.b_index(), site.c_index() == 1);
    let count = site.thread.argument_count as usize;
    let positional = required + optional;
    if count < required || (count > positional && !rest) {
        return Err(arity(site.thread));
    }
    if rest {
        let list = rest_list(site, positional.min(count), count);
        site.set_register(positional, list);
    }
    for index in count..positional {
        site.set_register(index, Value::ABSENT);
    }
    Ok(site.next())
}

/// The arguments from `first` up to `count` as a list; they stay live in their registers meanwhile.
fn rest_list(site: &mut Site, first: usize, count: usize) -> Value {
    let mut list = Value::NIL;
    for index in (first..count).rev() {
        let argument = site.register(index);
        list = site.thread.cons(argument, list);
    }
    list
}

pub(crate) fn arity_error(site: &mut Site) -> Next {
    Err(arity(site.thread))
}

fn arity(thread: &mut Thread) -> Raise {
    // SAFETY: the current frame is live.
    let closure = unsafe { Thread::closure_of(thread.fp) };
    let count = thread.argument_count as usize;
    thread.raise_arity(closure, count, Passed::Registers(0))
}

/// Description of keyword parameters in the pool: `#(optional-count allow-other-keys? keyword …)`.
pub(crate) mod description {
    pub const OPTIONAL_COUNT: usize = 0;
    pub const ALLOW_OTHER_KEYS: usize = 1;
    /// The first of them.
    pub const KEYWORDS: usize = 2;
}

/// Arguments behind the positional ones that need no memory to be set aside.
const FEW: usize = 16;

pub(crate) fn keyword_entry(site: &mut Site) -> Next {
    let required = site.a_index();
    let has_rest = site.c_index() == 1;
    let count = site.thread.argument_count as usize;
    if count < required {
        return Err(arity(site.thread));
    }
    let description = site
        .pool_extension(0)
        .as_kind(Kind::Vector)
        .expect("verified code describes its keywords");
    let optional = description
        .field(description::OPTIONAL_COUNT)
        .as_index()
        .unwrap_or(0);
    let mut positional = required;
    while positional < count.min(required + optional)
        && !site.register(positional).is_kind(Kind::Keyword)
    {
        positional += 1;
    }
    let list = has_rest.then(|| rest_list(site, positional, count));
    // Nothing is allocated while the arguments are here: they are neither lost nor moved.
    let mut few = [Value::NIL; FEW];
    let mut many = Vec::new();
    let left: &mut [Value] = match count - positional {
        length @ 0..=FEW => &mut few[..length],
        length => {
            many.resize(length, Value::NIL);
            &mut many
        }
    };
    for (index, argument) in left.iter_mut().enumerate() {
        *argument = site.register(positional + index);
    }
    let keywords = required + optional;
    let keyword_count = description.length() - description::KEYWORDS;
    for index in positional..keywords + keyword_count {
        site.set_register(index, Value::ABSENT);
    }
    if let Some(list) = list {
        site.set_register(keywords + keyword_count, list);
    }
    // From here on the registers are in their final places.
    let open = description.field(description::ALLOW_OTHER_KEYS).is_true();
    let mut left = &*left;
    while let [keyword, after @ ..] = left {
        let (keyword, Some((value, behind))) = (*keyword, after.split_first()) else {
            if open || (has_rest && !keyword.is_kind(Kind::Keyword)) {
                break;
            }
            return Err(keyword_error(site, *keyword, description));
        };
        if !keyword.is_kind(Kind::Keyword) {
            if open || has_rest {
                left = after;
                continue;
            }
            return Err(keyword_error(site, keyword, description));
        }
        let known = (0..keyword_count)
            .find(|index| description.field(description::KEYWORDS + index) == keyword);
        match known {
            Some(index) => site.set_register(keywords + index, *value),
            None if open => {}
            None => return Err(keyword_error(site, keyword, description)),
        }
        left = behind;
    }
    Ok(site.next())
}

/// Raises: `object` is no keyword, or has no value behind it, or is not known.
fn keyword_error(site: &mut Site, object: Value, description: ObjectRef) -> Raise {
    let known: Vec<Value> = (description::KEYWORDS..description.length())
        .map(|index| description.field(index))
        .collect();
    let message = if !object.is_kind(Kind::Keyword) {
        "an argument where a keyword is expected".to_owned()
    } else if known.contains(&object) {
        "no value behind this keyword".to_owned()
    } else {
        let names: Vec<String> = known
            .iter()
            .filter_map(|keyword| symbol_name(keyword.as_kind(Kind::Keyword)?.field(0)))
            .map(|name| format!("#:{name}"))
            .collect();
        match names.as_slice() {
            [] => "takes no such keyword".to_owned(),
            names => format!("takes no such keyword, only {}", names.join(", ")),
        }
    };
    // SAFETY: the current frame is live.
    let closure = unsafe { Thread::closure_of(site.thread.fp) };
    let name = site.thread.vm.procedure_name(closure);
    // The registers were rearranged: later code must not take them for arguments.
    site.thread.argument_count = 0;
    site.thread.raise(
        ConditionKind::Arity,
        &message,
        &[object, closure],
        name.as_deref(),
    )
}
