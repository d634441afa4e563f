//! A file that is being asked about, and the snapshots of it that are in memory.
//!
//! Two snapshots are kept, as a comparison needs two. Several threads may ask: one reads a
//! snapshot and the others wait for it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use canny_locks::Mutex;

use crate::analysis::{Analysis, Column, Grouping, PathSums, Row, identities};
use crate::file::Error;
use crate::heap::Series;

/// Snapshots in memory.
const OPENED_MAX: usize = 2;

/// A file of snapshots with answers.
pub struct Session {
    series: Series,
    /// The directory of the file.
    directory: Option<PathBuf>,
    slots: Mutex<Vec<(usize, Arc<Slot>)>>,
    /// Sums of paths of each snapshot, as far as they are known.
    sums: Vec<OnceLock<Result<Arc<PathSums>, String>>>,
}

/// A place for a snapshot that is opened once.
type Slot = OnceLock<Result<Arc<Opened>, String>>;

/// A snapshot in memory.
pub struct Opened {
    analysis: Analysis,
    /// By grouping, without and with retained bytes.
    rows: [OnceLock<Vec<Row>>; 2 * Grouping::COUNT],
    has_looked: OnceLock<()>,
}

impl Opened {
    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    /// Sums by group; they are kept.
    pub fn rows(&self, by: Grouping, with_retained: bool) -> &[Row] {
        let index = by as usize;
        if with_retained {
            return self.rows[index + Grouping::COUNT]
                .get_or_init(|| self.analysis.table(by, Column::Bytes));
        }
        self.rows[index].get_or_init(|| self.analysis.sums(by, Column::Bytes))
    }

    /// Whether there is such a node.
    pub fn check(&self, node: u32) -> Result<(), String> {
        let count = self.analysis.heap().len();
        if (node as usize) < count {
            return Ok(());
        }
        Err(format!(
            "there is no object {node}; the snapshot has objects 0 to {}",
            count.saturating_sub(1)
        ))
    }
}

impl Session {
    pub fn open(path: &Path) -> Result<Session, Error> {
        let mut session = Session::new(Series::open(path)?);
        session.directory = path.parent().map(Path::to_owned);
        Ok(session)
    }

    pub fn new(series: Series) -> Session {
        let count = series.snapshots().len();
        Session {
            series,
            directory: None,
            slots: Mutex::new(Vec::new()),
            sums: (0..count).map(|_| OnceLock::new()).collect(),
        }
    }

    pub fn series(&self) -> &Series {
        &self.series
    }

    /// The directory of the file, if it is one.
    pub(super) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The index of a snapshot by its number from 1; 0 is the last one with objects.
    pub fn index(&self, number: usize) -> Result<usize, String> {
        let count = self.series.snapshots().len();
        if number > count {
            return Err(Error::Missing { number, count }.to_string());
        }
        if let Some(index) = number.checked_sub(1) {
            return Ok(index);
        }
        // A snapshot without its end is the last choice.
        let with_graph = |index: &usize| self.series.has_graph(*index);
        let whole = |index: &usize| with_graph(index) && self.series.is_whole(*index);
        let found = (0..count).rev().find(whole);
        found
            .or_else(|| (0..count).rev().find(with_graph))
            .ok_or_else(|| match count {
                0 => "the file has no snapshot".to_owned(),
                _ => "the snapshots of this file have sums by type only, no objects".to_owned(),
            })
    }

    /// A snapshot by its number from 1; 0 is the last one with objects.
    pub fn snapshot(&self, number: usize) -> Result<Arc<Opened>, String> {
        let index = self.index(number)?;
        let slot = {
            let mut slots = self.slots.lock();
            let found = slots.iter().position(|one| one.0 == index);
            let slot = match found {
                Some(place) => slots.remove(place),
                None => (index, Arc::new(Slot::new())),
            };
            slots.push(slot.clone());
            if slots.len() > OPENED_MAX {
                slots.remove(0);
            }
            slot.1
        };
        slot.get_or_init(|| self.read(index)).clone()
    }

    fn read(&self, index: usize) -> Result<Arc<Opened>, String> {
        let heap = self.series.snapshot(index);
        let heap = heap.map_err(|error| error.to_string())?;
        Ok(Arc::new(Opened {
            analysis: Analysis::new(heap),
            rows: Default::default(),
            has_looked: OnceLock::new(),
        }))
    }

    /// Finds which objects of snapshots are the same, for those that do not have it yet.
    pub fn follow(&self, opened: &[&Opened]) -> Result<(), String> {
        let is_missing = |one: &&&Opened| one.has_looked.get().is_none();
        let mut missing: Vec<&Opened> = opened.iter().filter(is_missing).copied().collect();
        missing.sort_by_key(|one| one.analysis.heap().index());
        missing.dedup_by_key(|one| one.analysis.heap().index());
        let wanted: Vec<usize> = missing
            .iter()
            .map(|one| one.analysis.heap().index())
            .collect();
        if !wanted.is_empty() {
            let found = identities(&self.series, &wanted);
            let found = found.map_err(|error| error.to_string())?;
            for (one, ids) in missing.iter().zip(found) {
                // A damaged snapshot has other nodes than addresses.
                if ids.len()
                    == one
                        .rows(Grouping::Type, false)
                        .iter()
                        .map(objects)
                        .sum::<usize>()
                {
                    one.analysis.set_identities(ids);
                }
                let _ = one.has_looked.set(());
            }
        }
        Ok(())
    }

    /// Sums of the paths of a snapshot.
    pub fn path_sums(&self, index: usize) -> Result<Arc<PathSums>, String> {
        let find = || {
            let opened = self.snapshot(index + 1)?;
            Ok(Arc::new(PathSums::new(opened.analysis())))
        };
        self.sums[index].get_or_init(find).clone()
    }
}

fn objects(row: &Row) -> usize {
    row.objects as usize
}
