//! Each instruction with operands at the edges, as another's disassembler reads it.

use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter, Mnemonic};

use super::*;
use crate::relocation::Stub;

/// Where the code stands for the disassembler.
const START: u64 = 0x1000;

/// The instructions of some code. Addresses count from 0x1000.
pub(crate) fn listing(code: &[u8]) -> Vec<String> {
    let mut formatter = IntelFormatter::new();
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_small_hex_numbers_in_decimal(false);
    options.set_space_after_operand_separator(true);
    options.set_signed_immediate_operands(false);
    options.set_branch_leading_zeros(false);
    options.set_rip_relative_addresses(true);
    let decoder = Decoder::with_ip(64, code, START, DecoderOptions::NONE);
    decoder
        .into_iter()
        .map(|instruction| {
            assert!(!instruction.is_invalid(), "{code:x?}");
            let mut text = String::new();
            formatter.format(&instruction, &mut text);
            text
        })
        .collect()
}

/// Asserts that this is one instruction, which the disassembler reads so; gives its length.
#[track_caller]
fn is_read_as(expected: &str, write: impl FnOnce(&mut Assembler)) -> usize {
    let code = Assembler::bytes_of(write);
    assert_eq!(listing(&code), [expected], "{code:x?}");
    code.len()
}

const NAMES: [&str; 16] = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
    "r14", "r15",
];

fn name(register: Register) -> &'static str {
    NAMES[usize::from(register.number())]
}

/// The lower half of a register.
fn half(register: Register) -> String {
    let name = name(register);
    match name.strip_prefix('r') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => format!("{name}d"),
        _ => name.replacen('r', "e", 1),
    }
}

/// The lowest byte of a register.
fn byte(register: Register) -> String {
    let name = name(register);
    match &name[1..] {
        "ax" | "cx" | "dx" | "bx" => format!("{}l", &name[1..2]),
        "sp" | "bp" | "si" | "di" => format!("{}l", &name[1..]),
        _ => format!("{name}b"),
    }
}

/// Operands in memory at every register and the edges of displacements, as they are read, with the
/// bytes that they take behind the byte of the mode.
fn memories() -> Vec<(Memory, String, usize)> {
    let mut all = Vec::new();
    for base in Register::all() {
        let index = usize::from(matches!(name(base), "rsp" | "r12"));
        let zero = usize::from(matches!(name(base), "rbp" | "r13"));
        all.push((Memory::at(base), format!("[{}]", name(base)), index + zero));
        let text = |displacement: i64| match displacement {
            0 => format!("[{}]", name(base)),
            number if number < 0 => format!("[{}-{:#x}]", name(base), -number),
            number => format!("[{}+{number:#x}]", name(base)),
        };
        for number in [i8::MIN, -1, 0, 1, i8::MAX] {
            let memory = Memory::near(base, number);
            all.push((memory, text(number.into()), index + 1));
        }
        for number in [i32::MIN, -129, -1, 0, 1, 127, 128, i32::MAX] {
            let memory = Memory::far(base, number);
            all.push((memory, text(number.into()), index + 4));
        }
    }
    all
}

#[test]
fn two_registers() {
    for to in Register::all() {
        for from in Register::all() {
            let (a, b) = (name(to), name(from));
            assert_eq!(is_read_as(&format!("mov {a}, {b}"), |x| x.mov(to, from)), 3);
            let (a, b) = (half(to), half(from));
            let read = format!("mov {a}, {b}");
            assert_eq!(is_read_as(&read, |x| x.mov32(to, from)), 3);
            is_read_as(&format!("bt {a}, {b}"), |x| x.test_bit(to, from));
        }
    }
}

#[test]
fn one_register() {
    for register in Register::all() {
        let name = name(register);
        is_read_as(&format!("push {name}"), |x| x.push(register));
        is_read_as(&format!("pop {name}"), |x| x.pop(register));
        is_read_as(&format!("dec {name}"), |x| x.decrement(register));
        is_read_as(&format!("call {name}"), |x| x.call_register(register));
        let half = half(register);
        is_read_as(&format!("xor {half}, {half}"), |x| x.clear(register));
        for bits in [1, 4, 63] {
            // The disassembler writes a rotation by one so, too.
            is_read_as(&format!("rol {name}, {bits:#x}"), |x| {
                x.rotate_left(register, bits);
            });
            is_read_as(&format!("ror {name}, {bits:#x}"), |x| {
                x.rotate_right(register, bits);
            });
        }
        for mask in [0, 1, 0x7f, 0x80, 0xff] {
            let read = format!("test {}, {mask:#x}", byte(register));
            let length = is_read_as(&read, |x| x.test_bits(register, mask));
            assert_eq!(length, 4);
        }
    }
}

#[test]
fn registers_and_constants() {
    for register in Register::all() {
        let (name, half) = (name(register), half(register));
        for word in [0, 1, 0x7fff_ffff, 0xffff_ffff, 1 << 63, u64::MAX] {
            let read = format!("mov {name}, {word:#x}");
            let length = is_read_as(&read, |x| x.mov_constant(register, word));
            assert_eq!(length, 10);
        }
        for word in [0, 1, 0x8000_0000, u32::MAX] {
            let read = format!("mov {half}, {word:#x}");
            is_read_as(&read, |x| x.mov32_constant(register, word));
        }
        for (number, bytes) in [
            (0, 1),
            (127, 1),
            (-128, 1),
            (128, 4),
            (-129, 4),
            (i32::MAX, 4),
            (i32::MIN, 4),
        ] {
            let number_text = format!("{:#x}", i64::from(number));
            let read = format!("add {name}, {number_text}");
            let length = is_read_as(&read, |x| x.add(register, number));
            // Some assemblers take a shorter form for rax.
            assert_eq!(length, 3 + bytes);
            let read = format!("sub {name}, {number_text}");
            is_read_as(&read, |x| x.subtract(register, number));
        }
    }
}

#[test]
fn a_register_and_memory() {
    for (memory, text, bytes) in memories() {
        for register in Register::all() {
            let name = name(register);
            let read = format!("mov {name}, {text}");
            assert_eq!(is_read_as(&read, |x| x.load(register, memory)), 3 + bytes);
            let read = format!("mov {text}, {name}");
            assert_eq!(is_read_as(&read, |x| x.store(memory, register)), 3 + bytes);
            let read = format!("lea {name}, {text}");
            let length = is_read_as(&read, |x| x.load_address(register, memory));
            assert_eq!(length, 3 + bytes);
        }
    }
}

#[test]
fn memory_and_constants() {
    for (memory, text, bytes) in memories() {
        for word in [i32::MIN, -1, 0, 1, i32::MAX] {
            let read = format!("mov qword ptr {text}, {:#x}", i64::from(word));
            let length = is_read_as(&read, |x| x.store_constant(memory, word));
            assert_eq!(length, 7 + bytes);
        }
        for word in [0, 1, 0x7f, 0x80, 0xff] {
            let read = format!("cmp byte ptr {text}, {word:#x}");
            let length = is_read_as(&read, |x| x.compare_byte(memory, word));
            assert_eq!(length, 4 + bytes);
        }
        is_read_as(&format!("jmp qword ptr {text}"), |x| x.jump_to(memory));
    }
}

#[test]
fn doubles() {
    for (number, double) in DoubleRegister::all().enumerate() {
        for register in Register::all() {
            let name = name(register);
            is_read_as(&format!("movq xmm{number}, {name}"), |x| {
                x.mov_to_double(double, register);
            });
            is_read_as(&format!("movq {name}, xmm{number}"), |x| {
                x.mov_from_double(register, double);
            });
        }
        for (memory, text, bytes) in memories() {
            let read = format!("movsd xmm{number}, {text}");
            let length = is_read_as(&read, |x| x.load_double(double, memory));
            assert_eq!(length, 5 + bytes);
        }
    }
    let numbers: Vec<DoubleRegister> = DoubleRegister::all().take(DOUBLES.len()).collect();
    assert_eq!(DOUBLES[..], numbers);
}

#[test]
fn a_masked_word_is_compared() {
    for register in Register::all() {
        let code = Assembler::bytes_of(|x| x.compare_masked(register, 0xff, 0x8000_0007));
        let expected = [
            format!("mov eax, {}", half(register)),
            "and eax, 0xff".to_owned(),
            "cmp eax, 0x80000007".to_owned(),
        ];
        assert_eq!(listing(&code), expected);
    }
}

#[test]
fn jumps_lead_where_they_are_to() {
    let code = Assembler::bytes_of(|x| {
        let start = x.place();
        let over = x.jump_ahead();
        let equal = x.jump_ahead_if(Condition::Equal);
        let different = x.jump_ahead_if(Condition::NotEqual);
        let set = x.jump_ahead_if(Condition::BitSet);
        x.land(over);
        x.land(equal);
        x.ret();
        x.land(different);
        x.land(set);
        for condition in [Condition::Equal, Condition::NotEqual, Condition::BitSet] {
            x.jump_back_if(condition, start);
        }
        x.call(start);
    });
    let expected = [
        "jmp short 0x1008",
        "je short 0x1008",
        "jne short 0x1009",
        "jb short 0x1009",
        "ret",
        "je 0x1000",
        "jne 0x1000",
        "jb 0x1000",
        "call 0x1000",
    ];
    assert_eq!(listing(&code), expected);
}

#[test]
fn the_farthest_short_jump() {
    let code = Assembler::bytes_of(|x| {
        let jump = x.jump_ahead();
        (0..127).for_each(|_| x.ret());
        x.land(jump);
    });
    assert_eq!(listing(&code)[0], format!("jmp short {:#x}", START + 129));
}

#[test]
fn targets_are_relocated() {
    let target = Target::Stub(Stub::Dispatch);
    let check = |read: &str, write: &dyn Fn(&mut Assembler)| {
        let mut assembler = Assembler::behind(vec![0xc3], Vec::new());
        write(&mut assembler);
        let [relocation] = assembler.relocations[..] else {
            panic!("one relocation");
        };
        assert_eq!((relocation.target, relocation.addend), (target, -4));
        // The displacement is the end of the instruction; here it leads to what is behind it.
        let offset = relocation.offset;
        assert_eq!(offset + 4, assembler.code.len());
        assert_eq!(assembler.code[offset..], [0; 4]);
        assert_eq!(listing(&assembler.code), ["ret", read]);
    };
    check("jmp 0x1006", &|x| x.jump(target));
    check("jmp qword ptr [rip]", &|x| x.jump_through(target));
    for register in Register::all() {
        let read = format!("lea {}, [rip]", name(register));
        check(&read, &|x| x.load_address_of(register, target));
    }
}

#[test]
fn saved_registers_are_cleared() {
    let code = Assembler::bytes_of(Assembler::clear_saved_registers);
    let expected = ["ebx", "r12d", "r13d", "r14d", "r15d"];
    let expected = expected.map(|name| format!("xor {name}, {name}"));
    assert_eq!(listing(&code), expected);
}

#[test]
fn jumps_that_may_move_are_known() {
    for (memory, ..) in memories() {
        assert!(is_movable_jump(&Assembler::bytes_of(|x| x.jump_to(memory))));
        let load = Assembler::bytes_of(|x| x.load(VALUE, memory));
        assert!(!is_movable_jump(&load));
    }
    assert!(is_movable_jump(&Assembler::bytes_of(Assembler::ret)));
    let mut assembler = Assembler::default();
    assembler.jump(Target::Next);
    assert!(is_movable_jump(&assembler.code));
    // A jump that depends on its own address has to stay.
    let mut assembler = Assembler::default();
    assembler.jump_through(Target::Next);
    assert!(!is_movable_jump(&assembler.code));
    assert!(!is_movable_jump(&[]));
}

/// Bytes that begin as such jumps do: those that are taken for one are exactly one.
#[test]
fn nothing_else_is_taken_for_a_jump() {
    let mut jumps = 0;
    for prefix in [
        None,
        Some(0x40),
        Some(0x41),
        Some(0x43),
        Some(0x48),
        Some(0x66),
    ] {
        for mode in 0..=255 {
            for index in [0x00, 0x05, 0x24, 0x25, 0x64, 0xe5] {
                for length in 0..7 {
                    let mut code: Vec<u8> = prefix.into_iter().collect();
                    code.extend([0xff, mode]);
                    code.extend([index, 1, 2, 3, 4, 5].iter().take(length));
                    if !is_movable_jump(&code) {
                        continue;
                    }
                    jumps += 1;
                    let mut decoder = Decoder::with_ip(64, &code, START, DecoderOptions::NONE);
                    let instruction = decoder.decode();
                    assert_eq!(instruction.len(), code.len(), "{code:x?}");
                    assert_eq!(instruction.mnemonic(), Mnemonic::Jmp, "{code:x?}");
                    assert!(!instruction.is_ip_rel_memory_operand(), "{code:x?}");
                }
            }
        }
    }
    assert!(jumps > 100, "{jumps}");
}
