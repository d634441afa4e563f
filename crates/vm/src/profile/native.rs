//! Names of the machine's own code, from the symbols of the executable.
//!
//! The table is read from the file when the first profile begins; an executable without symbols gives no
//! names, and its code is then the machine's in general. Names of shared libraries are asked from the
//! dynamic linker.

use std::ffi::CStr;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use canny_profile::model::Group;

/// A function of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NativeName {
    pub(super) name: String,
    pub(super) group: Group,
}

/// Symbols of functions, ascending by address.
#[derive(Debug, Default)]
struct Symbols {
    /// Address, size, and place of the name.
    rows: Vec<(usize, usize, u32)>,
    names: Vec<u8>,
}

fn symbols() -> &'static Symbols {
    static SYMBOLS: OnceLock<Symbols> = OnceLock::new();
    SYMBOLS.get_or_init(|| Symbols::read().unwrap_or_default())
}

/// Reads the symbols if that was not done yet.
pub(super) fn prepare() {
    symbols();
}

/// The function at an address of the machine's own code.
pub(super) fn name_at(address: usize) -> NativeName {
    let name = symbols().name_at(address).or_else(|| linked(address));
    match name {
        Some(name) => named(&name),
        None => NativeName {
            name: "unknown code".to_owned(),
            group: Group::Foreign,
        },
    }
}

/// The work of a thread without Scheme code, by its name.
pub(super) fn background(thread: &str) -> (&'static str, Group) {
    match thread {
        // The system keeps 15 bytes of a name.
        "canny-specializ" => ("specializing code that runs often", Group::Compiler),
        "guest-compiler" => ("compiling functions of guests", Group::Compiler),
        "canny-profile" => ("writing the profile", Group::Machine),
        _ => ("other threads of the machine", Group::Machine),
    }
}

fn named(symbol: &str) -> NativeName {
    let name = format!("{:#}", rustc_demangle::demangle(symbol));
    let group = group_of(&name);
    NativeName {
        name: without_arguments(&name),
        group,
    }
}

/// The name without type arguments: `a::b::<T>::c` is `a::b::c`, `<T as U>::c` stays.
fn without_arguments(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    let mut depth = 0;
    for (index, character) in name.char_indices() {
        match character {
            '<' if index > 0 => depth += 1,
            '>' if depth > 0 && !name[..index].ends_with('-') => depth -= 1,
            _ if depth == 0 => short.push(character),
            _ => {}
        }
    }
    short.replace("::::", "::")
}

/// The part of the machine that a function belongs to, by the crate in its name.
fn group_of(name: &str) -> Group {
    const GROUPS: &[(&str, Group)] = &[
        ("canny_heap", Group::Collector),
        ("canny_spesh", Group::Compiler),
        ("canny_jit::trampoline", Group::Machine),
        ("canny_jit", Group::Compiler),
        ("canny_compiler", Group::Compiler),
        ("canny_syntax::reader", Group::Text),
        ("canny_syntax", Group::Compiler),
        ("cranelift", Group::Compiler),
        ("regalloc2", Group::Compiler),
        ("canny_io", Group::InputOutput),
        ("canny_formats", Group::Text),
        ("regex", Group::Text),
        ("aho_corasick", Group::Text),
        ("memchr", Group::Text),
        ("unicode", Group::Text),
        ("canny_number", Group::Numbers),
        ("dashu", Group::Numbers),
        ("canny_http", Group::Network),
        ("canny_tls", Group::Network),
        ("rustls", Group::Network),
        ("canny_sqlite", Group::Database),
        ("sqlite3", Group::Database),
        ("canny_sched", Group::Scheduler),
        ("canny_", Group::Machine),
        ("op_", Group::Machine),
        ("std::", Group::Machine),
        ("core::", Group::Machine),
        ("alloc::", Group::Machine),
    ];
    let name = name.trim_start_matches('<');
    let found = GROUPS.iter().find(|(prefix, _)| name.starts_with(prefix));
    found.map_or(Group::Foreign, |(_, group)| *group)
}

/// Bytes that a function of a library has at most, as far as names are concerned.
const FUNCTION_BYTES_MAX: usize = 1 << 14;

/// The name that the dynamic linker knows.
fn linked(address: usize) -> Option<String> {
    // SAFETY: zeroes are a valid value; the linker fills it in.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the address is only compared.
    let is_known = unsafe { libc::dladdr(address as *const libc::c_void, &mut found) } != 0;
    let text = |pointer: *const libc::c_char| {
        // SAFETY: a name of the linker, which ends with a zero.
        (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy())
    };
    if !is_known {
        return None;
    }
    // For the executable and for addresses far behind it, the nearest name says nothing.
    let is_near = address.wrapping_sub(found.dli_saddr as usize) < FUNCTION_BYTES_MAX;
    if found.dli_fbase as usize != load_address()
        && is_near
        && let Some(name) = text(found.dli_sname)
    {
        return Some(name.into_owned());
    }
    let file = text(found.dli_fname)?;
    Some(file.rsplit('/').next()?.to_owned())
}

/// An unsigned number of some bytes in a file that has the least byte first.
fn number(bytes: &[u8], at: usize, count: usize) -> Option<u64> {
    let mut word = [0; 8];
    word[..count].copy_from_slice(bytes.get(at..at + count)?);
    Some(u64::from_le_bytes(word))
}

impl Symbols {
    /// Reads the symbols of the executable that runs.
    fn read() -> Option<Symbols> {
        const HEADER_BYTES: usize = 64;
        const SYMBOL_TABLE: u64 = 2;
        const SYMBOL_BYTES: usize = 24;
        const FUNCTION: u8 = 2;
        let file = File::open("/proc/self/exe").ok()?;
        let read = |offset: u64, count: usize| {
            let mut bytes = vec![0; count];
            file.read_exact_at(&mut bytes, offset).ok()?;
            Some(bytes)
        };
        let header = read(0, HEADER_BYTES)?;
        if !header.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let sections = number(&header, 40, 8)?;
        let section_bytes = number(&header, 58, 2)? as usize;
        let count = number(&header, 60, 2)? as usize;
        let table = read(sections, section_bytes * count)?;
        let section = |index: usize| table.get(section_bytes * index..section_bytes * (index + 1));
        let symbols = (0..count)
            .filter_map(section)
            .find(|section| number(section, 4, 4) == Some(SYMBOL_TABLE))?;
        let names = section(number(symbols, 40, 4)? as usize)?;
        let content = |section: &[u8]| {
            let (offset, bytes) = (number(section, 24, 8)?, number(section, 32, 8)?);
            read(offset, bytes as usize)
        };
        let (symbols, names) = (content(symbols)?, content(names)?);
        let base = load_address();
        let mut rows: Vec<_> = symbols
            .chunks_exact(SYMBOL_BYTES)
            .filter(|symbol| symbol[4] & 15 == FUNCTION)
            .filter_map(|symbol| {
                let name = number(symbol, 0, 4)? as u32;
                let (value, size) = (number(symbol, 8, 8)?, number(symbol, 16, 8)?);
                Some((base + value as usize, size as usize, name))
            })
            .collect();
        rows.sort_unstable();
        Some(Symbols { rows, names })
    }

    fn name_at(&self, address: usize) -> Option<String> {
        let index = self.rows.partition_point(|row| row.0 <= address);
        // Labels of assembly have no size.
        const LABELS_MAX: usize = 8;
        let before = self.rows[..index].iter().rev().take(LABELS_MAX);
        let mut around = before.filter(|(start, size, _)| address - start < *size);
        let (_, _, name) = *around.next()?;
        let name = CStr::from_bytes_until_nul(self.names.get(name as usize..)?).ok()?;
        Some(name.to_string_lossy().into_owned())
    }
}

/// By how much addresses differ from those in the executable's file.
fn load_address() -> usize {
    unsafe extern "C" fn first(
        object: *mut libc::dl_phdr_info,
        _bytes: usize,
        base: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the linker hands out a description, and what it was given itself.
        unsafe { *base.cast::<usize>() = (*object).dlpi_addr as usize };
        1
    }
    let mut base = 0_usize;
    // SAFETY: the function has the type that is asked for; the executable comes first.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut base).cast()) };
    base
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_type_arguments() {
        let cases = [
            ("a::b::<T>::c", "a::b::c"),
            ("<T as U>::c", "<T as U>::c"),
            ("a::b::<fn(X) -> Y>::c", "a::b::c"),
            ("plain", "plain"),
        ];
        for (name, short) in cases {
            assert_eq!(without_arguments(name), short);
        }
    }

    #[test]
    fn parts_are_known_by_their_crates() {
        assert_eq!(group_of("canny_heap::tracer::trace"), Group::Collector);
        assert_eq!(group_of("<canny_io::port::Port>::read"), Group::InputOutput);
        assert_eq!(group_of("canny_vm::thread::poll"), Group::Machine);
        assert_eq!(group_of("main"), Group::Foreign);
    }

    #[test]
    fn a_function_of_this_executable_has_its_name() {
        let found = name_at(group_of as *const () as usize + 1);
        assert!(found.name.ends_with("group_of"), "{found:?}");
        assert_eq!(found.group, Group::Machine);
        let linked = name_at(libc::getpid as *const () as usize + 1);
        assert!(linked.name.contains("getpid"), "{linked:?}");
    }
}
