//! Decoding of the logs that threads write while they interpret.
//!
//! A log is a slice of words, three or more for an entry, in the format of `canny_tables::layout::log`.
//! Decoding never fails: words that are no entry are skipped, for a log is a hint and nothing
//! depends on it being complete.

use canny_tables::kinds::Kind;
use canny_tables::layout::{self, log};

use crate::snapshot::CodeWord;
use crate::types::Type;

/// Words of a thread's buffer, about 16384 entries.
pub const BUFFER_WORDS: usize = 13 * 4096;

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

    /// The tuple of a call with so many arguments, of which the first ones have these types.
    pub fn of_call(argument_count: u8, types: &[Type]) -> TypeTuple {
        TypeTuple {
            count: argument_count,
            ..TypeTuple::new(types)
        }
    }

    /// Number of arguments of the call.
    pub fn argument_count(&self) -> usize {
        self.count.into()
    }

    /// The same with all records in place of those of one type.
    pub fn without_classes(&self) -> TypeTuple {
        TypeTuple {
            count: self.count,
            types: self.types.map(Type::any_record),
        }
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

/// Content of one entry with its continuations.
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
        /// Position of the callee's frame.
        position: u64,
        /// Position of the caller's; `None` where the caller is compiled code.
        caller: Option<u64>,
        /// The caller's frame is gone.
        is_tail: bool,
    },
    /// A procedure returned to an address.
    Return {
        /// Where the caller resumes.
        address: u64,
        /// The code that returned.
        from: CodeWord,
        /// Position of its frame.
        position: u64,
        /// Type of the value.
        ty: Type,
    },
    /// A loop went back.
    Loop {
        /// Address of the loop instruction.
        address: u64,
        /// The code that it is in.
        code: CodeWord,
        /// Position of the frame.
        position: u64,
        /// Contents of its first registers.
        registers: LoopRegisters,
    },
    /// An instruction loaded a value.
    Result {
        /// Address of the instruction.
        address: u64,
        /// The code that it is in.
        code: CodeWord,
        /// Position of the frame.
        position: u64,
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

impl<'a> Events<'a> {
    /// The next words, if there are so many; they are zero otherwise.
    fn take<const COUNT: usize>(&mut self) -> [u64; COUNT] {
        match self.words.split_first_chunk::<COUNT>() {
            Some((words, rest)) => {
                self.words = rest;
                *words
            }
            None => {
                self.words = &[];
                [0; COUNT]
            }
        }
    }

    fn enter(&mut self, first: u64, callee: u64, types: u64) -> Event {
        let [frame] = self.take();
        let count = (first >> log::EXTRA_SHIFT) as u8;
        let mut tuple = TypeTuple {
            count,
            types: [Type::NONE; log::ARGUMENTS_MAX],
        };
        let [more] = if count > 4 { self.take() } else { [0] };
        for index in 0..log::ARGUMENTS_MAX.min(count.into()) {
            let word = if index < 4 { types } else { more };
            tuple.types[index] = type_of_code((word >> (16 * (index % 4))) as u16);
        }
        let is_tail = first as u8 == log::TAIL_ENTER;
        let position = frame >> log::POSITION_SHIFT;
        let distance = 8 * u64::from(frame as u16);
        let call = first >> log::ADDRESS_SHIFT;
        Event::Enter {
            call,
            callee: CodeWord(callee),
            arguments: tuple,
            position,
            caller: (call != 0).then(|| position.saturating_sub(distance)),
            is_tail,
        }
    }

    fn repeat(&mut self, first: u64, code: u64, own: u64) -> Event {
        let [frame] = self.take();
        let has_more = (first >> log::EXTRA_SHIFT) as u8 != 0;
        Event::Loop {
            address: first >> log::ADDRESS_SHIFT,
            code: CodeWord(code),
            position: frame >> log::POSITION_SHIFT,
            registers: LoopRegisters {
                own,
                further: has_more.then(|| self.take()),
            },
        }
    }
}

/// Types of the first registers of a frame when a loop went back, as logged.
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
            let ([first, second, third], rest) = self.words.split_first_chunk()?;
            let (first, second, third) = (*first, *second, *third);
            self.words = rest;
            let address = first >> log::ADDRESS_SHIFT;
            return Some(match first as u8 {
                log::ENTER | log::TAIL_ENTER => self.enter(first, second, third),
                log::RETURN => Event::Return {
                    address,
                    from: CodeWord(third),
                    position: second >> log::POSITION_SHIFT,
                    ty: type_of_code(second as u16),
                },
                log::LOOP => self.repeat(first, second, third),
                log::RESULT => Event::Result {
                    address,
                    code: CodeWord(third),
                    position: second >> log::POSITION_SHIFT,
                    ty: type_of_code(second as u16),
                },
                _ => continue,
            });
        }
    }
}

/// The type behind 16 bits of a log.
pub fn type_of_code(code: u16) -> Type {
    if code & log::TYPE_RECORD == log::TYPE_RECORD {
        return Type::record_of(i64::from(code & !log::TYPE_RECORD));
    }
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

/// Type of every immediate in a loop's entry, which does not tell them apart.
const IMMEDIATE: Type = Type::BOOLEAN
    .or(Type::NIL)
    .or(Type::CHARACTER)
    .or(Type::OTHER_IMMEDIATE);

fn type_of_kind(kind: u8) -> Type {
    Kind::from_byte(kind).map_or(Type::ANY, Type::of_kind)
}

/// Writes logs as the machine does, for tests. It keeps a stack of frames of equal size, so that the
/// entries name the frames that a machine would have.
#[derive(Clone, Debug, Default)]
pub struct LogWriter {
    words: Vec<u64>,
    frames: Vec<CodeWord>,
}

impl LogWriter {
    /// Words of each frame.
    const FRAME_WORDS: u64 = 10;

    /// An empty log.
    pub fn new() -> LogWriter {
        LogWriter::default()
    }

    /// The log.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Forgets frames above the lowest so many: they were left by an escape.
    pub fn escape_to(&mut self, depth: usize) -> &mut Self {
        self.frames.truncate(depth);
        self
    }

    fn first(kind: u8, extra: u8, address: u64) -> u64 {
        u64::from(kind) | u64::from(extra) << log::EXTRA_SHIFT | address << log::ADDRESS_SHIFT
    }

    /// The position of the frame with so many below, where it stands in an entry.
    fn position(below: usize) -> u64 {
        (8 * LogWriter::FRAME_WORDS * (below as u64 + 1)) << log::POSITION_SHIFT
    }

    /// The position of the newest frame of a code, which those above have left; a new one on top if
    /// there is none.
    fn position_of(&mut self, code: CodeWord) -> u64 {
        let newest = self.frames.iter().rposition(|frame| *frame == code);
        let below = newest.unwrap_or(self.frames.len());
        self.frames.truncate(below);
        self.frames.push(code);
        LogWriter::position(below)
    }

    /// A call with arguments that have the types of these words.
    pub fn enter(&mut self, call: u64, callee: CodeWord, arguments: &[u16]) -> &mut Self {
        let distance = if call == 0 { 0 } else { LogWriter::FRAME_WORDS };
        let frame = LogWriter::position(self.frames.len()) | distance;
        self.frames.push(callee);
        self.enter_as(log::ENTER, call, callee, arguments, frame)
    }

    /// The newest frame enters bytecode after compiled versions of its code did not take the call.
    pub fn passed_on(&mut self, callee: CodeWord, arguments: &[u16]) -> &mut Self {
        self.frames.pop();
        self.enter(0, callee, arguments)
    }

    /// A tail call.
    pub fn tail_enter(&mut self, call: u64, callee: CodeWord, arguments: &[u16]) -> &mut Self {
        self.frames.pop();
        let frame = LogWriter::position(self.frames.len());
        self.frames.push(callee);
        self.enter_as(log::TAIL_ENTER, call, callee, arguments, frame)
    }

    fn enter_as(
        &mut self,
        kind: u8,
        call: u64,
        callee: CodeWord,
        types: &[u16],
        frame: u64,
    ) -> &mut Self {
        let pack = |types: &[u16]| {
            types
                .iter()
                .rev()
                .fold(0, |word, ty| word << 16 | u64::from(*ty))
        };
        let (own, further) = types.split_at(types.len().min(4));
        let first = LogWriter::first(kind, types.len() as u8, call);
        self.words.extend([first, callee.0, pack(own), frame]);
        if !further.is_empty() {
            self.words.push(pack(&further[..further.len().min(4)]));
        }
        self
    }

    /// A return.
    pub fn leave(&mut self, address: u64, from: CodeWord, ty: u16) -> &mut Self {
        let position = self.position_of(from);
        self.frames.pop();
        let first = LogWriter::first(log::RETURN, 0, address);
        self.words.extend([first, position | u64::from(ty), from.0]);
        self
    }

    /// A loop with the short types of its first eight registers.
    pub fn back(&mut self, address: u64, code: CodeWord, registers: [u8; 8]) -> &mut Self {
        let position = self.position_of(code);
        let first = LogWriter::first(log::LOOP, 0, address);
        let registers = u64::from_le_bytes(registers);
        self.words.extend([first, code.0, registers, position]);
        self
    }

    /// A load.
    pub fn result(&mut self, address: u64, code: CodeWord, ty: u16) -> &mut Self {
        let position = self.position_of(code);
        let first = LogWriter::first(log::RESULT, 0, address);
        self.words.extend([first, position | u64::from(ty), code.0]);
        self
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
        assert_eq!(type_of_code(0x8000 | 0xff), Type::ANY);
        assert_eq!(type_of_code(log::TYPE_RECORD | 130), Type::record_of(130));
        assert_eq!(type_of_code(log::TYPE_RECORD | 127), Type::RECORD);
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
                position: 80,
                caller: Some(0),
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
                position: 80,
                ty: Type::PAIR
            }
        );
        assert_eq!(
            decoded[3],
            Event::Return {
                address: 0x1008,
                from: CODE,
                position: 80,
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
        log.words[0] |= 1 << log::EXTRA_SHIFT;
        log.words.extend([1, 2]);
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
        log.words.extend([7, 0, 0]);
        log.result(8, CODE, 0);
        assert_eq!(events(log.words()).count(), 1);
    }
}
