//! The primitives that become nodes of the graph and have neither an opcode nor a leaf function.
//!
//! Every row of the table of primitives has to be fast in one of these ways, be an operation on frames,
//! or state a reason ([`canny_tables::primitives::Slow`]): the test below holds each row to that.

/// Names of such primitives.
pub const INTRINSICS: &[&str] = &[
    "%winders",
    "%set-winders!",
    "%handlers",
    "%set-handlers!",
    "%parameters",
    "%set-parameters!",
    "list",
    "cons*",
    "vector",
    "square",
    "record-type-descriptor",
    "%record-type-extension",
    "%record-type-key",
];

#[cfg(test)]
mod tests {
    use canny_compiler::has_opcode;
    use canny_tables::leaves;
    use canny_tables::primitives::{self, Flags};

    use super::INTRINSICS;

    #[test]
    fn every_primitive_is_fast_or_says_why_not() {
        let leaves: Vec<&str> = leaves::ROWS.iter().map(|leaf| leaf.primitive).collect();
        let slow: Vec<&str> = primitives::all()
            .iter()
            .filter(|row| !row.flags.has(Flags::FRAME) && row.slow.is_none())
            .map(|row| row.name)
            .filter(|name| {
                let id = primitives::lookup(name).expect("a row");
                !has_opcode(id) && !leaves.contains(name) && !INTRINSICS.contains(name)
            })
            .collect();
        assert!(
            slow.is_empty(),
            "these rows have no opcode, no leaf function and no node; add one, or a reason: {slow:?}"
        );
    }

    #[test]
    fn intrinsics_have_no_other_way() {
        for name in INTRINSICS {
            let id = primitives::lookup(name).expect(name);
            let has_leaf = leaves::ROWS.iter().any(|leaf| leaf.primitive == *name);
            assert!(!has_opcode(id) && !has_leaf, "{name}");
            assert!(id.row().slow.is_none(), "{name}");
        }
    }
}
