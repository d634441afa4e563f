//! Words encode and decode what the layout says.

use canny_tables::kinds::Kind;
use canny_tables::layout;

use crate::{Header, Value};

#[test]
fn flonums_round_trip_or_are_refused() {
    let held = [
        0.0,
        1.0,
        -1.0,
        0.5,
        1e76,
        -1e-76,
        5e-324,
        std::f64::consts::PI,
    ];
    for f in held {
        let word = Value::try_inline_flonum(f).unwrap_or_else(|| panic!("{f} is held"));
        assert_eq!(word.as_inline_flonum().map(f64::to_bits), Some(f.to_bits()));
        assert!(!word.is_fixnum() && !word.is_reference() && !word.is_character());
    }
    for f in [
        1e100,
        -1e300,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        -0.0,
        1e-200,
    ] {
        if let Some(word) = Value::try_inline_flonum(f) {
            assert_eq!(word.as_inline_flonum().map(f64::to_bits), Some(f.to_bits()));
        }
    }
    assert_eq!(Value::try_inline_flonum(f64::NAN), None);
    assert_eq!(Value::try_inline_flonum(1e100), None);
}

#[test]
fn every_exponent_round_trips_and_has_one_class() {
    let mut bits = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..2_000_000 {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        if let Some(word) = Value::try_inline_flonum(f64::from_bits(bits)) {
            assert_eq!(word.as_inline_flonum().map(f64::to_bits), Some(bits));
            assert!(!word.is_fixnum() && !word.is_reference());
            assert_ne!(word.bits() & 7, layout::TAG_IMMEDIATE);
        }
    }
}

#[test]
fn fixnums_and_characters() {
    for n in [0, 1, -1, layout::FIXNUM_MAX, layout::FIXNUM_MIN] {
        assert_eq!(Value::fixnum(n).as_fixnum(), Some(n));
    }
    assert_eq!(Value::try_fixnum(layout::FIXNUM_MAX + 1), None);
    for c in ['a', '\0', '\u{10ffff}', 'λ'] {
        assert_eq!(Value::character(c).as_character(), Some(c));
        assert!(!Value::character(c).is_fixnum());
    }
}

#[test]
fn headers_look_like_immediates() {
    for &kind in Kind::ALL {
        let header = Header::new(kind, 3, 12345);
        assert!(Header::is_header(header.0));
        assert_eq!(
            (header.kind(), header.flags(), header.length()),
            (kind, 3, 12345)
        );
        assert_eq!(header.object_bytes() % layout::GRANULE_BYTES, 0);
    }
    for word in [
        layout::FALSE,
        layout::NIL,
        Value::character('x').bits(),
        Value::fixnum(3).bits(),
    ] {
        assert!(!Header::is_header(word));
    }
}
