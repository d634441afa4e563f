//! Doubles and the words of flonums, from register to register, written without the code generator.
//!
//! All of it uses [`SCRATCH`] and [`ACCUMULATOR`], and takes the thread block in the register of segments.

use canny_tables::layout::{FIELD0, FLONUM_MASK, frame, thread};

use crate::assembler::{
    ACCUMULATOR, Assembler, Condition, DOUBLES, DoubleRegister, FP, Memory, Place, Register,
    SCRATCH, THREAD, VALUE,
};
use crate::descriptors::RETURN_NATIVE;
use crate::trampoline;

/// The bit that words of flonums have and addresses of objects do not.
const FLONUM_BIT: u8 = 2;
/// Bits by which the word of a flonum is rotated.
const ROTATION: u8 = 4;

/// Takes the double out of a flonum in a general register.
pub(crate) fn take_out(to: &mut Assembler, from: Register, double: DoubleRegister) {
    to.test_bits(from, FLONUM_BIT);
    let object = to.jump_ahead_if(Condition::Equal);
    to.load_address(SCRATCH, Memory::near(from, 1));
    to.rotate_right(SCRATCH, ROTATION);
    to.mov_to_double(double, SCRATCH);
    let done = to.jump_ahead();
    to.land(object);
    to.load_double(double, Memory::near(from, FIELD0 as i8));
    to.land(done);
}

/// Makes the flonum of a double in a general register. `maker` is where [`write_maker`] stands.
pub(crate) fn put_in(to: &mut Assembler, from: DoubleRegister, word: Register, maker: Place) {
    to.mov_from_double(SCRATCH, from);
    to.rotate_left(SCRATCH, ROTATION);
    to.decrement(SCRATCH);
    to.mov32_constant(ACCUMULATOR, FLONUM_MASK);
    to.test_bit(ACCUMULATOR, SCRATCH);
    let fits = to.jump_ahead_if(Condition::BitSet);
    to.call(maker);
    to.land(fits);
    to.mov(word, SCRATCH);
}

/// The routine that makes the object of a flonum that does not fit a word: [`SCRATCH`] holds what would
/// be the word, and then the object. All other registers but [`ACCUMULATOR`] stay. Gives its place.
pub(crate) fn write_maker(to: &mut Assembler, box_flonum: usize) -> Place {
    let place = to.place();
    // The trampoline takes an argument of C and the function, and leaves the result in the thread block.
    let (argument, function) = (Register::RDI, Register::RCX);
    to.push(argument);
    to.push(function);
    to.load_address(argument, Memory::near(SCRATCH, 1));
    to.rotate_right(argument, ROTATION);
    to.mov_constant(function, box_flonum as u64);
    to.mov_constant(ACCUMULATOR, trampoline::making() as u64);
    to.call_register(ACCUMULATOR);
    to.pop(function);
    to.pop(argument);
    to.load(SCRATCH, Memory::far(THREAD, thread::PC));
    to.ret();
    place
}

/// Where doubles are returned to calls that take words: returns the word. Gives its place.
pub(crate) fn write_return(to: &mut Assembler, maker: Place) -> Place {
    let place = to.place();
    put_in(to, DOUBLES[0], VALUE, maker);
    to.load(ACCUMULATOR, Memory::near(FP, (8 * frame::RETURN_PC) as i8));
    to.jump_to(Memory::near(ACCUMULATOR, RETURN_NATIVE as i8));
    place
}

const _: () = assert!(FIELD0 >= -128 && FIELD0 < 128 && RETURN_NATIVE < 128);

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::assembler::tests::listing;

    #[test]
    fn a_double_is_taken_out_of_a_word_or_an_object() {
        let code = Assembler::bytes_of(|to| take_out(to, Register::R8, DOUBLES[3]));
        let expected = [
            "test r8b, 0x2",
            "je short 0x1015",
            "lea r11, [r8+0x1]",
            "ror r11, 0x4",
            "movq xmm3, r11",
            "jmp short 0x101b",
            &format!("movsd xmm3, [r8+{FIELD0:#x}]"),
        ];
        assert_eq!(listing(&code), expected);
    }

    #[test]
    fn a_double_becomes_a_word_or_an_object() {
        let code = Assembler::bytes_of(|to| put_in(to, DOUBLES[1], Register::RCX, 0));
        let expected = [
            "movq r11, xmm1",
            "rol r11, 0x4",
            "dec r11",
            "mov eax, 0x8c8c8c8c",
            "bt eax, r11d",
            "jb short 0x101c",
            "call 0x1000",
            "mov rcx, r11",
        ];
        assert_eq!(listing(&code), expected);
    }
}
