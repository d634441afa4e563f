//! Coverage: how often each line, branch and procedure of source files ran.
//!
//! A file of `lcov` ([`lcov`]) carries it from process to process and to other tools; [`html`] makes
//! pages with the sources. Files are named by absolute paths. The counts of several runs add up.

pub mod html;
pub mod lcov;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

/// A place where control goes one way or another. Both numbers tell the branches of a line apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Branch {
    /// From one.
    pub line: u32,
    /// The decision among those of the line.
    pub decision: u32,
    /// The way among those of the decision.
    pub arm: u32,
}

/// The counts of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileCoverage {
    /// Lines with code, from one, and how often control came to them.
    pub lines: BTreeMap<u32, u64>,
    pub branches: BTreeMap<Branch, u64>,
    /// Procedures by the lines of their definitions and their names.
    pub functions: BTreeMap<(u32, String), u64>,
}

/// The counts of all files, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    pub files: BTreeMap<String, FileCoverage>,
}

/// A number of things, and how many of them ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    pub found: u64,
    pub hit: u64,
}

impl Share {
    fn of<'a>(counts: impl Iterator<Item = &'a u64>) -> Share {
        let mut share = Share::default();
        for count in counts {
            share.found += 1;
            share.hit += u64::from(*count > 0);
        }
        share
    }

    /// In percent; nothing is all.
    pub fn percent(self) -> f64 {
        if self.found == 0 {
            return 100.0;
        }
        self.hit as f64 * 100.0 / self.found as f64
    }
}

impl std::ops::AddAssign for Share {
    fn add_assign(&mut self, other: Share) {
        self.found += other.found;
        self.hit += other.hit;
    }
}

/// The shares of a file or of all files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    pub lines: Share,
    pub branches: Share,
    pub functions: Share,
}

impl FileCoverage {
    pub fn shares(&self) -> Shares {
        Shares {
            lines: Share::of(self.lines.values()),
            branches: Share::of(self.branches.values()),
            functions: Share::of(self.functions.values()),
        }
    }

    fn add(&mut self, other: &FileCoverage) {
        add_all(&mut self.lines, &other.lines);
        add_all(&mut self.branches, &other.branches);
        add_all(&mut self.functions, &other.functions);
    }

    /// The branches of a line.
    pub fn branches_of(&self, line: u32) -> impl Iterator<Item = (&Branch, &u64)> {
        let at = |line, decision| Branch {
            line,
            decision,
            arm: 0,
        };
        self.branches.range(at(line, 0)..at(line + 1, 0))
    }
}

fn add_all<K: Ord + Clone>(to: &mut BTreeMap<K, u64>, from: &BTreeMap<K, u64>) {
    for (key, count) in from {
        let sum = to.entry(key.clone()).or_insert(0);
        *sum = sum.saturating_add(*count);
    }
}

impl Coverage {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Coverage) {
        for (path, file) in &other.files {
            self.files.entry(path.clone()).or_default().add(file);
        }
    }

    /// Keeps the files that the test holds for.
    pub fn retain(&mut self, mut is_wanted: impl FnMut(&Path) -> bool) {
        self.files.retain(|path, _| is_wanted(Path::new(path)));
    }

    pub fn shares(&self) -> Shares {
        let mut sum = Shares::default();
        for file in self.files.values() {
            let shares = file.shares();
            sum.lines += shares.lines;
            sum.branches += shares.branches;
            sum.functions += shares.functions;
        }
        sum
    }

    /// A table for people. Paths below `root` are shown without it.
    pub fn table(&self, root: &Path) -> String {
        const SHARE: usize = 8;
        const LINES_MAX: usize = 40;
        let cell = |share: Share| match share.found {
            0 => format!("{:>SHARE$}", "-"),
            _ => format!("{:>width$.1} %", share.percent(), width = SHARE - 2),
        };
        let row = |shares: Shares, name: &str| {
            let cells = [shares.lines, shares.branches, shares.functions].map(cell);
            format!("{}  {name}\n", cells.concat())
        };
        let mut text = format!(
            "{:>SHARE$}{:>SHARE$}{:>SHARE$}  file\n",
            "lines", "branch", "proc"
        );
        for (path, file) in &self.files {
            let mut name = canny_report::printable(shown_path(path, root));
            let missing = ranges(file);
            if !missing.is_empty() {
                let mut missing = missing;
                if missing.len() > LINES_MAX {
                    let end = missing[..LINES_MAX].rfind(' ').unwrap_or(0);
                    missing.truncate(end);
                    missing += " …";
                }
                name += &format!("  not run: {missing}");
            }
            text += &row(file.shares(), &name);
        }
        text + &row(self.shares(), "all")
    }
}

/// A path as it is shown.
pub fn shown_path<'p>(path: &'p str, root: &Path) -> &'p str {
    let inside = Path::new(path).strip_prefix(root).ok();
    inside.and_then(Path::to_str).unwrap_or(path)
}

/// The lines that did not run, as ranges.
fn ranges(file: &FileCoverage) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    let mut extends = false;
    for (line, count) in &file.lines {
        if *count > 0 {
            extends = false;
            continue;
        }
        match ranges.last_mut() {
            Some((_, last)) if extends => *last = *line,
            _ => ranges.push((*line, *line)),
        }
        extends = true;
    }
    let shown = ranges.iter().map(|(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    });
    shown.collect::<Vec<_>>().join(", ")
}
