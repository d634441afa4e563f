//! Instructions of a request by groups of functions: which group a function belongs to.
//!
//! [`GROUPS`] is the only place that knows names of functions. Functions of Rust's standard library and
//! of general crates belong to their callers.

use std::collections::HashMap;

use super::callgrind::Profile;
use super::table::{self, Column};

/// Groups, and the beginnings of the names of their functions. The first row that fits counts.
const GROUPS: &[(&str, &[&str])] = &[
    ("compiled code", &["0x", "???"]),
    (
        "HTTP: finding and checking the head",
        &["canny_http::head", "canny_http::framing"],
    ),
    (
        "HTTP: making the response",
        &[
            "canny_http::response",
            "canny_http::date",
            "canny_lib::primitives::http::responses",
        ],
    ),
    (
        "HTTP: connections, their queue and timers",
        &["canny_http::server", "canny_http::"],
    ),
    (
        "HTTP: request objects and their fields",
        &["canny_lib::primitives::http"],
    ),
    (
        "making HTML",
        &["canny_lib::primitives::markup", "canny_formats"],
    ),
    (
        "making objects",
        &[
            "canny_heap::mutator",
            "canny_heap::bulk",
            "canny_heap::sampling",
        ],
    ),
    ("collector", &["canny_heap::"]),
    (
        "scheduler and locks",
        &[
            "canny_sched::",
            "canny_locks::",
            "canny_lib::primitives::tasks",
            "pthread_",
            "___pthread",
            "__pthread",
            "__lll_",
        ],
    ),
    (
        "specializer and compiler",
        &[
            "canny_spesh::",
            "canny_jit::",
            "cranelift",
            "regalloc2",
            "canny_compiler::",
            "canny_vm::specializer",
        ],
    ),
    (
        "interpreter and its slow paths",
        &[
            "canny_vm::",
            "canny_llint",
            "op_",
            "canny_value::",
            "canny_tables::",
        ],
    ),
    ("other primitives", &["canny_lib::"]),
    (
        "malloc",
        &[
            "malloc",
            "_int_",
            "free",
            "realloc",
            "calloc",
            "unlink_chunk",
            "sysmalloc",
            "__rustc::",
            "tcache",
            "alloc_perturb",
            "__libc_",
            "arena_",
            "checked_request2size",
        ],
    ),
    (
        "moving and comparing memory",
        &["__mem", "mem", "__str", "str"],
    ),
    (
        "input, output, entry to the kernel",
        &[
            "canny_io::",
            "rustix::",
            "recv",
            "send",
            "epoll",
            "syscall",
            "clock_gettime",
            "__vdso",
            "__clock",
            "accept",
            "__errno",
            "__syscall",
            "timerfd",
            "read",
            "write",
        ],
    ),
    ("SQLite", &["sqlite3"]),
];

const OTHERS: &str = "others";

/// Groups below so many instructions are added to the others.
const LEAST: f64 = 1.0;

/// The name of a function or type at the beginning of a symbol.
fn bare(symbol: &str) -> &str {
    let symbol = symbol.trim_start_matches(['<', '&', '[', '*', '(']);
    let symbol = symbol.strip_prefix("impl ").unwrap_or(symbol);
    ["mut ", "dyn ", "const "]
        .iter()
        .fold(symbol, |symbol, word| {
            symbol.strip_prefix(word).unwrap_or(symbol)
        })
}

/// Whether a function does work for whoever calls it.
fn belongs_to_callers(symbol: &str) -> bool {
    const GENERAL: &[&str] = &[
        "core::",
        "std::",
        "alloc::",
        "hashbrown::",
        "smallvec::",
        "memchr::",
        "bytes::",
        "u8",
        "T as ",
        "Q as ",
        "str>",
    ];
    let name = bare(symbol);
    GENERAL.iter().any(|prefix| name.starts_with(prefix))
}

/// The group of a function.
pub fn group_of(symbol: &str) -> &'static str {
    let name = bare(symbol);
    let group = GROUPS
        .iter()
        .find(|(_, prefixes)| prefixes.iter().any(|prefix| name.starts_with(prefix)));
    group.map_or(OTHERS, |(group, _)| group)
}

/// The table of a profile of one request.
pub fn table(mut profile: Profile) -> String {
    profile.charge_callers(belongs_to_callers);
    let mut groups: HashMap<&str, f64> = HashMap::new();
    for (name, cost) in &profile.own {
        *groups.entry(group_of(name)).or_default() += cost;
    }
    let small: f64 = groups.values().filter(|cost| cost.abs() < LEAST).sum();
    groups.retain(|_, cost| cost.abs() >= LEAST);
    *groups.entry(OTHERS).or_default() += small;
    let rows = groups
        .into_iter()
        .map(|(group, cost)| (group.to_owned(), cost));
    let columns = Column {
        what: "functions",
        unit: "instructions",
        digits: 0,
    };
    table::shares(columns, rows.collect())
}

/// The functions that cost most, after the general ones were charged to their callers.
pub fn hottest(mut profile: Profile, count: usize) -> String {
    profile.charge_callers(belongs_to_callers);
    let mut rows: Vec<(String, f64)> = profile.own.into_iter().collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    rows.truncate(count);
    let line = |(name, cost): &(String, f64)| format!("{cost:8.0}  {}  {name}\n", group_of(name));
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_belongs_to_the_first_group_that_fits() {
        let group = "HTTP: finding and checking the head";
        assert_eq!(group_of("canny_http::head::is_authority"), group);
        assert_eq!(
            group_of("<canny_http::head::Field as core::fmt::Debug>::fmt"),
            group
        );
        let group = "HTTP: making the response";
        assert_eq!(
            group_of("canny_lib::primitives::http::responses::respond"),
            group
        );
        assert_eq!(group_of("0x00000009eddc2876"), "compiled code");
        assert_eq!(group_of("_int_free"), "malloc");
        assert_eq!(group_of("main"), OTHERS);
        assert!(belongs_to_callers(
            "<core::iter::Map<I,F> as core::iter::Iterator>::fold"
        ));
        assert!(!belongs_to_callers("canny_vm::runtime::run"));
    }

    #[test]
    fn a_table_has_the_sum() {
        let text = "fn=(1) canny_heap::tracer::mark\n1 75\nfn=(2) 0x0123\n1 25\n";
        let table = table(Profile::parse(text).expect("a profile"));
        assert!(table.contains("| collector | 75 | 75.0 |\n"), "{table}");
        assert!(table.contains("| in all | 100 | 100.0 |\n"), "{table}");
    }
}
