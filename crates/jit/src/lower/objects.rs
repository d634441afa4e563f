//! Loads, stores and allocation.
//!
//! Addresses are a tagged reference plus an offset that contains the tag. A store of a word that
//! may be a reference marks the card of the object (the write barrier); one that is certainly none
//! does not. Allocation of compiled code never collects.

use canny_spesh::graph::{NodeId, Op};
use canny_spesh::types::Type;
use canny_tables::kinds::Kind;
use canny_tables::layout::{
    self, CHARACTER_LOW_BYTE, FIELD0, FIXNUM_SHIFT, FLAG_IMMUTABLE, FLAG_WATCHED, HEADER,
    HEADER_KIND_SHIFT, HEADER_LENGTH_SHIFT, class_key,
};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder, Value};

use super::segment::{Segment, TRUSTED};
use crate::JitError;

const SHIFT: i64 = FIXNUM_SHIFT as i64;
/// First code point of the surrogates, as a fixnum word.
const SURROGATES: i64 = 0xd800 << SHIFT;
/// Number of the surrogates, as a fixnum word.
const SURROGATES_COUNT: i64 = 0x800 << SHIFT;
/// First number that is no code point, as a fixnum word.
const CODE_POINTS_END: i64 = 0x11_0000 << SHIFT;

impl Segment<'_, '_> {
    pub(super) fn object(&mut self, id: NodeId, op: &Op) -> Result<(), JitError> {
        let value = match op {
            Op::Load(object, offset, _) => {
                let object = self.value(*object);
                self.load(I64, object, *offset)
            }
            Op::Store(object, offset, value, _) => {
                let base = self.value(*object);
                self.store_with_barrier(*value, base, *offset);
                return Ok(());
            }
            Op::LoadElement(vector, index) => {
                let (base, offset) = self.element(*vector, *index);
                self.load(I64, base, offset)
            }
            Op::StoreElement(vector, index, value) => {
                let (base, offset) = self.element(*vector, *index);
                self.store_with_barrier(*value, base, offset);
                return Ok(());
            }
            Op::RequireMutable(object, _) => return self.require_mutable(id, *object),
            Op::Length(object) => {
                let object = self.value(*object);
                let header = self.load(I64, object, HEADER);
                self.headers.insert(id, header);
                let length = self.length_in(header);
                self.builder.ins().ishl_imm_u(length, SHIFT)
            }
            Op::ClassKey(x) => self.class_key(*x),
            Op::StringLength(string) => {
                let string = self.value(*string);
                self.load(I64, string, FIELD0)
            }
            Op::RequireIndex(index, length, _) => {
                return self.require_index(id, *index, *length);
            }
            Op::StringRef(string, index) => self.string_ref(*string, *index),
            Op::LoadByte(bytes, index) => {
                let base = self.value(*bytes);
                let base = self.byte(base, *index);
                let byte = self.load_byte(base, FIELD0);
                self.builder.ins().ishl_imm_u(byte, SHIFT)
            }
            Op::StoreByte(bytes, index, value) => {
                let base = self.value(*bytes);
                let base = self.byte(base, *index);
                let value = self.value(*value);
                let byte = self.builder.ins().ushr_imm_u(value, SHIFT);
                self.builder.ins().istore8(TRUSTED, byte, base, FIELD0);
                return Ok(());
            }
            Op::CharacterToFixnum(x) => {
                let x = self.value(*x);
                let code = self.builder.ins().ushr_imm_u(x, 8);
                self.builder.ins().ishl_imm_u(code, SHIFT)
            }
            Op::FixnumToCharacter(x, _) => {
                let x = self.value(*x);
                self.require_code_point(id, x)?;
                let code = self.builder.ins().ushr_imm_u(x, SHIFT);
                self.character(code)
            }
            Op::Cons(car, cdr) => {
                let fields = [self.tagged(*car), self.tagged(*cdr)];
                self.note_escape(id);
                self.new_pair(fields)
            }
            Op::Allocate(kind, fields) => {
                let fields: Vec<Value> = fields.iter().map(|field| self.tagged(*field)).collect();
                self.note_escape(id);
                self.new_object(*kind, &fields)
            }
            _ => {
                return Err(JitError::Invalid(format!("node {} is in no group", id.0)));
            }
        };
        self.define(id, value);
        Ok(())
    }

    /// Tells profilers why a new object is made here.
    fn note_escape(&mut self, id: NodeId) {
        let graph = self.procedure.graph;
        if let (Some(place), Some(escape)) = (graph.places.get(id.index()), graph.escapes.get(&id))
        {
            self.output.places.note_escape(*place, *escape);
        }
    }

    fn require_mutable(&mut self, id: NodeId, object: NodeId) -> Result<(), JitError> {
        let is_cell = self.procedure.graph.node(object).ty.is(Type::CELL);
        let flag = i64::from(if is_cell {
            FLAG_WATCHED
        } else {
            FLAG_IMMUTABLE
        });
        let object = self.value(object);
        let flags = self.load_byte(object, HEADER + 2);
        let immutable = self.builder.ins().band_imm_s(flags, flag);
        self.exit_if(immutable, id)
    }

    /// The class key of any value, a fixnum.
    fn class_key(&mut self, x: NodeId) -> Value {
        let x = self.tagged(x);
        let (object, other, done) = (self.new_block(), self.new_block(), self.new_block());
        let (record, no_record) = (self.new_block(), self.new_block());
        let result = self.builder.append_block_param(done, I64);
        let tag = self.builder.ins().band_imm_s(x, layout::TAG_MASK as i64);
        let equal = IntCC::Equal;
        let is_object = self
            .builder
            .ins()
            .icmp_imm_s(equal, tag, layout::TAG_OBJECT as i64);
        self.builder.ins().brif(is_object, object, &[], other, &[]);

        self.begin(object);
        let kind = self.load_byte(x, HEADER + 1);
        let is_record = self
            .builder
            .ins()
            .icmp_imm_s(equal, kind, Kind::Record as i64);
        self.builder
            .ins()
            .brif(is_record, record, &[], no_record, &[]);
        self.begin(record);
        let record_type = self.load(I64, x, FIELD0);
        let serial = FIELD0 + 8 * layout::record_type::SERIAL as i32;
        let serial = self.load(I64, record_type, serial);
        self.builder.ins().jump(done, &[serial.into()]);
        self.begin(no_record);
        let key = self.builder.ins().ishl_imm_u(kind, SHIFT);
        self.builder.ins().jump(done, &[key.into()]);

        self.begin(other);
        let mut key = self.fixnum_word(class_key::OTHER);
        let cases = [
            (u64::MAX, layout::EOF, class_key::EOF),
            (0xff, CHARACTER_LOW_BYTE, class_key::CHARACTER),
            (u64::MAX, layout::FALSE, class_key::BOOLEAN),
            (u64::MAX, layout::TRUE, class_key::BOOLEAN),
            (u64::MAX, layout::NIL, class_key::NIL),
            (layout::TAG_MASK, layout::TAG_PAIR, class_key::PAIR),
            (3, 0, class_key::FIXNUM),
            (6, 2, Kind::Flonum as i64),
            (layout::TAG_MASK, 7, Kind::Flonum as i64),
        ];
        for (mask, bits, number) in cases {
            let holds = self.masked(x, mask, bits);
            let number = self.fixnum_word(number);
            key = self.builder.ins().select(holds, number, key);
        }
        self.builder.ins().jump(done, &[key.into()]);
        self.begin(done);
        result
    }

    fn fixnum_word(&mut self, number: i64) -> Value {
        self.word((number << SHIFT) as u64)
    }

    /// A vector's word, moved by an index that is not known, and the element's offset from it.
    fn element(&mut self, vector: NodeId, index: NodeId) -> (Value, i32) {
        let vector = self.value(vector);
        let known = self.constant(index).and_then(|index| {
            let bytes = i32::try_from(index).ok()?.checked_mul(2)?;
            FIELD0.checked_add(bytes)
        });
        if let Some(offset) = known {
            return (vector, offset);
        }
        let index = self.value(index);
        let bytes = self.builder.ins().ishl_imm_u(index, 1);
        (self.builder.ins().iadd(vector, bytes), FIELD0)
    }

    fn require_index(&mut self, id: NodeId, index: NodeId, length: NodeId) -> Result<(), JitError> {
        if let Some(short) = self.is_short(index, length) {
            return self.exit_if(short, id);
        }
        let (index, length) = (self.value(index), self.value(length));
        let at_least = IntCC::UnsignedGreaterThanOrEqual;
        let outside = self.builder.ins().icmp(at_least, index, length);
        self.exit_if(outside, id)
    }

    /// Whether an object is too short for an index that is known, if its header was loaded in the same
    /// block: the header alone tells, since the length is above everything else in it.
    fn is_short(&mut self, index: NodeId, length: NodeId) -> Option<Value> {
        let length_min = (self.constant(index)? >> SHIFT).checked_add(1)?;
        if length_min.leading_zeros() <= HEADER_LENGTH_SHIFT {
            return None;
        }
        let header = *self.headers.get(&self.procedure.values.root(length))?;
        let least = (length_min << HEADER_LENGTH_SHIFT) as i64;
        let less = IntCC::UnsignedLessThan;
        Some(self.builder.ins().icmp_imm_s(less, header, least))
    }

    pub(super) fn byte(&mut self, base: Value, index: NodeId) -> Value {
        let index = self.value(index);
        let offset = self.builder.ins().ushr_imm_u(index, SHIFT);
        self.builder.ins().iadd(base, offset)
    }

    /// The data of a string, in `narrow`; goes to `wide` with the data if it is wide.
    pub(super) fn string_data(&mut self, string: NodeId, [narrow, wide]: [Block; 2]) -> Value {
        let string = self.value(string);
        let data = self.load(I64, string, FIELD0 + 8);
        let kind = self.load_byte(data, HEADER + 1);
        let is_narrow = self
            .builder
            .ins()
            .icmp_imm_s(IntCC::Equal, kind, Kind::String8 as i64);
        self.builder.ins().brif(is_narrow, narrow, &[], wide, &[]);
        self.begin(narrow);
        data
    }

    /// The place of a character of wide data: its index, a fixnum, is the number of bytes.
    pub(super) fn wide_place(&mut self, data: Value, index: NodeId) -> Value {
        const _: () = assert!(SHIFT == 2);
        let index = self.value(index);
        self.builder.ins().iadd(data, index)
    }

    fn string_ref(&mut self, string: NodeId, index: NodeId) -> Value {
        let (narrow, wide, done) = (self.new_block(), self.new_block(), self.new_block());
        let code = self.builder.append_block_param(done, I64);
        let data = self.string_data(string, [narrow, wide]);
        let place = self.byte(data, index);
        let byte = self.load_byte(place, FIELD0);
        self.builder.ins().jump(done, &[byte.into()]);
        self.begin(wide);
        let place = self.wide_place(data, index);
        let unit = self.builder.ins().uload32(TRUSTED, place, FIELD0);
        self.builder.ins().jump(done, &[unit.into()]);
        self.begin(done);
        self.character(code)
    }

    pub(super) fn character(&mut self, code: Value) -> Value {
        let shifted = self.builder.ins().ishl_imm_u(code, 8);
        self.builder
            .ins()
            .bor_imm_u(shifted, CHARACTER_LOW_BYTE as i64)
    }

    fn require_code_point(&mut self, id: NodeId, x: Value) -> Result<(), JitError> {
        let outside =
            self.builder
                .ins()
                .icmp_imm_s(IntCC::UnsignedGreaterThanOrEqual, x, CODE_POINTS_END);
        self.exit_if(outside, id)?;
        let moved = self.builder.ins().iadd_imm_s(x, -SURROGATES);
        let surrogate =
            self.builder
                .ins()
                .icmp_imm_s(IntCC::UnsignedLessThan, moved, SURROGATES_COUNT);
        self.exit_if(surrogate, id)
    }

    /// Stores into an object. A word that is certainly no reference leaves the card alone; one that is
    /// probably none, a flonum, is looked at first.
    pub(super) fn store_with_barrier(&mut self, node: NodeId, base: Value, offset: i32) {
        let value = self.tagged(node);
        self.store(value, base, offset);
        let ty = self.procedure.graph.node(node).ty;
        let is_immediate = ty.is_immediate() || self.constant(node).is_some();
        if is_immediate {
            return;
        }
        let address = self.builder.ins().iadd_imm_s(base, i64::from(offset));
        if !ty.without(Type::FLONUM).is_immediate() {
            return self.mark_card(address);
        }
        let (reference, done) = (self.cold_block(), self.new_block());
        if ty.is(Type::FLONUM) {
            let in_word = self.is_flonum_in_word(value);
            self.builder.ins().brif(in_word, done, &[], reference, &[]);
        } else {
            let tag = self.builder.ins().band_imm_s(value, 3);
            let points = self.builder.ins().icmp_imm_s(IntCC::Equal, tag, 1);
            self.builder.ins().brif(points, reference, &[], done, &[]);
        }
        self.begin(reference);
        self.mark_card(address);
        self.builder.ins().jump(done, &[]);
        self.begin(done);
    }

    pub(super) fn new_pair(&mut self, [car, cdr]: [Value; 2]) -> Value {
        let address = self.object_memory(16);
        self.store(car, address, 0);
        self.store(cdr, address, 8);
        self.builder
            .ins()
            .iadd_imm_s(address, layout::TAG_PAIR as i64)
    }

    pub(super) fn new_object(&mut self, kind: Kind, fields: &[Value]) -> Value {
        let bytes = object_bytes(fields.len());
        let address = self.object_memory(bytes);
        let header = self.word(object_header(kind, fields.len()));
        self.store(header, address, 0);
        for (value, offset) in fields.iter().zip((8..).step_by(8)) {
            self.store(*value, address, offset);
        }
        if bytes > 8 * (1 + fields.len()) {
            let zero = self.word(0);
            self.store(zero, address, bytes as i32 - 8);
        }
        self.builder
            .ins()
            .iadd_imm_s(address, layout::TAG_OBJECT as i64)
    }
}

/// The header of an object with so many fields.
pub(super) fn object_header(kind: Kind, fields: usize) -> u64 {
    layout::TAG_IMMEDIATE
        | (kind as u64) << HEADER_KIND_SHIFT
        | (fields as u64) << HEADER_LENGTH_SHIFT
}

/// Bytes of an object with a header and fields.
pub(super) fn object_bytes(fields: usize) -> usize {
    (8 * (1 + fields)).next_multiple_of(layout::GRANULE_BYTES)
}
