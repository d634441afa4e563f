//! Doubles and the words of flonums, from register to register, written without the code generator.
//!
//! All of it uses r11 and rax, and takes the thread block in the register of segments.

use canny_tables::layout::{FIELD0, FLONUM_MASK, frame, thread};

use crate::install::RETURN_NATIVE;
use crate::trampoline;

/// Number of the register in which words are returned and the first argument is passed: that of pc.
pub(crate) const RETURNED: u8 = 7;

/// Takes the double out of a flonum in a general register.
pub(crate) fn take_out(code: &mut Vec<u8>, from: u8, to: u8) {
    let (high, low) = (from >> 3, from & 7);
    // test from, 2; jz object
    code.extend([0x40 | high, 0xf6, 0xc0 | low, 2, 0x74, 0]);
    let at_object = code.len();
    // lea r11, [from + 1]; ror r11, 4; movq to, r11; jmp done
    code.extend([0x4c | high, 0x8d, 0x58 | low, 1]);
    code.extend([0x49, 0xc1, 0xcb, 4]);
    code.extend([0x66, 0x49, 0x0f, 0x6e, 0xc3 | to << 3, 0xeb, 0]);
    let at_done = code.len();
    complete_jump(code, at_object);
    // movsd to, [from + double]
    code.extend([
        0xf2,
        0x40 | high,
        0x0f,
        0x10,
        0x40 | low | to << 3,
        FIELD0 as u8,
    ]);
    complete_jump(code, at_done);
}

/// Makes the flonum of a double in a general register. `maker` is where [`write_maker`] stands.
pub(crate) fn put_in(code: &mut Vec<u8>, from: u8, to: u8, maker: usize) {
    // movq r11, from; rol r11, 4; dec r11
    code.extend([0x66, 0x49, 0x0f, 0x7e, 0xc3 | from << 3]);
    code.extend([0x49, 0xc1, 0xc3, 4, 0x49, 0xff, 0xcb]);
    // mov eax, mask; bt eax, r11d; jc fits
    code.push(0xb8);
    code.extend(FLONUM_MASK.to_le_bytes());
    code.extend([0x44, 0x0f, 0xa3, 0xd8, 0x72, 0]);
    let at_fits = code.len();
    // call maker
    code.push(0xe8);
    let behind = code.len() + 4;
    code.extend((maker as i32 - behind as i32).to_le_bytes());
    complete_jump(code, at_fits);
    // mov to, r11
    code.extend([0x4c | to >> 3, 0x89, 0xd8 | to & 7]);
}

/// The routine that makes the object of a flonum that does not fit a word: r11 holds what would be the word, and then the
/// object. All other registers but rax stay. Gives its place.
pub(crate) fn write_maker(code: &mut Vec<u8>, box_flonum: usize) -> usize {
    let place = code.len();
    // push rdi; push rcx; lea rdi, [r11 + 1]; ror rdi, 4
    code.extend([0x57, 0x51, 0x49, 0x8d, 0x7b, 1, 0x48, 0xc1, 0xcf, 4]);
    // mov rcx, function; mov rax, trampoline; call rax
    code.extend([0x48, 0xb9]);
    code.extend((box_flonum as u64).to_le_bytes());
    code.extend([0x48, 0xb8]);
    code.extend((trampoline::making() as u64).to_le_bytes());
    code.extend([0xff, 0xd0]);
    // pop rcx; pop rdi; mov r11, [rdx + result]; ret
    code.extend([0x59, 0x5f, 0x4c, 0x8b, 0x9a]);
    code.extend(thread::PC.to_le_bytes());
    code.push(0xc3);
    place
}

/// Where doubles are returned to calls that take words: returns the word. Gives its place.
pub(crate) fn write_return(code: &mut Vec<u8>, maker: usize) -> usize {
    let place = code.len();
    put_in(code, 0, RETURNED, maker);
    // mov rax, [rsi + return address]; jmp [rax + where]
    code.extend([0x48, 0x8b, 0x46, (8 * frame::RETURN_PC) as i8 as u8]);
    code.extend([0xff, 0x60, RETURN_NATIVE as u8]);
    place
}

/// Lets a short jump, behind which `behind` is, lead to where the code ends now.
pub(crate) fn complete_jump(code: &mut [u8], behind: usize) {
    code[behind - 1] = (code.len() - behind) as u8;
}

const _: () = assert!(FIELD0 >= -128 && FIELD0 < 128 && RETURN_NATIVE < 128);
