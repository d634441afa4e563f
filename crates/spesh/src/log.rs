//! Decoding of the logs that threads write while they interpret.
//!
//! A log is a slice of words, three for an entry, in the format of `canny_tables::layout::log`.
//! Decoding never fails: what is not an entry is skipped, for a log is a hint and nothing depends on it
//! being complete.

use canny_tables::kinds::Kind;
use canny_tables::layout::{self, log};

use crate::snapshot::CodeWord;
use crate::types::Type;

/// Entries of a thread's buffer.
pub const BUFFER_ENTRIES: usize = 16384;

/// The types of the arguments of one call, as far as they are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeTuple {
    count: u8,
    types: [Type; log::ARGUMENTS_MAX],
}

impl TypeTuple {
    /// The tuple of a call with these arguments; those beyond the logged ones are not looked at.
    pub fn new(types: &[Type]) -> TypeTuple {
        let mut tuple = TypeTuple {
            count: types.len().min(255) as u8,
            types: [Type::NONE; log::ARGUMENTS_MAX],
        };
        for (place, ty) in tuple.types.iter_mut().zip(types) {
            *place = *ty;
        }
        tuple
    }

    /// Number of arguments of the call.
    pub fn argument_count(&self) -> usize {
        self.count.into()
    }

    /// Whether the arguments are of such types, as far as both are known.
    pub fn is(&self, wanted: &[Type]) -> bool {
        let mut both = self.types().iter().zip(wanted);
        both.all(|(ty, wanted)| ty.is(*wanted))
    }

    /// The types that are known, from the first argument on.
    pub fn types(&self) -> &[Type] {
        &self.types[..self.argument_count().min(log::ARGUMENTS_MAX)]
    }
}

/// What one entry, with its continuations, says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A call entered code.
    Enter {
        /// Address of the call instruction; zero for a call of compiled code.
        call: u64,
        /// The code that was entered.
        callee: CodeWord,
        /// The arguments' types.
        arguments: TypeTuple,
        /// The caller's frame is gone.
        is_tail: bool,
    },
    /// A procedure returned to an address.
    Return {
        /// Where the caller resumes.
        address: u64,
        /// The code that returned.
        from: CodeWord,
        /// Type of the value.
        ty: Type,
    },
    /// A loop went back.
    Loop {
        /// Address of the loop instruction.
        address: u64,
        /// The code that it is in.
        code: CodeWord,
        /// What its first registers held.
        registers: LoopRegisters,
    },
    /// An instruction loaded a value.
    Result {
        /// Address of the instruction.
        address: u64,
        /// The code that it is in.
        code: CodeWord,
        /// Type of the value.
        ty: Type,
    },
}

/// The events of a log, in order.
pub fn events(words: &[u64]) -> Events<'_> {
    Events { words }
}

/// See [`events`].
#[derive(Clone, Debug)]
pub struct Events<'a> {
    words: &'a [u64],
}

impl Events<'_> {
    /// The two words of a continuation, if one follows.
    fn more(&mut self) -> Option<[u64; 2]> {
        match *self.words {
            [first, second, third, ref rest @ ..] if first as u8 == log::MORE => {
                self.words = rest;
                Some([second, third])
            }
            _ => None,
        }
    }

    fn enter(&mut self, first: u64, callee: u64, types: u64) -> Event {
        let more = self.more().map_or(0, |[types, _]| types);
        let count = (first >> log::EXTRA_SHIFT) as u8;
        let mut tuple = TypeTuple {
            count,
            types: [Type::NONE; log::ARGUMENTS_MAX],
        };
        for index in 0..log::ARGUMENTS_MAX.min(count.into()) {
            let word = if index < 4 { types } else { more };
            tuple.types[index] = type_of_code((word >> (16 * (index % 4))) as u16);
        }
        Event::Enter {
            call: first >> log::ADDRESS_SHIFT,
            callee: CodeWord(callee),
            arguments: tuple,
            is_tail: first as u8 == log::TAIL_ENTER,
        }
    }

    fn registers(&mut self, own: u64) -> LoopRegisters {
        LoopRegisters {
            own,
            further: self.more(),
        }
    }
}

/// What the first registers of a frame held when a loop went back, as logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopRegisters {
    own: u64,
    further: Option<[u64; 2]>,
}

impl LoopRegisters {
    /// The types: those of live registers are true; [`Type::ANY`] where not logged.
    pub fn types(&self) -> [Type; log::LOOP_REGISTERS_MAX] {
        let mut registers = [Type::ANY; log::LOOP_REGISTERS_MAX];
        let further = self.further.iter().flatten();
        let bytes = [self.own]
            .into_iter()
            .chain(further.copied())
            .flat_map(u64::to_le_bytes);
        for (place, byte) in registers.iter_mut().zip(bytes) {
            *place = type_of_short_code(byte);
        }
        registers
    }
}

const _: () = assert!(log::LOOP_REGISTERS == 8);

impl Iterator for Events<'_> {
    type Item = Event;

    // An event is large: it is taken apart where it is made.
    #[inline(always)]
    fn next(&mut self) -> Option<Event> {
        loop {
            let [first, second, third, ref rest @ ..] = *self.words else {
                return None;
            };
            self.words = rest;
            let address = first >> log::ADDRESS_SHIFT;
            return Some(match first as u8 {
                log::ENTER | log::TAIL_ENTER => self.enter(first, second, third),
                log::RETURN => Event::Return {
                    address,
                    from: CodeWord(third),
                    ty: type_of_code(second as u16),
                },
                log::LOOP => Event::Loop {
                    address,
                    code: CodeWord(second),
                    registers: self.registers(third),
                },
                log::RESULT => Event::Result {
                    address,
                    code: CodeWord(third),
                    ty: type_of_code(second as u16),
                },
                _ => continue,
            });
        }
    }
}

/// The type behind 16 bits of a log.
pub fn type_of_code(code: u16) -> Type {
    if code & log::TYPE_OBJECT != 0 {
        return type_of_kind(code as u8);
    }
    match u64::from(code) & layout::TAG_MASK {
        layout::TAG_PAIR => Type::PAIR,
        layout::TAG_OBJECT => Type::ANY,
        _ => Type::of_immediate(code.into()).unwrap_or(Type::ANY),
    }
}

/// The type behind 8 bits of a log.
fn type_of_short_code(code: u8) -> Type {
    if code & log::SHORT_TYPE_OBJECT != 0 {
        return type_of_kind(code & !log::SHORT_TYPE_OBJECT);
    }
    match u64::from(code) & layout::TAG_MASK {
        layout::TAG_PAIR => Type::PAIR,
        layout::TAG_OBJECT => Type::ANY,
        layout::TAG_IMMEDIATE => IMMEDIATE,
        tag => Type::of_immediate(tag).unwrap_or(Type::ANY),
    }
}

/// What a loop's entry tells of every immediate.
const IMMEDIATE: Type = Type::BOOLEAN
    .or(Type::NIL)
    .or(Type::CHARACTER)
    .or(Type::OTHER_IMMEDIATE);

fn type_of_kind(kind: u8) -> Type {
    Kind::from_byte(kind).map_or(Type::ANY, Type::of_kind)
}

/// Writes logs as the machine does, for tests.
#[derive(Clone, Debug, Default)]
pub struct LogWriter {
    words: Vec<u64>,
}

impl LogWriter {
    /// An empty log.
    pub fn new() -> LogWriter {
        LogWriter::default()
    }

    /// The log.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    fn entry(&mut self, kind: u8, extra: u8, address: u64, second: u64, third: u64) -> &mut Self {
        let first =
            u64::from(kind) | u64::from(extra) << log::EXTRA_SHIFT | address << log::ADDRESS_SHIFT;
        self.words.extend([first, second, third]);
        self
    }

    /// A call with arguments that have the types of these words.
    pub fn enter(&mut self, call: u64, callee: CodeWord, arguments: &[u16]) -> &mut Self {
        self.enter_as(log::ENTER, call, callee, arguments)
    }

    /// A tail call.
    pub fn tail_enter(&mut self, call: u64, callee: CodeWord, arguments: &[u16]) -> &mut Self {
        self.enter_as(log::TAIL_ENTER, call, callee, arguments)
    }

    fn enter_as(&mut self, kind: u8, call: u64, callee: CodeWord, types: &[u16]) -> &mut Self {
        let pack = |types: &[u16]| {
            types
                .iter()
                .rev()
                .fold(0, |word, ty| word << 16 | u64::from(*ty))
        };
        let (own, further) = types.split_at(types.len().min(4));
        self.entry(kind, types.len() as u8, call, callee.0, pack(own));
        if !further.is_empty() {
            self.entry(log::MORE, 0, 0, pack(&further[..further.len().min(4)]), 0);
        }
        self
    }

    /// A return.
    pub fn leave(&mut self, address: u64, from: CodeWord, ty: u16) -> &mut Self {
        self.entry(log::RETURN, 0, address, ty.into(), from.0)
    }

    /// A loop with the short types of its first eight registers.
    pub fn back(&mut self, address: u64, code: CodeWord, registers: [u8; 8]) -> &mut Self {
        self.entry(log::LOOP, 0, address, code.0, u64::from_le_bytes(registers))
    }

    /// A load.
    pub fn result(&mut self, address: u64, code: CodeWord, ty: u16) -> &mut Self {
        self.entry(log::RESULT, 0, address, ty.into(), code.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: CodeWord = CodeWord(0x7f00_0000_1005);

    #[test]
    fn codes_give_the_types_of_the_words_that_they_were_made_of() {
        assert_eq!(type_of_code(0), Type::FIXNUM);
        assert_eq!(type_of_code(4), Type::FIXNUM);
        assert_eq!(type_of_code(1), Type::PAIR);
        for flonum in [2, 3, 7] {
            assert_eq!(type_of_code(flonum), Type::FLONUM);
        }
        assert_eq!(type_of_code(layout::NIL as u16), Type::NIL);
        assert_eq!(type_of_code(layout::FALSE as u16), Type::FALSE);
        let accented = 0xe9u64 << 8 | layout::CHARACTER_LOW_BYTE;
        assert_eq!(type_of_code(accented as u16 & 0x7fff), Type::CHARACTER);
        for kind in Kind::ALL {
            assert_eq!(
                type_of_code(log::TYPE_OBJECT | *kind as u16),
                Type::of_kind(*kind)
            );
            assert_eq!(
                type_of_short_code(log::SHORT_TYPE_OBJECT | *kind as u8),
                Type::of_kind(*kind)
            );
        }
        assert_eq!(type_of_code(0xffff), Type::ANY);
        assert!(Type::CHARACTER.is(type_of_short_code(6)));
    }

    #[test]
    fn calls_come_back_with_their_arguments() {
        let vector = log::TYPE_OBJECT | Kind::Vector as u16;
        let mut log = LogWriter::new();
        log.enter(0x1000, CODE, &[0, 1, 2, vector, 0x216])
            .tail_enter(0x1010, CODE, &[])
            .result(0x1020, CODE, 1)
            .leave(0x1008, CODE, vector);
        let decoded: Vec<Event> = events(log.words()).collect();
        let types = [
            Type::FIXNUM,
            Type::PAIR,
            Type::FLONUM,
            Type::VECTOR,
            Type::NIL,
        ];
        assert_eq!(
            decoded[0],
            Event::Enter {
                call: 0x1000,
                callee: CODE,
                arguments: TypeTuple::new(&types),
                is_tail: false,
            }
        );
        assert!(matches!(
            decoded[1],
            Event::Enter { is_tail: true, arguments, .. } if arguments.argument_count() == 0
        ));
        assert_eq!(
            decoded[2],
            Event::Result {
                address: 0x1020,
                code: CODE,
                ty: Type::PAIR
            }
        );
        assert_eq!(
            decoded[3],
            Event::Return {
                address: 0x1008,
                from: CODE,
                ty: Type::VECTOR
            }
        );
        assert_eq!(decoded.len(), 4);
    }

    #[test]
    fn many_arguments_are_counted_and_the_first_known() {
        let mut log = LogWriter::new();
        log.enter(0x1000, CODE, &[1; 30]);
        let Some(Event::Enter { arguments, .. }) = events(log.words()).next() else {
            panic!("an entry was written");
        };
        assert_eq!(arguments.argument_count(), 30);
        assert_eq!(arguments.types(), [Type::PAIR; 8]);
    }

    #[test]
    fn loops_come_with_their_registers() {
        let mut log = LogWriter::new();
        log.back(0x2000, CODE, [0, 1, 2, 0x81, 6, 4, 3, 7]);
        log.entry(log::MORE, 0, 0, 1, 2);
        let Some(Event::Loop {
            address, registers, ..
        }) = events(log.words()).next()
        else {
            panic!("an entry was written");
        };
        assert_eq!(address, 0x2000);
        assert_eq!(
            registers.types()[..4],
            [Type::FIXNUM, Type::PAIR, Type::FLONUM, Type::VECTOR]
        );
        assert_eq!(
            [8, 9, 16].map(|register: usize| registers.types()[register]),
            [Type::PAIR, Type::FIXNUM, Type::FLONUM]
        );
    }

    #[test]
    fn rubbish_is_skipped() {
        assert_eq!(events(&[0xff, 1, 2, 0, 0, 0, 5]).count(), 0);
        assert_eq!(events(&[1, 2]).count(), 0);
        let mut log = LogWriter::new();
        log.entry(log::MORE, 0, 0, 0, 0).result(8, CODE, 0);
        assert_eq!(events(log.words()).count(), 1);
    }
}
