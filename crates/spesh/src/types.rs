//! The type lattice of the specializer: a `Type` is a set of disjoint kinds of values, one bit
//! each, and of records perhaps their record type.
//!
//! The empty set is the type of a value that cannot exist, `Type::ANY` the union of all. Every
//! value has exactly one kind, so union and intersection of kinds are bit operations. The records in
//! a type are all records, or those of exactly one record type, which its class key names (see
//! `layout::class_key`); records of types derived from that are not among them. The union of two
//! record types is all records. Logs record types, plans select by them and guards test them; they
//! say nothing of lengths, ranges or identities.

use canny_tables::kinds::Kind;
use canny_tables::layout::{self, class_key};

/// A set of kinds of values. The empty set belongs to values that cannot exist.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Type {
    kinds: u32,
    /// The class key of the records; 0 for all records, and where there are none.
    class: u32,
}

macro_rules! types {
    ($($name:ident $bit:literal $text:literal;)*) => {
        impl Type {
            $(
                #[doc = concat!("Values that are: ", $text, ".")]
                pub const $name: Type = Type::of_kinds(1 << $bit);
            )*
            const NAMES: &'static [(u32, &'static str)] = &[$(($bit, $text)),*];
        }
    };
}

types! {
    FIXNUM 0 "fixnum";
    FLONUM 1 "flonum";
    PAIR 2 "pair";
    NIL 3 "()";
    FALSE 4 "#f";
    TRUE 5 "#t";
    CHARACTER 6 "character";
    OTHER_IMMEDIATE 7 "immediate";
    CLOSURE 8 "procedure";
    VECTOR 9 "vector";
    STRING 10 "string";
    SYMBOL 11 "symbol";
    BYTEVECTOR 12 "bytevector";
    RECORD 13 "record";
    RECORD_TYPE 14 "record-type";
    BOX 15 "box";
    CELL 16 "cell";
    BIGNUM 17 "bignum";
    OTHER_NUMBER 18 "other-number";
    VALUES 19 "values";
    OTHER_OBJECT 20 "object";
    COMPNUM 21 "complex-number";
    NUMERIC_VECTOR 22 "numeric-vector";
    HASH_TABLE 23 "hash-table";
}

impl Type {
    /// No value.
    pub const NONE: Type = Type::of_kinds(0);
    /// Any value.
    pub const ANY: Type = Type::of_kinds((1 << 24) - 1);
    /// `#t` or `#f`.
    pub const BOOLEAN: Type = Type::FALSE.or(Type::TRUE);
    /// Any number.
    pub const NUMBER: Type = Type::FIXNUM
        .or(Type::FLONUM)
        .or(Type::BIGNUM)
        .or(Type::OTHER_NUMBER)
        .or(Type::COMPNUM);

    /// Any value but records.
    pub(crate) const RECORD_FREE: Type = Type::of_kinds(Type::ANY.kinds & !Type::RECORD.kinds);

    const fn of_kinds(kinds: u32) -> Type {
        Type { kinds, class: 0 }
    }

    /// The kinds as bits, for what outlives the process: class keys do not.
    pub const fn kind_bits(self) -> u32 {
        self.kinds
    }

    /// The type with these kinds, records of any type included; bits without a kind do not count.
    pub const fn of_kind_bits(bits: u32) -> Type {
        Type::of_kinds(bits & Type::ANY.kinds)
    }

    /// Whether all its values are of one kind.
    pub const fn is_single(self) -> bool {
        self.kinds.is_power_of_two()
    }

    /// Records of exactly the record type with a class key, if a single type has it.
    pub const fn record_of(class: i64) -> Type {
        let is_single = class >= class_key::FIRST_SERIAL && class < class_key::END;
        Type {
            kinds: Type::RECORD.kinds,
            class: if is_single { class as u32 } else { 0 },
        }
    }

    /// The class key of all records of this type, if they are known to be of one record type.
    pub const fn record_class(self) -> Option<u32> {
        if self.class == 0 {
            None
        } else {
            Some(self.class)
        }
    }

    /// The same with all records in place of those of one type.
    pub const fn any_record(self) -> Type {
        Type::of_kinds(self.kinds)
    }

    const fn has_records(self) -> bool {
        self.kinds & Type::RECORD.kinds != 0
    }

    /// Both sets together.
    pub const fn or(self, other: Type) -> Type {
        let differ = self.has_records() && other.has_records() && self.class != other.class;
        Type {
            kinds: self.kinds | other.kinds,
            // One without records has no class.
            class: if differ { 0 } else { self.class | other.class },
        }
    }

    /// Returns the intersection of both types.
    pub const fn and(self, other: Type) -> Type {
        let kinds = self.kinds & other.kinds;
        if kinds & Type::RECORD.kinds == 0 {
            return Type::of_kinds(kinds);
        }
        if self.class == other.class || other.class == 0 || self.class == 0 {
            let class = self.class | other.class;
            return Type { kinds, class };
        }
        Type::of_kinds(kinds & !Type::RECORD.kinds)
    }

    /// Returns the part of this type that is not in the other.
    pub const fn without(self, other: Type) -> Type {
        let keeps_records = self.has_records()
            && !(other.has_records() && (other.class == 0 || other.class == self.class));
        let kinds = self.kinds & !other.kinds & !Type::RECORD.kinds;
        if keeps_records {
            Type {
                kinds: kinds | Type::RECORD.kinds,
                class: self.class,
            }
        } else {
            Type::of_kinds(kinds)
        }
    }

    /// Whether every value of this type is of the other.
    pub const fn is(self, other: Type) -> bool {
        self.kinds & !other.kinds == 0
            && (!self.has_records() || other.class == 0 || other.class == self.class)
    }

    /// Whether some value may be of both types.
    pub const fn may_be(self, other: Type) -> bool {
        !self.and(other).is_none()
    }

    /// Whether there is no such value.
    pub const fn is_none(self) -> bool {
        self.kinds == 0
    }

    /// Whether it consists of several kinds.
    pub const fn is_several(self) -> bool {
        self.kinds & self.kinds.wrapping_sub(1) != 0
    }

    /// Whether no value of this type lives in the heap.
    pub const fn is_immediate(self) -> bool {
        self.is(Type::FIXNUM
            .or(Type::NIL)
            .or(Type::FALSE)
            .or(Type::TRUE)
            .or(Type::CHARACTER)
            .or(Type::OTHER_IMMEDIATE))
    }

    /// The type of objects of a kind.
    pub fn of_kind(kind: Kind) -> Type {
        match kind {
            Kind::Closure => Type::CLOSURE,
            Kind::Vector => Type::VECTOR,
            Kind::String => Type::STRING,
            Kind::Symbol => Type::SYMBOL,
            Kind::Bytevector => Type::BYTEVECTOR,
            Kind::Record => Type::RECORD,
            Kind::RecordType => Type::RECORD_TYPE,
            Kind::Box => Type::BOX,
            Kind::Cell => Type::CELL,
            Kind::Flonum => Type::FLONUM,
            Kind::Bignum => Type::BIGNUM,
            Kind::Ratnum => Type::OTHER_NUMBER,
            Kind::Compnum => Type::COMPNUM,
            Kind::Values => Type::VALUES,
            Kind::NumericVector => Type::NUMERIC_VECTOR,
            Kind::HashTable => Type::HASH_TABLE,
            _ => Type::OTHER_OBJECT,
        }
    }

    /// The kind of all objects of this type, if it is one kind whose objects always have a header.
    pub fn kind(self) -> Option<Kind> {
        Some(match self.any_record() {
            Type::CLOSURE => Kind::Closure,
            Type::VECTOR => Kind::Vector,
            Type::STRING => Kind::String,
            Type::SYMBOL => Kind::Symbol,
            Type::BYTEVECTOR => Kind::Bytevector,
            Type::RECORD => Kind::Record,
            Type::RECORD_TYPE => Kind::RecordType,
            Type::BOX => Kind::Box,
            Type::CELL => Kind::Cell,
            Type::BIGNUM => Kind::Bignum,
            Type::COMPNUM => Kind::Compnum,
            Type::VALUES => Kind::Values,
            Type::NUMERIC_VECTOR => Kind::NumericVector,
            Type::HASH_TABLE => Kind::HashTable,
            _ => return None,
        })
    }

    /// The type of a word that is no reference into the heap; `None` for pairs and objects.
    pub fn of_immediate(word: u64) -> Option<Type> {
        Some(match word & layout::TAG_MASK {
            0 | 4 => Type::FIXNUM,
            layout::TAG_PAIR | layout::TAG_OBJECT => return None,
            layout::TAG_IMMEDIATE => match word {
                layout::FALSE => Type::FALSE,
                layout::TRUE => Type::TRUE,
                layout::NIL => Type::NIL,
                _ if word & 0xff == layout::CHARACTER_LOW_BYTE => Type::CHARACTER,
                _ => Type::OTHER_IMMEDIATE,
            },
            _ => Type::FLONUM,
        })
    }
}

impl Type {
    /// Reads what [`std::fmt::Display`] writes from the start of a text; gives the type and the length
    /// of what was read.
    pub fn parse(text: &str) -> Option<(Type, usize)> {
        for (whole, name) in [(Type::NONE, "none"), (Type::ANY, "any")] {
            if text.starts_with(name) {
                return Some((whole, name.len()));
            }
        }
        let (mut ty, mut length) = (Type::NONE, 0);
        loop {
            let rest = &text[length..];
            // One name may be the start of another one.
            let names = Type::NAMES
                .iter()
                .filter(|(_, name)| rest.starts_with(name));
            let (bit, name) = names.max_by_key(|(_, name)| name.len())?;
            length += name.len();
            let mut one = Type::of_kinds(1 << bit);
            if let Some(rest) = text[length..].strip_prefix('<') {
                let (class, _) = rest.split_once('>')?;
                one = Type::record_of(class.parse().ok()?);
                length += class.len() + 2;
            }
            ty = ty.or(one);
            if !text[length..].starts_with('|') {
                return Some((ty, length));
            }
            length += 1;
        }
    }
}

impl std::fmt::Debug for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Type::NONE => return f.write_str("none"),
            Type::ANY => return f.write_str("any"),
            _ => {}
        }
        let mut first = true;
        for (bit, name) in Type::NAMES {
            if self.kinds >> bit & 1 == 1 {
                if !first {
                    f.write_str("|")?;
                }
                f.write_str(name)?;
                first = false;
                if let Some(class) = self.record_class()
                    && Type::of_kinds(1 << bit) == Type::RECORD
                {
                    write!(f, "<{class}>")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_the_types_that_the_layout_says() {
        assert_eq!(Type::of_immediate(12), Some(Type::FIXNUM));
        assert_eq!(Type::of_immediate(layout::NIL), Some(Type::NIL));
        assert_eq!(Type::of_immediate(layout::EOF), Some(Type::OTHER_IMMEDIATE));
        assert_eq!(
            Type::of_immediate('a' as u64 * 256 + layout::CHARACTER_LOW_BYTE),
            Some(Type::CHARACTER)
        );
        assert_eq!(Type::of_immediate(0x1005), None);
        assert_eq!(Type::of_immediate(0x1003), Some(Type::FLONUM));
    }

    #[test]
    fn kinds_and_types_agree() {
        for kind in Kind::ALL {
            if let Some(back) = Type::of_kind(*kind).kind() {
                assert_eq!(back, *kind);
            }
        }
        assert_eq!(
            Type::NUMBER.to_string(),
            "fixnum|flonum|bignum|other-number|complex-number"
        );
    }

    #[test]
    fn types_are_read_as_they_are_written() {
        let single = (0..24).map(|bit| Type::of_kinds(1 << bit));
        let cat = Type::record_of(130);
        for ty in single.chain([Type::NONE, Type::ANY, Type::NUMBER, cat, cat.or(Type::BOX)]) {
            let text = ty.to_string();
            assert_eq!(Type::parse(&format!("{text})")), Some((ty, text.len())));
        }
        assert_eq!(
            Type::parse("record-type|pair, n3").map(|(_, length)| length),
            Some(16)
        );
        assert_eq!(Type::parse("fixnum|"), None);
    }

    #[test]
    fn record_types_are_a_set_each() {
        let (cat, dog) = (Type::record_of(130), Type::record_of(131));
        assert!(cat.is(Type::RECORD) && !Type::RECORD.is(cat) && !cat.is(dog));
        assert!(!cat.may_be(dog) && cat.may_be(Type::RECORD));
        assert_eq!(cat.or(dog), Type::RECORD);
        assert_eq!(cat.or(Type::PAIR).and(dog.or(Type::PAIR)), Type::PAIR);
        assert_eq!(cat.and(Type::RECORD), cat);
        assert_eq!(Type::ANY.and(cat), cat);
        assert_eq!(Type::RECORD.without(cat), Type::RECORD);
        assert_eq!(cat.or(Type::NIL).without(cat), Type::NIL);
        assert_eq!(cat.or(Type::NIL).without(Type::RECORD), Type::NIL);
        assert_eq!(cat.without(dog), cat);
        assert_eq!(cat.or(Type::NIL).without(Type::NIL), cat);
        assert_eq!(cat.kind(), Some(Kind::Record));
        assert!(Type::NIL.is(cat.or(Type::NIL)) && Type::NONE.is(cat));
        assert_eq!(Type::record_of(class_key::CROWDED), Type::RECORD);
        assert_eq!(cat.to_string(), "record<130>");
    }
}
