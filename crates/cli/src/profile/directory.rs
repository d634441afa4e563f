//! Directories of profiles, as `canny run --profile-continuously` leaves them.

use std::fs;
use std::path::{Path, PathBuf};

use canny_profile::model::Profile;
use canny_profile::{file, sum};

use super::show;
use crate::recording::Part;

/// The sum of the profiles in a directory, or of a part of their time.
pub fn read(directory: &Path, part: Part) -> Result<Profile, String> {
    let shown = directory.display();
    let failed = |error| format!("cannot read {shown}: {error}");
    let entries = fs::read_dir(directory).map_err(failed)?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut profiles = Vec::new();
    let mut cause = None;
    for path in paths.iter().filter(|path| show::is_profile(path)) {
        // A file may be deleted meanwhile, and one of a killed process may be empty.
        let bytes = fs::read(path).unwrap_or_default();
        match file::read(&bytes) {
            Ok(profile) => profiles.push(profile),
            Err(error) => cause = Some(format!("{}: {error}", path.display())),
        }
    }
    let end_ns = profiles
        .iter()
        .map(|profile| sum::time_of(profile).end)
        .max();
    let Some(newest_ns) = end_ns else {
        return Err(match cause {
            Some(cause) => format!("{shown} has no readable profile; {cause}"),
            None => format!("there is no profile in {shown}"),
        });
    };
    let nanoseconds = |time: std::time::Duration| time.as_nanos() as u64;
    let start_ns = profiles
        .iter()
        .map(|profile| sum::time_of(profile).start)
        .min();
    // A row at the very end belongs to the range.
    let end_ns = match part.before {
        Some(before) => newest_ns.saturating_sub(nanoseconds(before)),
        None => newest_ns + 1,
    };
    let start_ns = match part.last {
        Some(last) => end_ns.saturating_sub(nanoseconds(last)),
        None => start_ns.unwrap_or(0).min(end_ns),
    };
    profiles.retain(|profile| {
        let time = sum::time_of(profile);
        time.start < end_ns && time.end >= start_ns
    });
    let start_ns = profiles
        .iter()
        .map(|profile| sum::time_of(profile).start)
        .min()
        .map_or(start_ns, |first| first.max(start_ns));
    sum::sum(&profiles, start_ns..end_ns)
        .ok_or_else(|| format!("no profile in {shown} is of that time"))
}
