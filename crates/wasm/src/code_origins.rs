//! Where the instructions of a piece of machine code are from, in few bytes.
//!
//! A row is an offset in the code and one in the module's bytes. Rows are differences to the row before,
//! as numbers of 7 bits in a byte. So that a search need not begin with the first row, there is an index.

/// Rows between two of the index.
const INDEXED: usize = 64;

/// Offsets in a module's bytes, by offsets in machine code.
#[derive(Default, Debug)]
pub struct CodeOrigins {
    bytes: Box<[u8]>,
    /// Some rows, and where the bytes of the row behind them begin.
    index: Box<[(u32, u32, u32)]>,
}

impl CodeOrigins {
    /// The same for rows that are sorted by offsets in the code.
    pub fn new(rows: &[(u32, u32)]) -> CodeOrigins {
        let mut bytes = Vec::new();
        let mut index = Vec::new();
        let (mut code, mut origin) = (0, 0);
        let mut count = 0;
        for row in rows {
            if count > 0 && row.1 == origin {
                continue;
            }
            put(&mut bytes, row.0 - code);
            put(&mut bytes, fold(row.1.wrapping_sub(origin) as i32));
            (code, origin) = *row;
            if count % INDEXED == 0 {
                index.push((code, origin, bytes.len() as u32));
            }
            count += 1;
        }
        CodeOrigins {
            bytes: bytes.into(),
            index: index.into(),
        }
    }

    /// The offset in the module's bytes of the instruction that has a byte.
    pub fn of_byte(&self, byte: u32) -> Option<u32> {
        let behind = self.index.partition_point(|(code, ..)| *code <= byte);
        let (mut code, mut origin, start) = self.index[behind.checked_sub(1)?];
        let mut rest = &self.bytes[start as usize..];
        while !rest.is_empty() {
            code += take(&mut rest);
            if code > byte {
                break;
            }
            origin = origin.wrapping_add(unfold(take(&mut rest)) as u32);
        }
        Some(origin)
    }
}

/// Small numbers of either sign as small natural numbers.
fn fold(number: i32) -> u32 {
    (number << 1 ^ number >> 31) as u32
}

fn unfold(number: u32) -> i32 {
    (number >> 1) as i32 ^ -((number & 1) as i32)
}

fn put(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> u32 {
    let mut number = 0;
    let mut shift = 0;
    while let [first, rest @ ..] = *bytes {
        *bytes = rest;
        number |= u32::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            break;
        }
        shift += 7;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_code_has_the_origin_of_the_row_before() {
        let mut rows = vec![(3, 0x1_0000), (4, 5), (4 + 300, u32::MAX - 1), (2000, 7)];
        rows.extend((0..1000).map(|number| (3000 + 3 * number, number * 77 % 501)));
        let origins = CodeOrigins::new(&rows);
        assert_eq!(origins.of_byte(0), None);
        assert_eq!(origins.of_byte(2), None);
        for byte in 3..7000 {
            let expected = rows.iter().rfind(|(code, _)| *code <= byte);
            assert_eq!(origins.of_byte(byte), expected.map(|row| row.1), "{byte}");
        }
        assert!(origins.bytes.len() < 4 * rows.len());
        assert_eq!(CodeOrigins::new(&[]).of_byte(9), None);
    }
}
