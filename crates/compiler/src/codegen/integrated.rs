//! Primitives that become opcodes, by name.
//!
//! A row of an opcode names the primitives that it stands for, operand by operand; this module adds
//! those that become other operands, several opcodes or a branch.

use std::collections::HashMap;
use std::sync::OnceLock;

use canny_tables::kinds::Kind;
use canny_tables::layout;
use canny_tables::opcodes::Opcode;
use canny_tables::primitives::{self, PrimitiveId};

/// How a primitive is compiled.
#[derive(Clone, Debug)]
pub(super) enum Integration {
    /// By `call-primitive`.
    None,
    /// `R[a] = op R[b]`.
    Unary(Opcode),
    /// `R[a] = R[b] op R[c]`.
    Binary(Opcode),
    /// Unary opcodes in order of application.
    Path(&'static [Opcode]),
    /// A sum, product and the like of two or more operands, from the left.
    Fold(Opcode),
    /// Addition of a constant.
    Increment(i8),
    /// Stores `R[b]` in `R[a]`.
    Store2(Opcode),
    /// Stores `R[c]` at `R[b]` of `R[a]`.
    Store3(Opcode),
    /// A comparison of two real numbers.
    Compare(&'static Comparison),
    /// A comparison of a number with zero.
    Sign(Sign),
    /// A comparison of two characters.
    CharacterCompare {
        positive: Opcode,
        negative: Opcode,
        swap: bool,
    },
    /// A test of the type.
    Type(TypeTest),
    /// A test for one word.
    Word(i16),
    /// `boolean?`
    Boolean,
    /// `eq?`
    Identity,
    /// `eqv?`, `equal?`: identity if an operand is a suitable literal.
    Equivalence,
    /// `not`
    Not,
    /// `%record?`
    RecordTest,
    /// `%record-ref`
    RecordRef,
    /// `%record-set!`
    RecordSet,
    /// `%record`
    MakeRecord,
    /// `values`
    Values,
    /// A literal, whatever the operands.
    Literal(canny_syntax::datum::Datum),
}

/// Opcodes of a comparison, each with its opposite.
#[derive(Debug)]
pub(super) struct Comparison {
    pub positive: Opcode,
    pub negative: Opcode,
    /// Whether the registers change places.
    pub swap: bool,
    /// With a literal as the second operand.
    pub immediate: (Opcode, Opcode),
    /// With a literal as the first operand.
    pub immediate_swapped: (Opcode, Opcode),
}

/// Opcodes that compare with an immediate zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sign {
    pub positive: Opcode,
    pub negative: Opcode,
}

/// How a type is tested.
#[derive(Clone, Copy, Debug)]
pub(super) enum TypeTest {
    /// By the tag, with an opcode of its own and its opposite.
    Tag(Opcode, Opcode),
    /// By the object's kind.
    Kind(Kind),
}

static LESS: Comparison = Comparison {
    positive: Opcode::JumpLess,
    negative: Opcode::JumpNotLess,
    swap: false,
    immediate: (Opcode::JumpLessImmediate, Opcode::JumpNotLessImmediate),
    immediate_swapped: (
        Opcode::JumpGreaterImmediate,
        Opcode::JumpNotGreaterImmediate,
    ),
};
static GREATER: Comparison = Comparison {
    positive: Opcode::JumpLess,
    negative: Opcode::JumpNotLess,
    swap: true,
    immediate: (
        Opcode::JumpGreaterImmediate,
        Opcode::JumpNotGreaterImmediate,
    ),
    immediate_swapped: (Opcode::JumpLessImmediate, Opcode::JumpNotLessImmediate),
};
static LESS_EQUAL: Comparison = Comparison {
    positive: Opcode::JumpLessEqual,
    negative: Opcode::JumpNotLessEqual,
    swap: false,
    immediate: (
        Opcode::JumpLessEqualImmediate,
        Opcode::JumpNotLessEqualImmediate,
    ),
    immediate_swapped: (
        Opcode::JumpGreaterEqualImmediate,
        Opcode::JumpNotGreaterEqualImmediate,
    ),
};
static GREATER_EQUAL: Comparison = Comparison {
    positive: Opcode::JumpLessEqual,
    negative: Opcode::JumpNotLessEqual,
    swap: true,
    immediate: (
        Opcode::JumpGreaterEqualImmediate,
        Opcode::JumpNotGreaterEqualImmediate,
    ),
    immediate_swapped: (
        Opcode::JumpLessEqualImmediate,
        Opcode::JumpNotLessEqualImmediate,
    ),
};
static NUMBER_EQUAL: Comparison = Comparison {
    positive: Opcode::JumpNumberEqual,
    negative: Opcode::JumpNotNumberEqual,
    swap: false,
    immediate: (
        Opcode::JumpNumberEqualImmediate,
        Opcode::JumpNotNumberEqualImmediate,
    ),
    immediate_swapped: (
        Opcode::JumpNumberEqualImmediate,
        Opcode::JumpNotNumberEqualImmediate,
    ),
};

/// The integration of a primitive.
pub(super) fn integration(id: PrimitiveId) -> Integration {
    static TABLE: OnceLock<HashMap<u16, Integration>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let rows: Vec<_> = rows_of_opcodes().chain(rows()).collect();
        debug_assert!(
            rows.iter()
                .all(|(name, _)| primitives::lookup(name).is_some())
        );
        rows.into_iter()
            .filter_map(|(name, row)| Some((primitives::lookup(name)?.0, row)))
            .collect()
    });
    table.get(&id.0).cloned().unwrap_or(Integration::None)
}

/// Whether calls of a primitive become opcodes, with the usual number of operands.
pub fn has_opcode(id: PrimitiveId) -> bool {
    !matches!(integration(id), Integration::None)
}

/// Whether calls of a primitive become opcodes in whose errors it has its own name: not several ones,
/// which name the part that failed.
pub(crate) fn has_opcodes_of_its_name(id: PrimitiveId) -> bool {
    match integration(id) {
        Integration::None => false,
        Integration::Path(opcodes) => opcodes.len() == 1,
        _ => true,
    }
}

/// The primitives that rows of opcodes name: the operands say how they are compiled.
fn rows_of_opcodes() -> impl Iterator<Item = (&'static str, Integration)> {
    Opcode::ALL.iter().flat_map(|&opcode| {
        let operands = opcode.row().operands;
        let reads = operands.iter().filter(|it| it.is_read()).count();
        let integration = match (operands[0].is_written(), reads) {
            (true, 1) => Integration::Unary(opcode),
            (true, 2) => Integration::Binary(opcode),
            (false, 2) => Integration::Store2(opcode),
            (false, 3) => Integration::Store3(opcode),
            _ => Integration::None,
        };
        let names = opcode.row().primitives.iter();
        names.map(move |name| (*name, integration.clone()))
    })
}

fn rows() -> Vec<(&'static str, Integration)> {
    use Integration::*;
    use Opcode::*;
    use canny_syntax::datum::Datum;
    let tag = |positive, negative| Type(TypeTest::Tag(positive, negative));
    let kind = |kind| Type(TypeTest::Kind(kind));
    let character = |positive, negative, swap| CharacterCompare {
        positive,
        negative,
        swap,
    };
    let sign = |positive, negative| Sign(self::Sign { positive, negative });
    let zero = sign(JumpNumberEqualImmediate, JumpNotNumberEqualImmediate);
    let positive = sign(JumpGreaterImmediate, JumpNotGreaterImmediate);
    vec![
        ("caar", Path(&[Car, Car])),
        ("cdar", Path(&[Car, Cdr])),
        ("caddr", Path(&[Cddr, Car])),
        ("cdddr", Path(&[Cddr, Cdr])),
        ("caadr", Path(&[Cadr, Car])),
        ("cdadr", Path(&[Cadr, Cdr])),
        ("cadar", Path(&[Car, Cadr])),
        ("cddar", Path(&[Car, Cddr])),
        ("cadddr", Path(&[Cddr, Cadr])),
        ("cddddr", Path(&[Cddr, Cddr])),
        ("+", Fold(Add)),
        ("-", Fold(Subtract)),
        ("*", Fold(Multiply)),
        ("/", Fold(Divide)),
        ("1+", Increment(1)),
        ("-1+", Increment(-1)),
        ("bitwise-and", Fold(BitAnd)),
        ("bitwise-ior", Fold(BitOr)),
        ("bitwise-xor", Fold(BitXor)),
        ("<", Compare(&LESS)),
        (">", Compare(&GREATER)),
        ("<=", Compare(&LESS_EQUAL)),
        (">=", Compare(&GREATER_EQUAL)),
        ("=", Compare(&NUMBER_EQUAL)),
        ("zero?", zero),
        ("positive?", positive),
        ("negative?", sign(JumpLessImmediate, JumpNotLessImmediate)),
        (
            "char=?",
            character(JumpCharacterEqual, JumpNotCharacterEqual, false),
        ),
        (
            "char<?",
            character(JumpCharacterLess, JumpNotCharacterLess, false),
        ),
        (
            "char>?",
            character(JumpCharacterLess, JumpNotCharacterLess, true),
        ),
        (
            "char<=?",
            character(JumpNotCharacterLess, JumpCharacterLess, true),
        ),
        (
            "char>=?",
            character(JumpNotCharacterLess, JumpCharacterLess, false),
        ),
        ("pair?", tag(JumpPair, JumpNotPair)),
        ("not-pair?", tag(JumpNotPair, JumpPair)),
        ("fixnum?", tag(JumpFixnum, JumpNotFixnum)),
        ("flonum?", tag(JumpFlonum, JumpNotFlonum)),
        ("char?", tag(JumpCharacter, JumpNotCharacter)),
        ("vector?", kind(Kind::Vector)),
        ("string?", kind(Kind::String)),
        ("symbol?", kind(Kind::Symbol)),
        ("procedure?", kind(Kind::Closure)),
        ("bytevector?", kind(Kind::Bytevector)),
        ("keyword?", kind(Kind::Keyword)),
        ("%values?", kind(Kind::Values)),
        ("%hash-table?", kind(Kind::HashTable)),
        ("record?", kind(Kind::Record)),
        ("record-type?", kind(Kind::RecordType)),
        ("error-object?", kind(Kind::Condition)),
        ("port?", kind(Kind::Port)),
        ("weak-pair?", kind(Kind::WeakPair)),
        ("ephemeron?", kind(Kind::Ephemeron)),
        ("null?", Word(layout::NIL as i16)),
        ("eof-object?", Word(layout::EOF as i16)),
        ("%unspecified?", Word(layout::UNSPECIFIED as i16)),
        ("%default-object?", Word(layout::DEFAULT as i16)),
        ("boolean?", Boolean),
        ("eq?", Identity),
        ("eqv?", Equivalence),
        ("equal?", Equivalence),
        ("not", Not),
        ("%record?", RecordTest),
        ("%record-ref", Integration::RecordRef),
        ("%record-set!", Integration::RecordSet),
        ("%record", Integration::MakeRecord),
        ("values", Values),
        ("void", Literal(Datum::Unspecified)),
        ("eof-object", Literal(Datum::Eof)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_a_primitive_of_its_own() {
        let mut names = std::collections::HashSet::new();
        for (name, integration) in rows_of_opcodes().chain(rows()) {
            assert!(primitives::lookup(name).is_some(), "{name}");
            assert!(names.insert(name), "{name} has two rows");
            assert!(!matches!(integration, Integration::None), "{name}");
        }
    }
}
