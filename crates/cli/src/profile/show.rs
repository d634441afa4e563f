//! Showing a profile: tables on the terminal, a page for the browser, and files for other tools.
//!
//! The text goes to standard error, since standard output is the program's. The formats and the ends of
//! names that say them are rows of one table.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use canny_profile::analysis::{
    Filter, Grain, Measure, Weights, allocation_sites, allocation_types, collection_causes,
    function_counts, functions_changed, top_down, totals, wait_places,
};
use canny_profile::model::Profile;
use canny_profile::text::{
    Style, allocation_sites_table, allocation_types_table, call_edges_table, changes_table,
    collections_table, counts_table, explain, explain_locks, flame_graph, functions_table,
    guests_tables, waits_table,
};
use canny_profile::{export, file, page};

use super::directory;
use crate::recording::{Format, Part, RecordingOptions};
use crate::table_style::table_style;

/// Rows of a table on the terminal.
const ROWS_MAX: usize = 15;
/// Least share of the whole that a row of the text's flame graph has.
const FLAME_SHARE_MIN: f64 = 0.01;
/// Least share of all allocated bytes that a row has.
const ALLOCATION_SHARE_MIN: f64 = 0.005;
/// Widest lines of a table.
const WIDTH_MAX: usize = 120;

/// The bytes of a file in the format.
fn bytes_in(format: Format, source: &[u8], profile: &Profile) -> Vec<u8> {
    let filter = Filter {
        is_async: true,
        ..Filter::default()
    };
    let weights = || Weights::new(profile, Measure::Cpu, &filter);
    match format {
        Format::Profile => source.to_vec(),
        Format::Html => page::page(source).into_bytes(),
        Format::Pprof => export::pprof(profile, true),
        Format::Speedscope => export::speedscope(profile, true).into_bytes(),
        Format::Firefox => export::firefox(profile, true).into_bytes(),
        Format::Chrome => export::chrome(profile, true).into_bytes(),
        Format::Collapsed => export::collapsed(&weights()).into_bytes(),
        Format::Callgrind => export::callgrind(&weights()).into_bytes(),
    }
}

/// A new file in the directory for temporary files that only the user can read. A file that somebody else
/// has put there under such a name is left alone.
pub fn temporary(extension: &str) -> Result<(File, PathBuf), String> {
    const ATTEMPTS: usize = 100;
    let process = std::process::id();
    let mut failure = None;
    for attempt in 0..ATTEMPTS {
        let name = match attempt {
            0 => format!("canny-profile-{process}.{extension}"),
            _ => format!("canny-profile-{process}-{attempt}.{extension}"),
        };
        let path = std::env::temp_dir().join(name);
        let mut options = File::options();
        match options.write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) => failure = Some(unwritable(&path, &error)),
        }
    }
    Err(failure.unwrap_or_default())
}

fn unwritable(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}

/// Whether a file is a profile, by its first bytes.
pub fn is_profile(path: &Path) -> bool {
    const GZIP: &[u8] = b"\x1f\x8b";
    let mut first = [0; 4096];
    // To look into a pipe would take what the program is.
    if !fs::metadata(path).is_ok_and(|data| data.is_file()) {
        return false;
    }
    let Ok(mut file) = File::open(path) else {
        return false;
    };
    let Ok(count) = file.read(&mut first) else {
        return false;
    };
    let first = &first[..count];
    let line = first.split(|byte| *byte == b'\n').next().unwrap_or(first);
    let has_key = || {
        let key = b"\"profile\"";
        line.windows(key.len()).any(|window| window == key)
    };
    first.starts_with(GZIP) || line.starts_with(b"{") && has_key()
}

/// Shows the profile of a file as the command line says.
pub fn show_file(path: &Path, wish: &RecordingOptions) -> Result<(), String> {
    let (bytes, profile) = read(path, wish.part)?;
    let base = match &wish.base {
        Some(base) => {
            let part = Part {
                last: wish.part.last,
                before: wish.base_before,
            };
            Some(read(base, part)?.1)
        }
        None => None,
    };
    // The program's output does not go there.
    let style = style(io::stderr().is_terminal());
    eprint!("{}", text(&profile, base.as_ref(), wish, &style));
    match (&wish.output, wish.format) {
        (Some(output), _) if output == path => println_path("profile", output),
        (Some(output), Some(format)) => {
            write(output, &bytes_in(format, &bytes, &profile))?;
            println_path("written", output);
        }
        _ if !wish.is_text_only => {
            let (mut file, output) = temporary("html")?;
            let page = bytes_in(Format::Html, &bytes, &profile);
            let written = file.write_all(&page);
            written.map_err(|error| unwritable(&output, &error))?;
            println_path("page", &output);
            open(&output);
        }
        _ => {}
    }
    Ok(())
}

fn println_path(what: &str, path: &Path) {
    eprintln!("{what}: {}", path.display());
}

fn read(path: &Path, part: Part) -> Result<(Vec<u8>, Profile), String> {
    if path.is_dir() {
        let profile = directory::read(path, part)?;
        // The memory takes all that is written to it.
        let bytes = file::write(Vec::new(), &profile).unwrap_or_default();
        return Ok((bytes, profile));
    }
    let bytes =
        fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let profile =
        file::read(&bytes).map_err(|error| format!("{} is no profile: {error}", path.display()))?;
    Ok((bytes, profile))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|error| unwritable(path, &error))
}

/// Tables about a profile.
fn text(
    profile: &Profile,
    base: Option<&Profile>,
    wish: &RecordingOptions,
    style: &Style,
) -> String {
    let filter = Filter::default();
    let weights = Weights::new(profile, Measure::Cpu, &filter);
    let mut parts = vec![summary(profile, &weights) + "\n"];
    if weights.total.count > 0 {
        let totals = totals(&weights, Grain::Function);
        parts.push(functions_table(&weights, &totals, style));
        let guests = guests_tables(&weights, style);
        if !guests.is_empty() {
            parts.push(guests);
        }
    }
    let counts = function_counts(profile);
    if !counts.is_empty() {
        parts.push(counts_table(profile, &counts, style));
        parts.push(call_edges_table(profile, &counts, style));
    }
    let waits = wait_places(profile, &filter);
    if !waits.is_empty() {
        parts.push(waits_table(profile, &waits, style));
    }
    if !profile.rows.allocations.is_empty() {
        parts.extend(allocation_tables(profile, &filter, style));
    }
    if wish.shows_flame_graph {
        let tree = top_down(&weights, Grain::Function);
        parts.push(flame_graph(&weights, &tree, FLAME_SHARE_MIN, style));
    }
    if wish.explains {
        parts.push(explain(&weights, style) + &explain_locks(profile, &waits, style));
    }
    if let Some(base) = base {
        let before = Weights::new(base, Measure::Cpu, &filter);
        let changes = functions_changed(&before, &weights);
        parts.push(changes_table(&changes, style));
    }
    parts.join("\n")
}

/// Tables about sampled objects, without the smallest rows.
fn allocation_tables(profile: &Profile, filter: &Filter, style: &Style) -> Vec<String> {
    let grain = Grain::Function;
    let all = profile.rows.allocations.iter();
    let whole: u64 = all.map(|row| row.weight_bytes).sum();
    let is_shown = |bytes: u64| bytes as f64 >= ALLOCATION_SHARE_MIN * whole as f64;
    let mut types = allocation_types(profile, filter, grain);
    types.retain(|row| is_shown(row.share.total.weight));
    let mut sites = allocation_sites(profile, filter, grain);
    sites.retain(|row| is_shown(row.share.total.weight));
    let mut causes = collection_causes(profile, filter, grain);
    causes.retain(|row| is_shown(row.allocated.weight));
    let mut parts = vec![
        allocation_types_table(profile, &types, style),
        allocation_sites_table(profile, &sites, style),
    ];
    if !causes.is_empty() {
        parts.push(collections_table(profile, &causes, style));
    }
    parts
}

fn style(is_terminal: bool) -> Style {
    table_style(is_terminal, WIDTH_MAX, ROWS_MAX)
}

/// Tables about the profile of an expression at the prompt.
pub fn prompt_text(bytes: &[u8]) -> Result<String, String> {
    let profile = file::read(bytes).map_err(|error| error.to_string())?;
    let wish = RecordingOptions {
        explains: !profile.rows.notes.is_empty(),
        ..RecordingOptions::default()
    };
    Ok(text(
        &profile,
        None,
        &wish,
        &style(io::stdout().is_terminal()),
    ))
}

/// One line about the run and about what the profile lacks.
fn summary(profile: &Profile, weights: &Weights) -> String {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let mut text = format!(
        "{}: {:.3} s, {:.3} s of processor time in {} samples",
        profile.header.program,
        seconds(profile.duration_ns()),
        seconds(weights.total.weight),
        weights.total.count
    );
    if profile.rows.tasks.len() > 2 {
        text.push_str(&format!(", {} tasks", profile.rows.tasks.len()));
    }
    if profile.lost > 0 {
        text.push_str(&format!("; {} samples were lost", profile.lost));
    }
    if profile.is_incomplete {
        text.push_str("; the profile is incomplete");
    }
    text
}

/// Opens a page in the browser, if somebody sits in front of this machine.
fn open(page: &Path) {
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    if !io::stderr().is_terminal() || !has_display {
        return;
    }
    // Without a browser the path was printed.
    let _ = Command::new("xdg-open")
        .arg(page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
}
