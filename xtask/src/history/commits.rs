//! Resolves revisions and ranges of commits with git.
//!
//! A range includes both ends and is oldest first. Git runs in the working tree and only reads.

use std::process::Command;

use crate::workspace;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// In full.
    pub hash: String,
    pub subject: String,
}

impl Commit {
    pub fn short(&self) -> &str {
        short(&self.hash)
    }
}

/// As much of a hash as people read.
pub fn short(hash: &str) -> &str {
    hash.get(..7).unwrap_or(hash)
}

/// Runs git in the working tree and gives what it prints.
pub fn git(words: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .args(words)
        .current_dir(workspace::root())
        .output()
        .map_err(|error| format!("git does not start: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(format!("git {}: {}", words[0], errors.trim()))
    }
}

/// The full hash of a commit.
pub fn resolve(revision: &str) -> Result<String, String> {
    let wanted = format!("{revision}^{{commit}}");
    let hash = git(&["rev-parse", "--verify", "--quiet", &wanted])
        .map_err(|_| format!("there is no commit `{revision}`"))?;
    Ok(hash.trim().to_owned())
}

fn commit(revision: &str) -> Result<Commit, String> {
    let hash = resolve(revision)?;
    let log = git(&["log", "--max-count=1", "--format=%H %s", &hash])?;
    parse_log(&log)
        .pop()
        .ok_or_else(|| format!("there is no commit `{revision}`"))
}

fn parse_log(log: &str) -> Vec<Commit> {
    log.lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(hash, subject)| Commit {
            hash: hash.to_owned(),
            subject: subject.to_owned(),
        })
        .collect()
}

/// The two ends of `REV..REV`; one revision alone is both.
fn ends(range: &str) -> Result<(&str, &str), String> {
    match range.split_once("..") {
        None => Ok((range, range)),
        Some((_, end)) if end.starts_with('.') => {
            Err(format!("`{range}`: REV..REV with two points"))
        }
        Some((first, last)) if first.is_empty() || last.is_empty() => {
            Err(format!("`{range}`: both ends are needed"))
        }
        Some(ends) => Ok(ends),
    }
}

/// The commits of a range, oldest first, both ends included: the first one is what the others are
/// compared with.
pub fn range(range: &str) -> Result<Vec<Commit>, String> {
    let (first, last) = ends(range)?;
    let mut commits = vec![commit(first)?];
    if first != last {
        let between = format!("{}..{}", commits[0].hash, resolve(last)?);
        let log = git(&[
            "log",
            "--reverse",
            "--first-parent",
            "--format=%H %s",
            &between,
        ])?;
        commits.extend(parse_log(&log));
    }
    Ok(commits)
}

/// The commits of a list with commas, in its order.
pub fn listed(list: &str) -> Result<Vec<Commit>, String> {
    let revisions = list.split(',').map(str::trim);
    revisions
        .filter(|revision| !revision.is_empty())
        .map(commit)
        .collect()
}

/// Every so manieth commit, and the last.
pub fn thinned(commits: Vec<Commit>, every: usize) -> Vec<Commit> {
    let last = commits.len().saturating_sub(1);
    commits
        .into_iter()
        .enumerate()
        .filter(|(index, _)| index % every == 0 || *index == last)
        .map(|(_, commit)| commit)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_two_ends() {
        assert_eq!(ends("v1..main"), Ok(("v1", "main")));
        assert_eq!(ends("abc^..HEAD~2"), Ok(("abc^", "HEAD~2")));
        assert_eq!(ends("main"), Ok(("main", "main")));
        for wrong in ["..main", "main..", "a...b"] {
            assert!(ends(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_log_is_hashes_and_subjects() {
        let commits = parse_log("aaaa First: a thing\nbbbb Second\n");
        assert_eq!(commits.len(), 2);
        assert_eq!(commits[0].hash, "aaaa");
        assert_eq!(commits[0].subject, "First: a thing");
    }

    #[test]
    fn thinning_keeps_both_ends() {
        let commits: Vec<Commit> = (0..8)
            .map(|number| Commit {
                hash: number.to_string(),
                subject: String::new(),
            })
            .collect();
        let hashes = |every| {
            thinned(commits.clone(), every)
                .into_iter()
                .map(|commit| commit.hash)
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(hashes(1), "0 1 2 3 4 5 6 7");
        assert_eq!(hashes(3), "0 3 6 7");
        assert_eq!(hashes(100), "0 7");
        assert_eq!(thinned(Vec::new(), 2), Vec::new());
    }

    #[test]
    fn hashes_are_shortened() {
        assert_eq!(short("0123456789abcdef"), "0123456");
        assert_eq!(short("01"), "01");
    }
}
