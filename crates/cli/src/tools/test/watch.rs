//! `canny test --watch`: looks several times a second whether a file that a suite is made of has
//! changed, and runs again the suites that are made of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use super::suite::Setting;
use super::{Wishes, directories, find, round};

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(250);

/// Looks between two searches for new suites.
const LOOKS_PER_SEARCH: u32 = 8;

/// The state of a file: its length and the time of its last change; `None` if there is no file.
type State = Option<(u64, SystemTime)>;

fn state(file: &Path) -> State {
    let data = std::fs::metadata(file).ok()?;
    Some((data.len(), data.modified().ok()?))
}

/// The suites, and the files that each is made of.
struct Watched {
    suites: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
    states: BTreeMap<PathBuf, State>,
}

impl Watched {
    fn new() -> Watched {
        Watched {
            suites: BTreeMap::new(),
            states: BTreeMap::new(),
        }
    }

    /// Finds what there is; gives the suites that were not there before.
    fn search(&mut self, wishes: &Wishes) -> BTreeSet<PathBuf> {
        let found: BTreeSet<PathBuf> = find::suites(&wishes.places).suites.into_iter().collect();
        self.suites.retain(|suite, _| found.contains(suite));
        let new: BTreeSet<PathBuf> = found
            .into_iter()
            .filter(|suite| !self.suites.contains_key(suite))
            .collect();
        for suite in &new {
            self.look_into(wishes, suite);
        }
        new
    }

    /// Reads what a suite is made of.
    fn look_into(&mut self, wishes: &Wishes, suite: &Path) {
        let packages = crate::project::package_libraries(&wishes.options, suite);
        let files = find::dependencies(suite, &directories(wishes, suite), &packages);
        for file in &files {
            let now = state(file);
            self.states.entry(file.clone()).or_insert(now);
        }
        self.suites.insert(suite.to_owned(), files);
    }

    /// The suites that a change since the last look affects.
    fn affected(&mut self, wishes: &Wishes) -> BTreeSet<PathBuf> {
        let mut changed = BTreeSet::new();
        for (file, known) in &mut self.states {
            let now = state(file);
            if now != *known {
                *known = now;
                changed.insert(file.clone());
            }
        }
        let suites: BTreeSet<PathBuf> = self
            .suites
            .iter()
            .filter(|(_, files)| !files.is_disjoint(&changed))
            .map(|(suite, _)| suite.clone())
            .collect();
        for suite in &suites {
            self.look_into(wishes, suite);
        }
        suites
    }
}

/// Runs until Ctrl-C.
pub fn run(wishes: &Wishes, setting: &Setting, interrupted: &AtomicBool) -> u8 {
    let mut watched = Watched::new();
    let mut to_run = watched.search(wishes);
    let mut code = 0;
    let mut looks = 0;
    if to_run.is_empty() {
        eprintln!("canny test: there are no suites here yet");
    }
    while !interrupted.load(Ordering::Relaxed) {
        to_run.retain(|suite| suite.exists());
        if !to_run.is_empty() {
            let suites: Vec<PathBuf> = std::mem::take(&mut to_run).into_iter().collect();
            code = round(wishes, setting, &suites, interrupted);
            if !wishes.is_json && !interrupted.load(Ordering::Relaxed) {
                crate::print_all("waiting for changes; Ctrl-C ends\n");
            }
        }
        std::thread::sleep(LOOK);
        to_run = watched.affected(wishes);
        looks += 1;
        if looks % LOOKS_PER_SEARCH == 0 {
            to_run.extend(watched.search(wishes));
        }
    }
    // Ctrl-C is how it ends; the code is that of the last round.
    if code == crate::exit_code::INTERRUPTED {
        0
    } else {
        code
    }
}
