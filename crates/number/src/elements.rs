//! Elements of homogeneous numeric vectors: which numbers an element type holds, and their bytes.
//!
//! The bytes are in the machine's order; complex elements are two floats, the real part first.

use crate::Number;

/// The type of the elements of a homogeneous numeric vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub enum ElementType {
    /// Unsigned bytes; their vectors are bytevectors.
    U8,
    /// Signed bytes.
    S8,
    /// 16 bits, unsigned.
    U16,
    /// 16 bits, signed.
    S16,
    /// 32 bits, unsigned.
    U32,
    /// 32 bits, signed.
    S32,
    /// 64 bits, unsigned.
    U64,
    /// 64 bits, signed.
    S64,
    /// Single floats.
    F32,
    /// Double floats.
    F64,
    /// Pairs of single floats.
    C64,
    /// Pairs of double floats.
    C128,
}

/// Greatest number of bytes of an element.
pub const ELEMENT_BYTES_MAX: usize = 16;

impl ElementType {
    /// Every type, in the order of the codes.
    pub const ALL: [ElementType; 12] = [
        ElementType::U8,
        ElementType::S8,
        ElementType::U16,
        ElementType::S16,
        ElementType::U32,
        ElementType::S32,
        ElementType::U64,
        ElementType::S64,
        ElementType::F32,
        ElementType::F64,
        ElementType::C64,
        ElementType::C128,
    ];

    /// The type with this code, if there is one.
    pub const fn from_code(code: u8) -> Option<ElementType> {
        if (code as usize) < ElementType::ALL.len() {
            Some(ElementType::ALL[code as usize])
        } else {
            None
        }
    }

    /// The type with this name, such as `f64`.
    pub fn from_name(name: &str) -> Option<ElementType> {
        ElementType::ALL
            .into_iter()
            .find(|element| element.name() == name)
    }

    /// The name, as in `#f64(…)`.
    pub const fn name(self) -> &'static str {
        match self {
            ElementType::U8 => "u8",
            ElementType::S8 => "s8",
            ElementType::U16 => "u16",
            ElementType::S16 => "s16",
            ElementType::U32 => "u32",
            ElementType::S32 => "s32",
            ElementType::U64 => "u64",
            ElementType::S64 => "s64",
            ElementType::F32 => "f32",
            ElementType::F64 => "f64",
            ElementType::C64 => "c64",
            ElementType::C128 => "c128",
        }
    }

    /// Bytes of an element.
    pub const fn bytes(self) -> usize {
        match self {
            ElementType::U8 | ElementType::S8 => 1,
            ElementType::U16 | ElementType::S16 => 2,
            ElementType::U32 | ElementType::S32 | ElementType::F32 => 4,
            ElementType::U64 | ElementType::S64 | ElementType::F64 | ElementType::C64 => 8,
            ElementType::C128 => 16,
        }
    }

    /// The description of an element, for messages.
    pub const fn description(self) -> &'static str {
        match self {
            ElementType::U8 => "exact integer from 0 to 255",
            ElementType::S8 => "exact integer from -128 to 127",
            ElementType::U16 => "exact integer from 0 to 65535",
            ElementType::S16 => "exact integer from -32768 to 32767",
            ElementType::U32 => "exact integer from 0 to 4294967295",
            ElementType::S32 => "exact integer from -2147483648 to 2147483647",
            ElementType::U64 => "exact integer from 0 to 18446744073709551615",
            ElementType::S64 => "exact integer from -9223372036854775808 to 9223372036854775807",
            ElementType::F32 | ElementType::F64 => "real number",
            ElementType::C64 | ElementType::C128 => "number",
        }
    }
}

/// An element as its bytes, of which the first [`ElementType::bytes`] count.
pub type ElementBytes = [u8; ELEMENT_BYTES_MAX];

fn padded<const COUNT: usize>(bytes: [u8; COUNT]) -> ElementBytes {
    let mut all = [0; ELEMENT_BYTES_MAX];
    all[..COUNT].copy_from_slice(&bytes);
    all
}

fn paired<const COUNT: usize>(first: [u8; COUNT], second: [u8; COUNT]) -> ElementBytes {
    let mut all = [0; ELEMENT_BYTES_MAX];
    all[..COUNT].copy_from_slice(&first);
    all[COUNT..2 * COUNT].copy_from_slice(&second);
    all
}

/// The bytes of an integer element, if it is in range.
#[inline]
pub fn encode_integer(element: ElementType, value: i64) -> Option<ElementBytes> {
    Some(match element {
        ElementType::U8 => padded(u8::try_from(value).ok()?.to_ne_bytes()),
        ElementType::S8 => padded(i8::try_from(value).ok()?.to_ne_bytes()),
        ElementType::U16 => padded(u16::try_from(value).ok()?.to_ne_bytes()),
        ElementType::S16 => padded(i16::try_from(value).ok()?.to_ne_bytes()),
        ElementType::U32 => padded(u32::try_from(value).ok()?.to_ne_bytes()),
        ElementType::S32 => padded(i32::try_from(value).ok()?.to_ne_bytes()),
        ElementType::U64 => padded(u64::try_from(value).ok()?.to_ne_bytes()),
        ElementType::S64 => padded(value.to_ne_bytes()),
        _ => return None,
    })
}

/// The bytes of a real number as an element of a float type.
#[inline]
pub fn encode_flonum(element: ElementType, value: f64) -> Option<ElementBytes> {
    Some(match element {
        ElementType::F32 => padded((value as f32).to_ne_bytes()),
        ElementType::F64 => padded(value.to_ne_bytes()),
        ElementType::C64 => paired((value as f32).to_ne_bytes(), 0f32.to_ne_bytes()),
        ElementType::C128 => paired(value.to_ne_bytes(), 0f64.to_ne_bytes()),
        _ => return None,
    })
}

/// The bytes of a number as an element, if the type holds such numbers.
pub fn encode_element(element: ElementType, value: &Number) -> Option<ElementBytes> {
    match element {
        ElementType::F32 | ElementType::F64 => encode_flonum(element, crate::to_f64(value).ok()?),
        ElementType::C64 | ElementType::C128 => {
            let real = crate::to_f64(&crate::real_part(value)).ok()?;
            let imaginary = crate::to_f64(&crate::imag_part(value)).ok()?;
            Some(if element == ElementType::C64 {
                paired(
                    (real as f32).to_ne_bytes(),
                    (imaginary as f32).to_ne_bytes(),
                )
            } else {
                paired(real.to_ne_bytes(), imaginary.to_ne_bytes())
            })
        }
        _ => match value {
            Number::Fixnum(value) => encode_integer(element, *value),
            Number::Big(value) if element == ElementType::U64 => {
                Some(padded(u64::try_from(value).ok()?.to_ne_bytes()))
            }
            _ => None,
        },
    }
}

/// An element.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// Of an integer type.
    Integer(i64),
    /// Of an integer type, above the greatest `i64`.
    Large(u64),
    /// Of a float type.
    Flonum(f64),
    /// Of a complex type.
    Complex(f64, f64),
}

/// The element whose bytes `bytes` starts with. Panics when there are too few.
#[inline]
pub fn decode_element(element: ElementType, bytes: &[u8]) -> Element {
    fn head<const COUNT: usize>(bytes: &[u8]) -> [u8; COUNT] {
        let mut head = [0; COUNT];
        head.copy_from_slice(&bytes[..COUNT]);
        head
    }
    match element {
        ElementType::U8 => Element::Integer(bytes[0].into()),
        ElementType::S8 => Element::Integer((bytes[0] as i8).into()),
        ElementType::U16 => Element::Integer(u16::from_ne_bytes(head(bytes)).into()),
        ElementType::S16 => Element::Integer(i16::from_ne_bytes(head(bytes)).into()),
        ElementType::U32 => Element::Integer(u32::from_ne_bytes(head(bytes)).into()),
        ElementType::S32 => Element::Integer(i32::from_ne_bytes(head(bytes)).into()),
        ElementType::S64 => Element::Integer(i64::from_ne_bytes(head(bytes))),
        ElementType::U64 => {
            let value = u64::from_ne_bytes(head(bytes));
            match i64::try_from(value) {
                Ok(value) => Element::Integer(value),
                Err(_) => Element::Large(value),
            }
        }
        ElementType::F32 => Element::Flonum(f32::from_ne_bytes(head(bytes)).into()),
        ElementType::F64 => Element::Flonum(f64::from_ne_bytes(head(bytes))),
        ElementType::C64 => Element::Complex(
            f32::from_ne_bytes(head(bytes)).into(),
            f32::from_ne_bytes(head(&bytes[4..])).into(),
        ),
        ElementType::C128 => Element::Complex(
            f64::from_ne_bytes(head(bytes)),
            f64::from_ne_bytes(head(&bytes[8..])),
        ),
    }
}

impl Element {
    /// The number. A complex element stays complex: its imaginary part is inexact.
    pub fn to_number(&self) -> Number {
        match *self {
            Element::Integer(value) => Number::Fixnum(value),
            Element::Large(value) => Number::from_i128(value.into()),
            Element::Flonum(value) => Number::Flonum(value),
            Element::Complex(real, imaginary) => {
                let parts = (Number::Flonum(real), Number::Flonum(imaginary));
                crate::make_rectangular(&parts.0, &parts.1).unwrap_or(parts.0)
            }
        }
    }
}

/// The text of a numeric vector with these bytes, such as `#f64(1.5 2.0)`.
pub fn write_elements(element: ElementType, bytes: &[u8]) -> String {
    let mut text = format!("#{}(", element.name());
    for (index, bytes) in bytes.chunks_exact(element.bytes()).enumerate() {
        if index > 0 {
            text.push(' ');
        }
        let number = decode_element(element, bytes).to_number();
        text.push_str(&crate::write_number(&number, 10));
    }
    text.push(')');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        crate::parse_number(text, 10).unwrap().unwrap()
    }

    #[test]
    fn codes_and_names_agree() {
        for (code, element) in ElementType::ALL.into_iter().enumerate() {
            assert_eq!(element as usize, code);
            assert_eq!(ElementType::from_code(code as u8), Some(element));
            assert_eq!(ElementType::from_name(element.name()), Some(element));
        }
        assert_eq!(ElementType::from_code(12), None);
    }

    #[test]
    fn elements_come_back() {
        for (element, texts) in [
            (ElementType::U8, &["0", "255"][..]),
            (ElementType::S8, &["-128", "127"]),
            (ElementType::U16, &["0", "65535"]),
            (ElementType::S16, &["-32768", "32767"]),
            (ElementType::U32, &["0", "4294967295"]),
            (ElementType::S32, &["-2147483648", "2147483647"]),
            (ElementType::U64, &["0", "18446744073709551615"]),
            (
                ElementType::S64,
                &["-9223372036854775808", "9223372036854775807"],
            ),
            (ElementType::F32, &["1.5", "-0.0", "+inf.0"]),
            (ElementType::F64, &["0.1", "-0.0", "-inf.0"]),
            (ElementType::C64, &["1.5-2.0i"]),
            (ElementType::C128, &["0.1+2.0i"]),
        ] {
            for text in texts {
                let bytes = encode_element(element, &number(text)).expect(text);
                let back = decode_element(element, &bytes).to_number();
                assert_eq!(crate::write_number(&back, 10), *text);
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (element, text) in [
            (ElementType::U8, "256"),
            (ElementType::U8, "-1"),
            (ElementType::S8, "128"),
            (ElementType::U64, "18446744073709551616"),
            (ElementType::U64, "-1"),
            (ElementType::S64, "9223372036854775808"),
            (ElementType::S32, "1.0"),
            (ElementType::F64, "1+2i"),
        ] {
            assert_eq!(encode_element(element, &number(text)), None, "{text}");
        }
    }
}
