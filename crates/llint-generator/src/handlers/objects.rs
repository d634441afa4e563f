//! Fast handlers of pairs, vectors, strings, bytevectors, characters and records.
//!
//! Each checks kind, index and immutability, and leaves to the runtime whatever fails. A store of a
//! value includes the write barrier. Registers are few: some headers are loaded twice to avoid a
//! spill, which the build refuses.

use canny_tables::kinds::Kind;
use canny_tables::layout::{
    self, CAR, CDR, FIELD0, FIXNUM_SHIFT, FLAG_IMMUTABLE, HEADER_LENGTH_SHIFT, SUBTAG_CHARACTER,
    TAG_IMMEDIATE, class_key,
};
use canny_tables::opcodes::Opcode;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};

use crate::dsl::Handler;

/// Writes the handler of an opcode of this group.
pub fn write(opcode: Opcode, h: &mut Handler) {
    match opcode {
        Opcode::Cons => {
            let bytes = h.constant(16);
            let address = h.allocate(bytes);
            let (car, cdr) = (h.rb(), h.rc());
            h.store(car, address, 0);
            h.store(cdr, address, 8);
            let pair = h.add_constant(address, layout::TAG_PAIR as i64);
            h.set_a(pair);
            h.next();
        }
        Opcode::Car => write_list_access(h, &[CAR]),
        Opcode::Cdr => write_list_access(h, &[CDR]),
        Opcode::Cadr => write_list_access(h, &[CDR, CAR]),
        Opcode::Cddr => write_list_access(h, &[CDR, CDR]),
        Opcode::SetCar | Opcode::SetCdr => {
            let (pair, value) = (h.ra(), h.rb());
            h.guard_pair(pair);
            h.store_with_barrier(
                value,
                pair,
                if opcode == Opcode::SetCar { CAR } else { CDR },
            );
            h.next();
        }
        Opcode::VectorRef | Opcode::VectorSet | Opcode::VectorLength => write_vector(opcode, h),
        Opcode::StringRef | Opcode::StringLength => write_string(opcode, h),
        Opcode::BytevectorRef | Opcode::BytevectorSet | Opcode::BytevectorLength => {
            write_bytevector(opcode, h);
        }
        Opcode::CharacterToInteger => {
            let x = h.rb();
            h.guard_character(x);
            let code = h.shift_right(x, 8);
            let fixnum = h.shift_left(code, FIXNUM_SHIFT as i64);
            h.set_a(fixnum);
            h.next();
        }
        Opcode::IntegerToCharacter => {
            let x = h.rb();
            h.guard_fixnum(x);
            // Code points below the surrogates; the others need a look.
            let high =
                h.compare_constant(IntCC::UnsignedGreaterThanOrEqual, x, 0xd800 << FIXNUM_SHIFT);
            h.slow_if(high);
            let code = h.shift_right(x, FIXNUM_SHIFT as i64);
            let character = character_word(h, code);
            h.set_a(character);
            h.next();
        }
        Opcode::RecordRef | Opcode::RecordSet => write_record(opcode, h),
        Opcode::ClassKey => write_class_key(h),
        other => unreachable!("{} is not an object's opcode", other.row().name),
    }
}

fn character_word(h: &mut Handler, code: Value) -> Value {
    let shifted = h.shift_left(code, 8);
    h.builder
        .ins()
        .bor_imm_u(shifted, (SUBTAG_CHARACTER << 3 | TAG_IMMEDIATE) as i64)
}

fn write_list_access(h: &mut Handler, path: &[i32]) {
    let mut x = h.rb();
    for &offset in path {
        h.guard_pair(x);
        x = h.load(x, offset);
    }
    h.set_a(x);
    h.next();
}

/// Address of element `index` (a fixnum) less the offset of element 0.
pub fn element(h: &mut Handler, base: Value, index: Value) -> Value {
    let bytes = h.shift_left(index, 1);
    h.add(base, bytes)
}

fn write_vector(opcode: Opcode, h: &mut Handler) {
    match opcode {
        Opcode::VectorRef => {
            let (vector, index) = (h.rb(), h.rc());
            let header = h.guard_kind_header(vector, Kind::Vector, 0);
            h.guard_index(index, header);
            let slot = element(h, vector, index);
            let value = h.load(slot, FIELD0);
            h.set_a(value);
        }
        Opcode::VectorSet => {
            let (vector, index) = (h.ra(), h.rb());
            let header = h.guard_kind_header(vector, Kind::Vector, FLAG_IMMUTABLE);
            h.guard_index(index, header);
            let slot = element(h, vector, index);
            let value = h.rc();
            h.store_with_barrier(value, slot, FIELD0);
        }
        _ => write_length(h, Kind::Vector),
    }
    h.next();
}

fn write_length(h: &mut Handler, kind: Kind) {
    let x = h.rb();
    let header = h.guard_kind_header(x, kind, 0);
    let length = h.shift_right(header, HEADER_LENGTH_SHIFT as i64);
    let length = h.shift_left(length, FIXNUM_SHIFT as i64);
    h.set_a(length);
}

fn write_string(opcode: Opcode, h: &mut Handler) {
    let string = h.rb();
    h.guard_kind(string, Kind::String);
    let length = h.load(string, FIELD0);
    if opcode == Opcode::StringLength {
        h.set_a(length);
        return h.next();
    }
    let index = h.rc();
    h.guard_fixnum(index);
    let outside = h.compare(IntCC::UnsignedGreaterThanOrEqual, index, length);
    h.slow_if(outside);
    let data = h.load(string, FIELD0 + 8);
    let kind = h.load_u8(data, layout::HEADER + 1);
    let wide = h.compare_constant(IntCC::NotEqual, kind, Kind::String8 as i64);
    h.when(wide, |h| {
        // Four bytes per unit: the fixnum is the byte offset.
        let slot = h.add(data, index);
        let code = h.load_u32(slot, FIELD0);
        let character = character_word(h, code);
        h.set_a(character);
        h.next();
    });
    let offset = h.shift_right(index, FIXNUM_SHIFT as i64);
    let slot = h.add(data, offset);
    let code = h.load_u8(slot, FIELD0);
    let character = character_word(h, code);
    h.set_a(character);
    h.next();
}

fn write_bytevector(opcode: Opcode, h: &mut Handler) {
    match opcode {
        Opcode::BytevectorLength => write_length(h, Kind::Bytevector),
        Opcode::BytevectorRef => {
            let (bytes, index) = (h.rb(), h.rc());
            let header = h.guard_kind_header(bytes, Kind::Bytevector, 0);
            h.guard_index(index, header);
            let offset = h.shift_right(index, FIXNUM_SHIFT as i64);
            let slot = h.add(bytes, offset);
            let byte = h.load_u8(slot, FIELD0);
            let fixnum = h.shift_left(byte, FIXNUM_SHIFT as i64);
            h.set_a(fixnum);
        }
        _ => {
            let (bytes, index) = (h.ra(), h.rb());
            let header = h.guard_kind_header(bytes, Kind::Bytevector, FLAG_IMMUTABLE);
            h.guard_index(index, header);
            let offset = h.shift_right(index, FIXNUM_SHIFT as i64);
            let slot = h.add(bytes, offset);
            let value = h.rc();
            h.guard_fixnum(value);
            let large = h.compare_constant(IntCC::UnsignedGreaterThan, value, 255 << FIXNUM_SHIFT);
            h.slow_if(large);
            let byte = h.shift_right(value, FIXNUM_SHIFT as i64);
            h.store_u8(byte, slot, FIELD0);
        }
    }
    h.next();
}

fn write_record(opcode: Opcode, h: &mut Handler) {
    match opcode {
        Opcode::RecordRef => {
            let (record, wanted) = (h.rb(), h.rc());
            let slot = record_slot(h, record, wanted);
            let value = h.load(slot, FIELD0 + 8);
            h.set_a(value);
            h.next_after(2);
        }
        _ => {
            let (record, wanted) = (h.ra(), h.rb());
            let slot = record_slot(h, record, wanted);
            let value = h.rc();
            h.store_with_barrier(value, slot, FIELD0 + 8);
            h.next_after(2);
        }
    }
}

/// Records, other objects with a header, fixnums and pairs; the runtime knows the keys of the other
/// immediates.
fn write_class_key(h: &mut Handler) {
    let x = h.rb();
    let tag = h.and_constant(x, layout::TAG_MASK);
    let immediate = h.compare_constant(IntCC::NotEqual, tag, layout::TAG_OBJECT as i64);
    h.when(immediate, |h| {
        let low = h.and_constant(x, 3);
        let is_fixnum = h.compare_constant(IntCC::Equal, low, 0);
        h.when(is_fixnum, |h| write_known_key(h, class_key::FIXNUM));
        h.guard_pair(x);
        write_known_key(h, class_key::PAIR);
    });
    let kind = h.load_u8(x, layout::HEADER + 1);
    let is_record = h.compare_constant(IntCC::Equal, kind, Kind::Record as i64);
    h.when(is_record, |h| {
        let record_type = h.load(x, FIELD0);
        let key = h.load(record_type, FIELD0 + 8 * layout::record_type::SERIAL as i32);
        h.set_a(key);
        h.next();
    });
    let key = h.shift_left(kind, FIXNUM_SHIFT as i64);
    h.set_a(key);
    h.next();
}

fn write_known_key(h: &mut Handler, key: i64) {
    let key = h.constant((key << FIXNUM_SHIFT) as u64);
    h.set_a(key);
    h.next();
}

/// Offset of the low half of a header's length.
const LENGTH: i32 = layout::HEADER + HEADER_LENGTH_SHIFT as i32 / 8;

/// The length of a record or record type, which is never long. It is loaded where it is needed: a
/// header that was kept would cost a register.
fn length(h: &mut Handler, object: Value) -> Value {
    h.load_u32(object, LENGTH)
}

/// The word that is `wanted` in types derived from that; types with many ancestors go to the slow path.
pub fn ancestor(h: &mut Handler, record_type: Value, wanted: Value) -> Value {
    let place = h.load(wanted, FIELD0 + 8 * layout::record_type::PLACE as i32);
    let end = (layout::record_type::WORDS_MIN as i64) << FIXNUM_SHIFT;
    let far = h.compare_constant(IntCC::UnsignedGreaterThanOrEqual, place, end);
    h.slow_if(far);
    let there = element(h, record_type, place);
    h.load(there, FIELD0)
}

/// Base of the field that extension word 0 numbers, for a record of the wanted type that has it.
pub fn record_slot(h: &mut Handler, record: Value, wanted: Value) -> Value {
    h.guard_kind(record, Kind::Record);
    let type_of = h.load(record, FIELD0);
    let (other, same) = (h.builder.create_block(), h.builder.create_block());
    let differs = h.compare(IntCC::NotEqual, type_of, wanted);
    h.builder.ins().brif(differs, other, &[], same, &[]);
    h.builder.switch_to_block(other);
    h.guard_kind(wanted, Kind::RecordType);
    let there = ancestor(h, type_of, wanted);
    let different = h.compare(IntCC::NotEqual, there, wanted);
    h.slow_if(different);
    h.builder.ins().jump(same, &[]);
    h.builder.switch_to_block(same);
    let index = h.load_u32(h.pc, 0);
    // The type is field 0 of the payload.
    let length = length(h, record);
    let last = h.add_constant(length, -1);
    let outside = h.compare(IntCC::UnsignedGreaterThanOrEqual, index, last);
    h.slow_if(outside);
    let bytes = h.shift_left(index, 3);
    h.add(record, bytes)
}
