//! Snapshots in formats of other tools.

use std::fs::File;
use std::io::{BufWriter, Write};

use canny_snapshot::answers::Session;
use canny_snapshot::export::{chrome, json_lines};

use super::wish::{FileWish, Format};

/// Writes the file; gives the line that says so.
pub fn export(session: &Session, wish: &FileWish, format: Format) -> Result<String, String> {
    let Some(path) = &wish.output else {
        return Err("there is no file to be written".to_owned());
    };
    let opened = session.snapshot(wish.snapshot)?;
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    let mut out = BufWriter::new(File::create(path).map_err(failed)?);
    let analysis = opened.analysis();
    let result = match format {
        Format::HeapSnapshot => chrome(analysis, &mut out),
        Format::JsonLines => json_lines(analysis, true, &mut out),
    };
    result.and_then(|()| out.flush()).map_err(failed)?;
    let bytes = path.metadata().map_or(0, |data| data.len());
    Ok(format!(
        "{} written to {}\n",
        canny_report::units::bytes(bytes),
        path.display()
    ))
}
