//! `cargo xtask protocols`: writes `lib/canny/machine/protocols.sld` from the rows in `crates/tables`.

use std::fs;

use canny_tables::protocols::library_source;

use crate::arguments::Arguments;
use crate::workspace;

const HELP: &str = "\
usage: cargo xtask protocols

Writes the library (canny machine protocols) from the rows in crates/tables/src/protocols. Run it after a \
change of these.
";

/// The library, relative to the root.
pub const LIBRARY: &str = "lib/canny/machine/protocols.sld";

pub fn run(arguments: &mut Arguments) -> Result<(), String> {
    if arguments.flag("--help") {
        print!("{HELP}");
        return Ok(());
    }
    arguments.finish()?;
    let path = workspace::root().join(LIBRARY);
    fs::write(&path, library_source()).map_err(|error| format!("{}: {error}", path.display()))
}
