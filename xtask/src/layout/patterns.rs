//! Few patterns for many functions.
//!
//! Names of functions hold a hash that depends on the compiler and on other crates, so all that share a
//! name and a crate go together. Where most of a module runs, the module is one pattern.

use std::collections::{BTreeMap, HashSet};

use super::functions::{Function, Functions};

/// Percentage of a module's bytes that have to run for the module to be taken whole.
const MODULE_PERCENT: u64 = 85;
/// Names are cut here, which may take in others that begin alike.
const NAME_MAX: usize = 160;

/// The command's own objects. When they were optimized with others, the names of those begin like theirs.
const OWN_CRATE: &str = "canny";
const OWN_OBJECTS: &str = "*canny-????????????????.?????????????????????????.*";

/// A name of sections of a crate, with `*` at its end and inside.
pub(super) struct Pattern {
    home: String,
    /// The pieces that the names begin with, or all of them.
    path: Vec<String>,
    pub(super) bytes: u64,
    pub(super) bytes_that_ran: u64,
}

impl Pattern {
    pub(super) fn matches(&self, function: &Function) -> bool {
        self.home == function.home && function.path.starts_with(&self.path)
    }

    fn text(&self) -> String {
        let mut text: String = self.path.concat();
        text.truncate(NAME_MAX);
        if !text.ends_with('*') {
            text.push('*');
        }
        text
    }
}

/// Functions whose names begin alike.
#[derive(Default)]
struct Module {
    bytes: u64,
    bytes_that_ran: u64,
    parts: BTreeMap<String, Module>,
}

impl Module {
    fn add(&mut self, path: &[String], bytes: u64, ran: bool) {
        self.bytes += bytes;
        self.bytes_that_ran += if ran { bytes } else { 0 };
        if let Some((first, rest)) = path.split_first() {
            self.parts
                .entry(first.clone())
                .or_default()
                .add(rest, bytes, ran);
        }
    }

    fn choose(&self, home: &str, path: &mut Vec<String>, chosen: &mut Vec<Pattern>) {
        if self.bytes_that_ran == 0 {
            return;
        }
        let mostly_ran = 100 * self.bytes_that_ran >= MODULE_PERCENT * self.bytes;
        // The first piece is that of all names.
        if self.parts.is_empty() || mostly_ran && path.len() > 1 {
            chosen.push(Pattern {
                home: home.to_owned(),
                path: path.clone(),
                bytes: self.bytes,
                bytes_that_ran: self.bytes_that_ran,
            });
            return;
        }
        for (name, part) in &self.parts {
            path.push(name.clone());
            part.choose(home, path, chosen);
            path.pop();
        }
    }
}

/// Patterns that take in all functions that ran, crate by crate.
pub(super) fn choose(functions: &Functions, ran: &HashSet<&str>) -> Vec<Pattern> {
    let mut crates = BTreeMap::<&str, Module>::new();
    for function in &functions.0 {
        crates.entry(&function.home).or_default().add(
            &function.path,
            function.bytes,
            function
                .symbols
                .iter()
                .any(|symbol| ran.contains(&**symbol)),
        );
    }
    let mut chosen = Vec::new();
    for (home, module) in crates {
        module.choose(home, &mut Vec::new(), &mut chosen);
    }
    chosen
}

/// Writes them as the linker wants to see them, a line for each crate.
pub(super) fn write(patterns: &[Pattern], script: &mut String) {
    for of_crate in patterns.chunk_by(|one, other| one.home == other.home) {
        let names: Vec<String> = of_crate
            .iter()
            .map(|pattern| format!(".text.{}", pattern.text()))
            .collect();
        let objects = match &*of_crate[0].home {
            OWN_CRATE => OWN_OBJECTS.to_owned(),
            home => format!("*{home}-*"),
        };
        script.push_str(&format!("    {objects}({})\n", names.join(" ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(home: &str, path: &[&str], bytes: u64) -> Function {
        Function {
            home: home.to_owned(),
            symbols: vec![path.concat()],
            path: path.iter().map(|&piece| piece.to_owned()).collect(),
            bytes,
        }
    }

    #[test]
    fn a_module_that_mostly_runs_is_one_pattern() {
        let mut functions = Functions(vec![
            function("a", &["_ZN", "1m", "1f", "17h*"], 90),
            function("a", &["_ZN", "1m", "1g", "17h*"], 10),
            function("a", &["_ZN", "1n", "1f", "17h*"], 10),
            function("a", &["_ZN", "1n", "1g", "17h*"], 90),
            function("b", &["_ZN", "1m", "1f", "17h*"], 50),
        ]);
        let ran = HashSet::from(["_ZN1m1f17h*", "_ZN1n1f17h*"]);
        let chosen = choose(&functions, &ran);
        let mut script = String::new();
        write(&chosen, &mut script);
        assert_eq!(
            script,
            "    *a-*(.text._ZN1m* .text._ZN1n1f*)\n    *b-*(.text._ZN1m*)\n"
        );
        functions.leave_out(&chosen);
        assert_eq!(functions.0.len(), 1);
    }
}
