//! Parses the linker's map and callgrind's profile: which functions an executable has, and which
//! ran.
//!
//! Names lose hashes and other parts that differ from build to build, so that the recorded order
//! fits later builds. Equal functions that the linker merged are one.

use std::collections::HashSet;

use super::patterns::Pattern;

/// A function in a section of its own.
pub(super) struct Function {
    /// The crate whose object it is in.
    pub(super) home: String,
    /// Its names: equal functions are one.
    pub(super) symbols: Vec<String>,
    /// The section's name without `.text.`, in pieces: modules, names, and last what stands for its
    /// hash. All of them together are a pattern for the linker.
    pub(super) path: Vec<String>,
    pub(super) bytes: u64,
}

pub(super) struct Functions(pub(super) Vec<Function>);

/// Section names that continue like this are for functions that the compiler takes to be rarely or
/// often called.
const PREFIXES: &[&str] = &["unlikely.", "hot."];

impl Functions {
    /// Reads a map as LLVM's linker writes it: lines of an address, another one, a size, an alignment
    /// and `FILE:(SECTION)`, each with lines behind it that end with a symbol.
    pub(super) fn of_map(map: &str) -> Functions {
        let mut functions = Vec::<Function>::new();
        let mut is_in_function = false;
        for line in map.lines() {
            if line.contains(":(") {
                let function = Function::of_line(line);
                is_in_function = function.is_some();
                functions.extend(function);
            } else if is_in_function
                && let Some(function) = functions.last_mut()
                && let Some(symbol) = line.split_whitespace().nth(4)
                && !function.symbols.iter().any(|known| known == symbol)
            {
                function.symbols.push(symbol.to_owned());
            }
        }
        Functions(functions)
    }

    /// Forgets functions that the patterns match.
    pub(super) fn leave_out(&mut self, patterns: &[Pattern]) {
        self.0
            .retain(|function| !patterns.iter().any(|pattern| pattern.matches(function)));
    }
}

impl Function {
    fn of_line(line: &str) -> Option<Function> {
        let (before, section) = line.split_once(":(.text.")?;
        let section = section.strip_suffix(')')?;
        let mut words = before.split_whitespace().skip(2);
        let bytes = u64::from_str_radix(words.next()?, 16).ok()?;
        let file = words.nth(1)?.rsplit_once('/')?.1;
        let symbol = PREFIXES
            .iter()
            .find_map(|prefix| section.strip_prefix(prefix))
            .unwrap_or(section);
        let prefix = &section[..section.len() - symbol.len()];
        Some(Function {
            home: home(file)?.to_owned(),
            symbols: vec![symbol.to_owned()],
            path: pieces(prefix, symbol),
            bytes,
        })
    }
}

/// The crate of an object: `libNAME-HASH.rlib(…)`, or `canny-HASH.NAME-HASH.…` when it was optimized
/// with the others.
fn home(file: &str) -> Option<&str> {
    let (first, rest) = file.split_once('-')?;
    if let Some(name) = first.strip_prefix("lib") {
        return Some(name);
    }
    let inner = rest.split_once('.').map(|(_, object)| object);
    match inner.and_then(|object| object.split_once('-')) {
        Some((name, _)) if !name.contains('.') => Some(name),
        _ => Some(first),
    }
}

/// A section's name in pieces, with `*` for what depends on the compiler's version and on other crates.
fn pieces(prefix: &str, symbol: &str) -> Vec<String> {
    let Some(mut rest) = symbol.strip_prefix("_ZN") else {
        return vec![format!("{prefix}{}", without_hashes(symbol))];
    };
    let mut pieces = vec![format!("{prefix}_ZN")];
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let end = match rest[..digits].parse::<usize>() {
            Ok(length) if digits + length < rest.len() => digits + length,
            _ => break,
        };
        if rest.starts_with("17h") && rest[end..].starts_with('E') {
            rest = "";
            break;
        }
        pieces.push(rest[..end].to_owned());
        rest = &rest[end..];
    }
    pieces.push(if rest.is_empty() {
        "17h*".to_owned()
    } else {
        rest.to_owned()
    });
    pieces
}

/// A name of the newer kind has hashes of crates in it: `Cs`, digits and letters, `_`.
fn without_hashes(symbol: &str) -> String {
    let mut parts = symbol.split("Cs");
    let mut name = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        name.push_str("Cs");
        match part.split_once('_') {
            Some((hash, rest)) if hash.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                name.push_str("*_");
                name.push_str(rest);
            }
            _ => name.push_str(part),
        }
    }
    name
}

/// The symbols of the functions that ran, from callgrind's lines `fn=(NUMBER) NAME` and `cfn=(NUMBER) NAME`.
pub(super) fn ran(profile: &str) -> HashSet<&str> {
    profile.lines().filter_map(symbol_of_line).collect()
}

fn symbol_of_line(line: &str) -> Option<&str> {
    let line = line.strip_prefix('c').unwrap_or(line);
    let (_, name) = line.strip_prefix("fn=(")?.split_once(") ")?;
    // A function that calls itself is listed by the depth, too.
    Some(name.split_once('\'').map_or(name, |(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_map_is_a_function() {
        let line = "  1590fd0  1590fd0       22    16         /t/deps/libcanny_vm-d2.rlib(canny_vm-d2.7m.rcgu.o):\
                    (.text.unlikely._ZN3std3sys5begin17h2550ff1a26a09a4aE)";
        let function = Function::of_line(line).expect("it is one");
        assert_eq!(function.home, "canny_vm");
        assert_eq!(function.symbols, ["_ZN3std3sys5begin17h2550ff1a26a09a4aE"]);
        assert_eq!(
            function.path,
            ["unlikely._ZN", "3std", "3sys", "5begin", "17h*"]
        );
        assert_eq!(function.bytes, 0x22);
        assert!(Function::of_line("  2002e0  2002e0  1c  1  <internal>:(.interp)").is_none());
    }

    #[test]
    fn an_object_tells_its_crate() {
        assert_eq!(home("libgimli-a1.rlib(gimli-a1.x.rcgu.o)"), Some("gimli"));
        assert_eq!(
            home("canny-f5.gimli-a1.gimli.39-cgu.0.rcgu.o.rcgu.o"),
            Some("gimli")
        );
        assert_eq!(home("canny-f5.4ak0fx37.rcgu.o"), Some("canny"));
    }

    #[test]
    fn hashes_of_crates_are_left_open() {
        assert_eq!(
            without_hashes("_RNvNtCsgEmfK2_4core3fmt5write"),
            "_RNvNtCs*_4core3fmt5write"
        );
    }

    #[test]
    fn what_ran_is_named_without_its_depth() {
        let profile = "fn=(1) main\n12 3\ncfn=(2) _ZN1a1b17h0E'2\nfn=(1)\n";
        assert_eq!(ran(profile), HashSet::from(["main", "_ZN1a1b17h0E"]));
    }
}
