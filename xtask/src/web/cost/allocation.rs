//! Allocated bytes of a request by procedure and type, from the sampled objects of a profile.
//!
//! Each sampled object stands for the bytes that were allocated since the one before.

use std::collections::HashMap;

use canny_profile::model::{Allocation, Profile};

use super::table::{self, Column};

/// Rows below so many bytes for a request are added up.
const LEAST: f64 = 1.0;

/// The procedure that has made an object: the newest one of Scheme, or else the newest frame.
fn procedure_of(profile: &Profile, allocation: &Allocation) -> String {
    let mut newest = None;
    for step in profile.walk(allocation.stack, false) {
        let function = step.frame.function;
        newest.get_or_insert(function);
        if profile.function(function).group.is_scheme() {
            newest = Some(function);
            break;
        }
    }
    newest
        .map_or("(unknown)", |function| profile.function_name(function))
        .to_owned()
}

/// The table of the sampled objects of so many requests.
pub fn table(profile: &Profile, requests: f64) -> String {
    let mut sites: HashMap<(String, &str), f64> = HashMap::new();
    for allocation in &profile.rows.allocations {
        let site = (
            procedure_of(profile, allocation),
            profile.string(allocation.type_name),
        );
        *sites.entry(site).or_default() += allocation.weight_bytes as f64 / requests;
    }
    let mut rows = Vec::new();
    let mut small = 0.0;
    for ((procedure, kind), bytes) in sites {
        if bytes < LEAST {
            small += bytes;
        } else {
            rows.push((format!("`{procedure}`: {kind}"), bytes));
        }
    }
    if small > 0.0 {
        rows.push(("others".to_owned(), small));
    }
    let column = Column {
        what: "procedure, and what it allocates",
        unit: "bytes",
        digits: 0,
    };
    table::shares(column, rows)
}

#[cfg(test)]
mod tests {
    use canny_profile::model::{Builder, Group, Header, StackKind, Tier};

    use super::*;

    #[test]
    fn objects_belong_to_procedures_of_scheme() {
        let mut builder = Builder::new();
        let mut stack = None;
        for (name, group) in [("handler", Group::Program), ("cons", Group::Machine)] {
            let function = builder.function(name, None, 0, group);
            let frame = builder.frame(function, 0, 0, Tier::Native, false);
            stack = Some(builder.stack(stack, frame, StackKind::Plain));
        }
        for (kind, weight_bytes) in [("pair", 300), ("string", 99), ("box", 1)] {
            let type_name = builder.string(kind);
            builder.allocation(Allocation {
                stack,
                type_name,
                weight_bytes,
                ..Allocation::default()
            });
        }
        let profile = Profile::new(Header::default(), &mut builder, 1);
        let table = table(&profile, 10.0);
        assert!(table.contains("| `handler`: pair | 30 | 75.0 |"), "{table}");
        assert!(table.contains("| others | 0 | 0.2 |"), "{table}");
        assert!(table.contains("| in all | 40 | 100.0 |"), "{table}");
    }
}
