//! The names of the standard library that users know: what the libraries export that people import.
//! Conditions blame no other procedure of the library.

use canny_vm::Vm;

/// One on each line, in the order of their bytes.
static NAMES: &str = include_str!(concat!(env!("OUT_DIR"), "/public-names"));

/// Has conditions blame the procedures that users know.
pub fn blame_public_procedures(vm: &Vm) {
    vm.set_public_names(is_public);
}

/// Whether a name is one of them.
fn is_public(name: &str) -> bool {
    let bytes = NAMES.as_bytes();
    let (mut low, mut high) = (0, bytes.len());
    while low < high {
        // The line around the middle.
        let middle = low + (high - low) / 2;
        let start = bytes[low..middle]
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(low, |at| low + at + 1);
        let end = bytes[middle..high]
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(high, |at| middle + at);
        match bytes[start..end].cmp(name.as_bytes()) {
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Less => low = (end + 1).min(high),
            std::cmp::Ordering::Greater => high = start.saturating_sub(1).max(low),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found() {
        let names: Vec<&str> = NAMES.lines().collect();
        assert!(names.len() > 3000, "{}", names.len());
        assert!(names.is_sorted());
        for name in &names {
            assert!(is_public(name), "{name}");
            assert!(!is_public(&format!("{name}\u{1}")), "{name}");
        }
        for name in ["", "compile-next", "open-source", "\u{10ffff}", "%compile"] {
            assert!(!is_public(name), "{name}");
        }
    }
}
