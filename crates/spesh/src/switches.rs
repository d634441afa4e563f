//! Passes that `CANNY_SPESH_DISABLE` turns off by name, to bisect a wrong result or a slow program.
//!
//! Programs compute the same with every set of passes: a pass in this list is an optimization only.
//! Help, reports and the error for a wrong name take the names from here.

use crate::build::Options;

/// A part of the optimizer that others do without.
pub struct Pass {
    /// Its name in `CANNY_SPESH_DISABLE`.
    pub name: &'static str,
    /// Description of its effect, for people.
    pub effect: &'static str,
    turn_off: fn(&mut Options),
}

/// All of them.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "inline",
        effect: "copies known procedures to their calls",
        turn_off: |options| options.inline = false,
    },
    Pass {
        name: "number",
        effect: "finds computations that were made before, and branches whose answer is known",
        turn_off: |options| options.number_values = false,
    },
    Pass {
        name: "cold",
        effect: "leaves compiled code at calls that were never seen",
        turn_off: |options| options.leaves_cold_code = false,
    },
    Pass {
        name: "sink",
        effect: "makes objects that only the interpreter would need where compiled code leaves for it",
        turn_off: |options| options.sinks_objects = false,
    },
    Pass {
        name: "hoist",
        effect: "asks and computes before a loop what the loop does not change",
        turn_off: |options| options.hoists = false,
    },
    Pass {
        name: "boxes",
        effect: "keeps assigned variables as values where only the interpreter would need their boxes",
        turn_off: |options| options.replaces_boxes = false,
    },
    Pass {
        name: "entries",
        effect: "compiles procedures for several types of arguments, chosen on entry",
        turn_off: |options| options.selects_at_entry = false,
    },
    Pass {
        name: "records",
        effect: "compiles procedures for several types of records, chosen on entry",
        turn_off: |options| options.divides_by_class = false,
    },
    Pass {
        name: "polymorphic",
        effect: "copies procedures to calls that enter a few different ones",
        turn_off: |options| options.inline_several = false,
    },
    Pass {
        name: "floats",
        effect: "passes flonums unboxed to and from compiled procedures",
        turn_off: |options| options.passes_floats = false,
    },
    Pass {
        name: "results",
        effect: "asks for fixnums right behind calls, where compiled code that returns them knows the answer",
        turn_off: |options| options.asks_early = false,
    },
];

/// Turns off the passes of a list with commas. The error names a word that is no pass, and the passes
/// there are.
pub fn turn_off(options: &mut Options, names: &str) -> Result<(), String> {
    for name in names.split(',').map(str::trim) {
        if name.is_empty() {
            continue;
        }
        match PASSES.iter().find(|pass| pass.name == name) {
            Some(pass) => (pass.turn_off)(options),
            None => {
                let known: Vec<&str> = PASSES.iter().map(|pass| pass.name).collect();
                let known = known.join(", ");
                return Err(format!("there is no pass '{name}', but {known}"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pass_can_be_turned_off_by_its_name() {
        let plain = format!("{:?}", Options::default());
        for pass in PASSES {
            let mut options = Options::default();
            assert_eq!(turn_off(&mut options, pass.name), Ok(()));
            assert_ne!(format!("{options:?}"), plain, "{} does nothing", pass.name);
        }
    }

    #[test]
    fn lists_have_commas_and_known_names() {
        let mut options = Options::default();
        assert_eq!(turn_off(&mut options, " inline, number,"), Ok(()));
        assert!(!options.inline && !options.number_values);
        assert_eq!(turn_off(&mut options, ""), Ok(()));
        let error = turn_off(&mut options, "inline,fold");
        let error = error.expect_err("there is no such pass");
        assert!(
            error.starts_with("there is no pass 'fold', but inline, number"),
            "{error}"
        );
    }
}
