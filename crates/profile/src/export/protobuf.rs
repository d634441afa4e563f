//! The wire format of protocol buffers, as much as writing needs.
//!
//! A message is a list of fields, each a key (number and wire type) and a value: a variable-length
//! integer, or bytes with their length, which are texts, messages and packed lists. Zero and
//! the empty text are defaults, so fields with them are left out.

const VARINT: u64 = 0;
const LENGTH_DELIMITED: u64 = 2;

/// A message that grows.
#[derive(Debug, Default)]
pub struct Message(Vec<u8>);

impl Message {
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn delimited(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | LENGTH_DELIMITED);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// An integer or an enumeration's member.
    pub fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.varint(field << 3 | VARINT);
            self.varint(value);
        }
    }

    /// An element of a repeated field, written even if it is empty.
    pub fn text(&mut self, field: u64, text: &str) {
        self.delimited(field, text.as_bytes());
    }

    pub fn message(&mut self, field: u64, message: &Message) {
        self.delimited(field, &message.0);
    }

    /// A list of integers.
    pub fn packed(&mut self, field: u64, values: &[u64]) {
        if values.is_empty() {
            return;
        }
        let mut list = Message::default();
        for value in values {
            list.varint(*value);
        }
        self.message(field, &list);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(write: impl Fn(&mut Message), expect: &[u8]) {
        let mut message = Message::default();
        write(&mut message);
        assert_eq!(message.bytes(), expect);
    }

    #[test]
    fn fields_have_their_wire_form() {
        check(|message| message.number(1, 150), &[0x08, 0x96, 0x01]);
        check(|message| message.number(1, 0), &[]);
        check(|message| message.text(2, "testing"), b"\x12\x07testing");
        check(|message| message.text(6, ""), &[0x32, 0]);
        check(
            |message| message.packed(4, &[3, 270, 86_942]),
            &[0x22, 6, 3, 0x8e, 2, 0x9e, 0xa7, 5],
        );
        let largest = [0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        check(|message| message.number(1, u64::MAX), &largest);
    }
}
