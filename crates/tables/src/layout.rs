//! Word tags, header fields and the thread block that generated code addresses.
//!
//! ```text
//! tagged word                           object header
//! 63                        3 2 0       63            24 23    16 15     8 7    3 2 0
//! | payload                |tag |       | length (40)   | flags  | kind   | 0    |110|
//! ```
//!
//! Tags: `x00` fixnum, `001` pair, `101` object, `010 011 111` flonum, `110` immediate.
//! `(word & 3) == 1` says "points into the heap". A header carries the immediate tag, so that a
//! scan of every word of a scannable object never takes a header for a reference.

/// Tag mask of a word.
pub const TAG_MASK: u64 = 7;
/// Tag of a pair reference; the car is at `word - 1`, the cdr at `word + 7`.
pub const TAG_PAIR: u64 = 0b001;
/// Tag of an object reference; the header is at `word - 5`.
pub const TAG_OBJECT: u64 = 0b101;
/// Tag of immediates and of headers.
pub const TAG_IMMEDIATE: u64 = 0b110;
/// Bit `tag` of this mask is set, for the low five bits of a word, when the word is a flonum.
pub const FLONUM_MASK: u32 = 0x8C8C_8C8C;
/// Shift of a fixnum's value.
pub const FIXNUM_SHIFT: u32 = 2;
/// Greatest fixnum.
pub const FIXNUM_MAX: i64 = (1 << 61) - 1;
/// Least fixnum.
pub const FIXNUM_MIN: i64 = -(1 << 61);

/// Offset of the car from a tagged pair word.
pub const CAR: i32 = -1;
/// Offset of the cdr from a tagged pair word.
pub const CDR: i32 = 7;
/// Offset of the header from a tagged object word.
pub const HEADER: i32 = -5;
/// Offset of payload word 0 from a tagged object word.
pub const FIELD0: i32 = 3;

/// Shift of the kind byte in a header.
pub const HEADER_KIND_SHIFT: u32 = 8;
/// Shift of the flag byte in a header.
pub const HEADER_FLAGS_SHIFT: u32 = 16;
/// Shift of the length in a header.
pub const HEADER_LENGTH_SHIFT: u32 = 24;
/// Object alignment and the heap's granule, in bytes.
pub const GRANULE_BYTES: usize = 16;

/// Header flag: literal or otherwise immutable (strings, vectors, bytevectors, pairs have none).
pub const FLAG_IMMUTABLE: u8 = 1;
/// Header flag of bignums: the number is negative.
pub const FLAG_NEGATIVE: u8 = 2;
/// Header flag of `string8`: every character is ASCII.
pub const FLAG_ASCII: u8 = 4;
/// Header flag of cells: compiled code relies on the value, so a change of it takes the slow path.
pub const FLAG_WATCHED: u8 = 8;
/// Where the flags of a numeric vector hold the code of its element type.
pub const ELEMENT_TYPE_SHIFT: u32 = 4;

const fn immediate(subtag: u64, payload: u64) -> u64 {
    payload << 8 | subtag << 3 | TAG_IMMEDIATE
}

/// Subtag (bits 3 to 7) of characters; the code point is the payload.
pub const SUBTAG_CHARACTER: u64 = 1;
/// Subtag of the constants below.
pub const SUBTAG_CONSTANT: u64 = 2;
/// Low byte of every character word.
pub const CHARACTER_LOW_BYTE: u64 = SUBTAG_CHARACTER << 3 | TAG_IMMEDIATE;

/// `#f`
pub const FALSE: u64 = immediate(SUBTAG_CONSTANT, 0);
/// `#t`
pub const TRUE: u64 = immediate(SUBTAG_CONSTANT, 1);
/// `()`
pub const NIL: u64 = immediate(SUBTAG_CONSTANT, 2);
/// End of file.
pub const EOF: u64 = immediate(SUBTAG_CONSTANT, 3);
/// The value of expressions that have none to give.
pub const UNSPECIFIED: u64 = immediate(SUBTAG_CONSTANT, 4);
/// In a global cell or box: not defined yet. Never visible to a program.
pub const UNBOUND: u64 = immediate(SUBTAG_CONSTANT, 5);
/// In a parameter's register: the caller did not pass it. Never visible to a program.
pub const ABSENT: u64 = immediate(SUBTAG_CONSTANT, 6);
/// `#!default`
pub const DEFAULT: u64 = immediate(SUBTAG_CONSTANT, 7);
/// In a weak reference: the object died. Printed as `#!bwp`.
pub const BROKEN: u64 = immediate(SUBTAG_CONSTANT, 8);
/// Returned by a primitive to the machine: a condition is pending. Never stored.
pub const RAISED: u64 = immediate(SUBTAG_CONSTANT, 9);
/// In hash tables: a deleted or free entry. Never visible to a program.
pub const VACANT: u64 = immediate(SUBTAG_CONSTANT, 10);
/// Returned by a leaf function that did nothing: the primitive has to be called. Never stored.
pub const DECLINED: u64 = immediate(SUBTAG_CONSTANT, 11);

/// Payload words of a hash table that compiled code reads.
pub mod hash_table {
    /// Number of the equivalence, a fixnum.
    pub const EQUIVALENCE: usize = 0;
    /// The equivalence whose keys are strings.
    pub const STRINGS: usize = 3;
    /// Zero in a table that keeps all associations alive.
    pub const WEAKNESS: usize = 1;
    /// The number of associations of such a table.
    pub const COUNT: usize = 2;
    /// Bytevector of slots: the hash above the number of the entry.
    pub const INDEX: usize = 5;
    /// Keys and values.
    pub const ENTRIES: usize = 6;
    /// Number of payload words.
    pub const WORDS: usize = 16;
}

/// Payload words of a symbol that compiled code reads.
pub mod symbol {
    /// Hash of the name, a fixnum.
    pub const HASH: usize = 1;
}

/// Offsets, in bytes, of the fields of the thread block that generated code reads and writes.
/// The block is `repr(C)`; its definition asserts every one of these.
pub mod thread {
    /// First VM stack address that a frame may not reach; zero to request a safepoint.
    pub const LIMIT: i32 = 0;
    /// Next free byte for scannable objects.
    pub const SCAN_CURSOR: i32 = 8;
    /// End of the current block for scannable objects.
    pub const SCAN_LIMIT: i32 = 16;
    /// Next free byte for leaf objects.
    pub const LEAF_CURSOR: i32 = 24;
    /// End of the current block for leaf objects.
    pub const LEAF_LIMIT: i32 = 32;
    /// Card table base such that `base + (address >> CARD_SHIFT)` is the address's card.
    pub const CARDS: i32 = 40;
    /// The dispatch table in force.
    pub const TABLE: i32 = 48;
    /// Number of arguments of a call whose callee takes a variable number.
    pub const ARGUMENT_COUNT: i32 = 56;
    /// Program counter saved by slow paths.
    pub const PC: i32 = 64;
    /// Frame pointer saved by slow paths; they may change it.
    pub const FP: i32 = 72;
    /// Table of runtime entries, indexed by opcode.
    pub const RUNTIME: i32 = 80;
    /// The value with which the interpreter is left.
    pub const RESULT: i32 = 88;
    /// Where the next entry of the specializer's log goes.
    pub const LOG_CURSOR: i32 = 96;
    /// Address that the cursor may not pass before the largest entry is written; see [`super::log`].
    pub const LOG_LIMIT: i32 = 104;
    /// First word of the VM stack.
    pub const STACK_BASE: i32 = 112;
    /// The continuation that the stack rests on, or `#f`.
    pub const SEALED: i32 = 120;
    /// Bytes of all sealed frames below the stack.
    pub const SEALED_BYTES: i32 = 128;
    /// Where the newest of those frames resumes.
    pub const SEALED_PC: i32 = 136;
    /// The frame that returns through the barrier, or null.
    pub const WATERMARK: i32 = 144;
    /// Sealed bytes that a capture may not reach without a look at the limits; zero while a reserve is
    /// in use.
    pub const CAPTURE_LIMIT: i32 = 160;
    /// Return address of the oldest frame on a stack that rests on a continuation.
    pub const UNDERFLOW: i32 = 168;
    /// Code of every continuation.
    pub const CONTINUATION_CODE: i32 = 176;
    /// Code of every escape procedure.
    pub const ESCAPE_CODE: i32 = 184;
    /// Winders register of the dynamic state.
    pub const WINDERS: i32 = 192;
    /// Handlers register of the dynamic state.
    pub const HANDLERS: i32 = 200;
    /// Parameters register of the dynamic state.
    pub const PARAMETERS: i32 = 208;
    /// Words that one piece of compiled code hands to the next, while nothing can be collected. The
    /// default ports lie before.
    pub const CARRIED: i32 = 240;
    /// Number of carried words.
    pub const CARRIED_WORDS: usize = 24;
    /// Chances of compiled code to leave before it does so without a reason; see `CANNY_SPESH_STRESS`.
    pub const CHANCES: i32 = CARRIED + 8 * CARRIED_WORDS as i32;
    /// Address of the word that is 1 while generated code uses the loan of a port; by the address the
    /// thread is known as the borrower. See [`super::loan`].
    pub const LOAN_FLAG: i32 = CHANCES + 8;
    /// 1 while the heap has other mutators than this thread's, else 0. It becomes 1 while all stand at
    /// safepoints only.
    pub const HAS_OTHERS: i32 = LOAN_FLAG + 8;
    /// The thread's counters, 64 bits each, while exact counts are taken; else null.
    pub const COUNTERS: i32 = HAS_OTHERS + 8;
    /// First free byte after the fixed fields.
    pub const SIZE: usize = COUNTERS as usize + 8;
}

/// Payload words of a port.
pub mod port {
    /// A fixnum by which the host knows the port.
    pub const ID: usize = 0;
    /// A fixnum: the port's abilities and state, `port_flag`s.
    pub const FLAGS: usize = 1;
    /// String.
    pub const NAME: usize = 2;
    /// Address of the loan, a multiple of 16; there always is one.
    pub const LOAN: usize = 3;
    /// `#f`, or a procedure of one parameter that makes or takes the bytes: a fixnum tells it what to do.
    pub const SERVICE: usize = 4;
    /// In ports of strings and bytevectors that have nothing behind them yet, a bytevector of what was
    /// written, or what is to be read: a bytevector or the data of a string.
    pub const TEXT: usize = 5;
    /// Bytes of it that were written, or characters or bytes that were read; a fixnum.
    pub const USED: usize = 6;
    /// The thread that may use them: the address of its loan flag, a raw word that looks like a fixnum.
    pub const OWNER: usize = 7;
    /// In a port for both directions, a vector of the ports that do its work; see [`super::port_sides`].
    pub const SIDES: usize = 8;
    pub const COUNT: usize = 9;
}

/// Bits of a port's flags.
pub mod port_flag {
    /// It is read.
    pub const INPUT: i64 = 1;
    /// It is written.
    pub const OUTPUT: i64 = 2;
    /// Characters go through it.
    pub const TEXTUAL: i64 = 4;
    /// Bytes go through it.
    pub const BINARY: i64 = 8;
    /// Output stays in memory, or input was there from the start.
    pub const MEMORY: i64 = 16;
    /// It was closed while it had nothing behind it.
    pub const CLOSED: i64 = 32;
}

/// Places in the vector of a port for both directions.
pub mod port_sides {
    /// The port that reads.
    pub const INPUT: usize = 0;
    /// The port that writes.
    pub const OUTPUT: usize = 1;
    /// `#f`, or, where both have one position in a file, the last operation: 0 for reading, 1 for
    /// writing.
    pub const TURN: usize = 2;
    pub const COUNT: usize = 3;
}

/// The counters of a call site: pairs of code that was called there and how often. Calls of other code are
/// counted elsewhere.
pub mod call_site {
    /// Number of pairs.
    pub const PAIRS: usize = 4;
    /// Words of a site.
    pub const WORDS: usize = 2 * PAIRS;
}

/// Offsets, in bytes, in the loan of a port: characters or bytes that one thread may read or write
/// without the port's lock. The protocol is described where the loan is defined, in the crate of ports.
pub mod loan {
    /// Address of the borrower's flag plus what is lent ([`TEXT_INPUT`] and its like), or 0.
    pub const OWNER: i32 = 0;
    /// Address of the next byte: a byte or an ASCII character to be read, or room for one to be written.
    pub const CURSOR: i32 = 8;
    /// Address behind the last byte.
    pub const LIMIT: i32 = 16;
    /// 1 where each line feed in what is lent ends a line, and nothing else does but perhaps a carriage
    /// return; else 0.
    pub const HAS_PLAIN_LINES: i32 = 24;
    /// Address behind the last byte of text in UTF-8, which goes on behind the ASCII; for output, where
    /// UTF-8 may be put too, the limit; 0 where only ASCII, or bytes, are lent.
    pub const TEXT_LIMIT: i32 = 32;

    /// Characters to be read.
    pub const TEXT_INPUT: u64 = 0;
    /// Room for characters.
    pub const TEXT_OUTPUT: u64 = 1;
    /// Bytes to be read.
    pub const BYTE_INPUT: u64 = 2;
    /// Room for bytes.
    pub const BYTE_OUTPUT: u64 = 3;
}

/// Payload words of a continuation, which is a closure: calling it returns to where it was captured.
///
/// ```text
/// code | winders | handlers | parameters | parent | depth | resume pc | slice …
/// ```
///
/// The slice is a copy of the frames that were on the stack, from the oldest one's link on; registers
/// that were dead are zero. The oldest frame's return address is where the frames below the slice
/// resume. Those are sealed too: in the slice of the parent, and below. A deep stack becomes a chain of
/// continuations, of which only the newest can be called; the others have `#f` for the dynamic state.
pub mod continuation {
    /// Code of the machine's own, which makes a closure a continuation.
    pub const CODE: usize = 0;
    /// The winders register at the capture.
    pub const WINDERS: usize = 1;
    /// The handlers register at the capture.
    pub const HANDLERS: usize = 2;
    /// The parameters register at the capture.
    pub const PARAMETERS: usize = 3;
    /// The continuation that the slice rests on, or `#f`.
    pub const PARENT: usize = 4;
    /// Bytes of all frames below the slice, as a raw word: a multiple of eight looks like a fixnum.
    pub const DEPTH: usize = 5;
    /// Where the newest frame resumes; a raw word, which looks like a fixnum.
    pub const RESUME_PC: usize = 6;
    /// First word of the slice.
    pub const SLICE: usize = 7;
    /// Slices up to this are captured and come back as a whole without the runtime.
    pub const SMALL_SLICE_BYTES: i64 = 512;
}

/// Payload words of an escape procedure, a closure: calling it returns from the frame that holds it in
/// [`HOLDER`](escape::HOLDER), wherever that is.
pub mod escape {
    /// Code of the machine's own, which makes a closure an escape procedure.
    pub const CODE: usize = 0;
    /// The winders register at the call.
    pub const WINDERS: usize = 1;
    /// The handlers register at the call.
    pub const HANDLERS: usize = 2;
    /// The parameters register at the call.
    pub const PARAMETERS: usize = 3;
    /// Bytes of all frames below the first register of the frame, on the stack or sealed; a raw word.
    pub const DEPTH: usize = 4;
    /// Number of payload words.
    pub const WORDS: usize = 5;
    /// Register of the frame of `call-with-escape-continuation` that holds the escape procedure.
    pub const HOLDER: usize = 1;
}

/// Payload words of a record type.
///
/// Whether a type is derived from another takes no search: the types that one is derived from stand in
/// it from [`ANCESTORS`](record_type::ANCESTORS) on, the outermost first, with `#f` behind them. A
/// type that is derived from a type with `n` ancestors has that type at word `ANCESTORS + n`, the
/// type's [`PLACE`](record_type::PLACE).
pub mod record_type {
    /// Symbol.
    pub const NAME: usize = 0;
    /// Parent type or `#f`.
    pub const PARENT: usize = 1;
    /// Vector of symbols, the parent's first.
    pub const FIELDS: usize = 2;
    /// The class key of the records, a fixnum; see [`super::class_key`].
    pub const SERIAL: usize = 3;
    /// Data that libraries attach to the type; `#f` at first.
    pub const EXTENSION: usize = 4;
    /// Index of the word where types derived from this one have it, a fixnum.
    pub const PLACE: usize = 5;
    /// The first of the ancestors.
    pub const ANCESTORS: usize = 6;
    /// Every type has so many words at least, so that places below need no look at its length.
    pub const WORDS_MIN: usize = ANCESTORS + 8;
}

/// Class keys: small numbers by which generic functions tell the classes of their arguments apart.
///
/// The key of an object is the number of its kind, that of a record is the serial number of its
/// type, and a value without a header has one of these. Several keys fit one fixnum, since all are
/// below [`END`](class_key::END).
pub mod class_key {
    /// Fixnums.
    pub const FIXNUM: i64 = 64;
    /// Pairs.
    pub const PAIR: i64 = 65;
    /// The empty list.
    pub const NIL: i64 = 66;
    /// `#t` and `#f`.
    pub const BOOLEAN: i64 = 67;
    /// Characters.
    pub const CHARACTER: i64 = 68;
    /// The end-of-file object.
    pub const EOF: i64 = 69;
    /// Every other immediate.
    pub const OTHER: i64 = 70;
    /// Records of all types that were made after the numbers had been used up. Nobody may rely on it.
    pub const CROWDED: i64 = 127;
    /// First serial number of a record type.
    pub const FIRST_SERIAL: i64 = 128;
    /// All keys are below.
    pub const END: i64 = 1 << KEY_BITS;
    /// Bits of a key.
    pub const KEY_BITS: u32 = 20;
}

/// Bytes of heap per card, as a shift.
pub const CARD_SHIFT: u32 = 9;

/// Offsets, in bytes from a tagged code object, of the fields that generated code reads.
///
/// ```text
/// word 0 header
/// word 1 entry: where calls go, the first instruction or a native descriptor
/// word 2 arity (u32) | frame bytes (u32)
/// word 3 pool length (u32) | instruction words (u32)
/// word 4 name (symbol, string or #f)
/// word 5 debug information (bytevector or #f)
/// word 6 parameter description (tagged; see the compiler's `Parameters`)
/// word 7 native: machine address where compiled calls go (raw)
/// word 8 … pool (tagged), then instructions (u32), then wide live maps (u64)
/// ```
///
/// The first instruction is behind the pool; nothing in the object points there for good.
pub mod code {
    use super::FIELD0;
    /// Where calls go: the address of the first instruction, or of a descriptor that leads to compiled code.
    pub const ENTRY: i32 = FIELD0;
    /// Exact number of arguments, or [`VARIADIC`].
    pub const ARITY: i32 = FIELD0 + 8;
    /// Bytes of registers, from fp.
    pub const FRAME_BYTES: i32 = FIELD0 + 12;
    /// Number of pool words.
    pub const POOL_LENGTH: i32 = FIELD0 + 16;
    /// Number of instruction words.
    pub const INSTRUCTION_WORDS: i32 = FIELD0 + 20;
    /// Name of the procedure.
    pub const NAME: i32 = FIELD0 + 24;
    /// Debug information.
    pub const DEBUG: i32 = FIELD0 + 32;
    /// Parameter description.
    pub const PARAMETERS: i32 = FIELD0 + 40;
    /// Machine address to which compiled code jumps in order to call this code. It takes the five
    /// registers of a handler: as pc the tagged code object, as fp the callee's with link and arguments
    /// in place; the thread block's argument count is set if [`ARITY`] is [`VARIADIC`]; the word is not
    /// used. Code that was not compiled has the stub there that goes to [`ENTRY`].
    pub const NATIVE: i32 = FIELD0 + 48;
    /// First pool word.
    pub const POOL: i32 = FIELD0 + 56;
    /// Payload words before the pool.
    pub const FIXED_WORDS: usize = 7;
    /// Arity of code that starts with an entry instruction of its own.
    pub const VARIADIC: u32 = u32::MAX;
    /// Arity of code whose frame is larger than [`super::frame::SMALL_FRAME_WORDS`], so that every call
    /// of it takes the slow path, which checks the stack; the true arity is in the parameter
    /// description.
    pub const LARGE_FRAME: u32 = u32::MAX - 1;
}

/// Descriptors: words outside code objects that stand for an address of the bytecode and start with an
/// instruction word. The opcode decides what happens there.
///
/// ```text
/// -8  call word whose field a is the call's base, live map      (return addresses only)
/// +0  opcode word (u32): native, retired or leave | for leave, the number of the exit (u32)
/// +8  native, retired: machine address to jump to | leave: number of the candidate
/// +16 address of the bytecode that the descriptor stands for
/// ```
pub mod descriptor {
    /// Number of the exit (u32).
    pub const EXIT: usize = 4;
    /// Machine address of compiled code.
    pub const NATIVE: usize = 8;
    /// Number of the candidate that was left.
    pub const CANDIDATE: usize = 8;
    /// Address of bytecode.
    pub const BYTECODE: usize = 16;
    /// Bytes from the address on.
    pub const SIZE: usize = 24;
    /// Behind a descriptor of a call: where compiled code returns a word, with the callee's fp.
    pub const RETURN_NATIVE: usize = SIZE;
}

/// Where stitched code continues behind an instruction that the runtime did: two records, for the next
/// instruction and for the target of the branch. Each has an address of the bytecode, and code that
/// leads to the code for what is there.
pub mod stitched {
    /// Offset of the code.
    pub const CODE: i32 = 8;
    /// Bytes of a record.
    pub const SIZE: i32 = 16;
}

/// Frame layout, in words relative to fp.
pub mod frame {
    /// The closure, and after the return the value.
    pub const CLOSURE: i32 = -2;
    /// The return address.
    pub const RETURN_PC: i32 = -1;
    /// Words between a call's base register and the callee's fp.
    pub const LINK_WORDS: usize = 2;
    /// Live-map word: this bit says that the rest is an index into the code's wide maps.
    pub const WIDE_MAP: u32 = 1 << 31;
    /// Registers that a narrow live map covers.
    pub const NARROW_REGISTERS: usize = 31;
    /// Words above the limit that machine operations and a small frame may use without a check.
    pub const RED_ZONE_WORDS: usize = 8192;
    /// Greatest frame that may begin at the limit.
    pub const SMALL_FRAME_WORDS: usize = 2048;
}

/// Entries of the specializer's logs: three words or more, types and code, never values.
///
/// ```text
/// word 0  63                16 15    8 7     0
///        | instruction address | extra |  kind |
///
///                    0                                  1                2                         3
/// enter, tail-enter  call instruction; extra arguments | callee's code  | types of arguments 0 to 3 | frame
///                    with more than four arguments, word 4 has the types of arguments 4 to 7
/// return             return address                    | frame and type | code that returns
/// loop               loop instruction                  | code           | types of registers 0 to 7 | frame
///                    where extra is 1, words 4 and 5 have the types of registers 8 to 23
/// result             instruction                       | frame and type | code
/// ```
///
/// A frame is named by its *position*: the bytes of all frames below its first register, on the stack
/// and sealed in continuations. So a frame that a continuation brings back has the position that it had
/// before. The position is above [`POSITION_SHIFT`]. Below are the type of 16 bits, or of a call the
/// words from the caller's frame to the callee's: zero for a tail call, which takes the place of its
/// frame, and where the caller is compiled code.
///
/// A type of 16 bits is [`TYPE_OBJECT`] and the kind for objects, the low fifteen bits of the word for
/// immediates, and the tag for everything else. Of a record whose type has a class key below
/// [`CLASSES_END`] it is [`TYPE_RECORD`] and that key. A type of 8 bits is [`SHORT_TYPE_OBJECT`] and the kind
/// for objects, else the tag.
pub mod log {
    /// Words of the largest entry.
    pub const ENTRY_WORDS_MAX: usize = 6;
    /// Words of an entry without a word for the frame.
    pub const PLAIN_WORDS: usize = 3;
    /// Words of an entry with one.
    pub const FRAME_WORDS: usize = 4;
    /// Shift of the frame's position.
    pub const POSITION_SHIFT: u32 = 16;
    /// Shift of the instruction's address in word 0.
    pub const ADDRESS_SHIFT: u32 = 16;
    /// Shift of the extra byte in word 0.
    pub const EXTRA_SHIFT: u32 = 8;
    /// A call enters code.
    pub const ENTER: u8 = 1;
    /// A tail call enters code.
    pub const TAIL_ENTER: u8 = 2;
    /// A procedure returns.
    pub const RETURN: u8 = 3;
    /// A loop goes back.
    pub const LOOP: u8 = 4;
    /// An instruction loads a value.
    pub const RESULT: u8 = 5;
    /// In a type of 16 bits: the low byte is the kind of an object.
    pub const TYPE_OBJECT: u16 = 0x8000;
    /// In a type of 16 bits: the fourteen low bits are the class key of a record.
    pub const TYPE_RECORD: u16 = 0xc000;
    /// End of the class keys that are logged.
    pub const CLASSES_END: i64 = 1 << 14;
    /// In a type of 8 bits: the others are the kind of an object.
    pub const SHORT_TYPE_OBJECT: u8 = 0x80;
    /// Arguments whose types are logged.
    pub const ARGUMENTS_MAX: usize = 8;
    /// Registers whose types a loop's entry tells.
    pub const LOOP_REGISTERS: usize = 8;
    /// Registers whose types a loop's entry and its continuation tell.
    pub const LOOP_REGISTERS_MAX: usize = 24;
}
