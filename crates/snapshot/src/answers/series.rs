//! Answers about several snapshots: the list of them, a difference, and suspects.
//!
//! Snapshots of sums alone take part as far as sums go.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::objects::place_into;
use super::page;
use super::question::ROWS_MAX;
use super::session::Session;
use crate::analysis::{
    Amount, Compared, Difference, Matching, PathChange, Suspect, difference, difference_of_files,
    growing_paths, growing_places, growing_types, path_changes, summary_difference,
};
use crate::file::{Directory, TypeRow};

/// Types with a line in charts of growth.
const CHART_TYPES: usize = 12;
/// Snapshots whose paths are compared; of longer series some are chosen.
const PATH_SNAPSHOTS_MAX: usize = 12;

fn amount(amount: Amount) -> Value {
    json!({ "objects": amount.objects, "bytes": amount.bytes })
}

impl Session {
    pub(super) fn series_answer(&self) -> Value {
        let series = self.series();
        let info = series.info();
        let snapshots = series.snapshots().iter().enumerate().map(|(index, one)| {
            json!({
                "number": index + 1,
                "taken-as": one.number,
                "time": one.time,
                "reason": one.reason,
                "way": one.way,
                "stopped": one.stopped,
                "taken": one.taken,
                "previews": one.has_previews,
                "nodes": one.nodes,
                "edges": one.edges,
                "objects": one.objects,
                "bytes": one.bytes,
                "heap": one.heap,
                "outside": one.outside,
                "whole": series.is_whole(index),
                "graph": series.has_graph(index),
            })
        });
        json!({
            "program": info.program,
            "arguments": info.arguments,
            "pid": info.pid,
            "version": info.version,
            "started": info.started,
            "note": series.note(),
            "snapshots": snapshots.collect::<Vec<_>>(),
            "default": self.index(0).map_or(0, |index| index + 1),
            "types": self.chart_types(),
        })
    }

    /// The types that have most bytes in any snapshot, with sums in each.
    fn chart_types(&self) -> Vec<Value> {
        let snapshots = self.series().snapshots();
        let types = self.series().types();
        let mut sums: HashMap<&str, Vec<Amount>> = HashMap::new();
        for (index, directory) in snapshots.iter().enumerate() {
            for sum in &directory.summary {
                let title = types.get(sum.type_number as usize).map(|row| row.title());
                let row = sums
                    .entry(title.unwrap_or(""))
                    .or_insert_with(|| vec![Amount::default(); snapshots.len()]);
                row[index].objects += sum.objects;
                row[index].bytes += sum.bytes;
            }
        }
        let largest = |row: &[Amount]| row.iter().map(|one| one.bytes).max().unwrap_or(0);
        let mut sums: Vec<(&str, Vec<Amount>)> = sums.into_iter().collect();
        sums.sort_by(|one, other| {
            let by_bytes = largest(&other.1).cmp(&largest(&one.1));
            by_bytes.then(one.0.cmp(other.0))
        });
        let shown = sums.into_iter().take(CHART_TYPES);
        let answer = |(name, row): (&str, Vec<Amount>)| {
            let bytes: Vec<u64> = row.iter().map(|one| one.bytes).collect();
            let objects: Vec<u64> = row.iter().map(|one| one.objects).collect();
            json!({ "name": name, "bytes": bytes, "objects": objects })
        };
        shown.map(answer).collect()
    }

    /// The difference of two snapshots, of objects if both have them.
    pub fn difference(&self, before: usize, after: usize) -> Result<Difference, String> {
        let (first, last) = (self.index(before)?, self.index(after)?);
        let series = self.series();
        if !series.has_graph(first) || !series.has_graph(last) {
            let snapshots = series.snapshots();
            let (first, last) = (&snapshots[first], &snapshots[last]);
            return Ok(summary_difference(series.types(), first, last));
        }
        let (before, after) = (self.snapshot(before)?, self.snapshot(after)?);
        if first < last {
            self.follow(&[&before, &after])?;
        }
        Ok(difference(before.analysis(), after.analysis()))
    }

    /// The difference to a snapshot of another file: by type, and by path of the dominator tree if
    /// both have objects. Numbers of types are those of this file.
    pub fn difference_to(
        &self,
        before: usize,
        other: &Session,
        after: usize,
    ) -> Result<Difference, String> {
        let (first, last) = (self.index(before)?, other.index(after)?);
        let (old, new) = (self.series(), other.series());
        let programs = [old, new].map(|series| series.info().program.as_str());
        let matching = Matching::new(old.types(), new.types(), programs);
        let (before, after) = (&old.snapshots()[first], &new.snapshots()[last]);
        let mut found = difference_of_files(&matching, before, after);
        if old.has_graph(first) && new.has_graph(last) {
            let (before, after) = (self.snapshot(first + 1)?, other.snapshot(last + 1)?);
            found.paths = path_changes(before.analysis(), after.analysis(), &matching);
            found.compared = Compared::TypesAndPaths;
        }
        Ok(found)
    }

    pub(super) fn compare_answer(
        &self,
        before: usize,
        after: usize,
        first: usize,
        count: usize,
    ) -> Result<Value, String> {
        let found = self.difference(before, after)?;
        Ok(difference_answer(
            &found,
            self.series().types(),
            first,
            count,
        ))
    }

    /// Suspects by type and by path.
    pub fn suspects(&self) -> Result<(Vec<Suspect>, Vec<Suspect>), String> {
        let series = self.series();
        let mut whole: Vec<usize> = (0..series.snapshots().len())
            .filter(|index| series.is_whole(*index))
            .collect();
        let directories: Vec<Directory> = whole
            .iter()
            .map(|index| series.snapshots()[*index].clone())
            .collect();
        let types = growing_types(series.types(), &directories);
        whole.retain(|index| series.has_graph(*index));
        if whole.len() > PATH_SNAPSHOTS_MAX {
            let last = whole.len() - 1;
            let chosen = 0..PATH_SNAPSHOTS_MAX;
            let at = |place: usize| whole[place * last / (PATH_SNAPSHOTS_MAX - 1)];
            whole = chosen.map(at).collect();
        }
        let mut sums = Vec::new();
        if whole.len() > 1 {
            for index in whole {
                sums.push((*self.path_sums(index)?).clone());
            }
        }
        Ok((types, growing_paths(series.types(), &sums)))
    }

    /// Places whose sampled objects grew.
    pub fn suspect_places(&self) -> Vec<Suspect> {
        let series = self.series();
        let whole = (0..series.snapshots().len()).filter(|index| series.is_whole(*index));
        let directories: Vec<Directory> = whole
            .map(|index| series.snapshots()[index].clone())
            .collect();
        growing_places(&directories)
    }

    pub(super) fn growth_answer(&self, count: usize) -> Result<Value, String> {
        let (types, paths) = self.suspects()?;
        let title = |number: &u32| {
            let row = self.series().types().get(*number as usize);
            row.map(TypeRow::title_and_place)
        };
        let place = |number: &u32| {
            let row = self.series().types().get(*number as usize)?;
            let mut place = Map::new();
            place_into(&mut place, row.file.as_deref(), row.line);
            (!place.is_empty()).then_some(place)
        };
        let answer = |suspects: &[Suspect]| {
            let shown = page(suspects, 0, count.min(ROWS_MAX)).iter();
            let shown = shown.map(|one| {
                json!({
                    "path": one.names,
                    "titles": one.path.iter().map(title).collect::<Vec<_>>(),
                    "places": one.path.iter().map(place).collect::<Vec<_>>(),
                    "bytes": one.bytes,
                    "objects": one.objects,
                    "grown": one.grown,
                    "shrunk": one.shrunk,
                    "growth": one.growth,
                    "score": one.score,
                })
            });
            shown.collect::<Vec<_>>()
        };
        let places = self.suspect_places();
        Ok(json!({
            "types": answer(&types),
            "paths": answer(&paths),
            "places": answer(&places),
        }))
    }
}

fn path_answer(one: &PathChange) -> Value {
    json!({
        "path": one.names,
        "end": one.is_end,
        "before": amount(one.before),
        "after": amount(one.after),
        "growth": one.growth(),
    })
}

/// A difference as JSON, with the table of types that its numbers are about.
pub fn difference_answer(
    found: &Difference,
    types: &[TypeRow],
    first: usize,
    count: usize,
) -> Value {
    let shown = page(&found.changes, first, count.min(ROWS_MAX)).iter();
    let shown = shown.map(|one| {
        let row = one
            .type_number
            .and_then(|number| types.get(number as usize));
        let mut answer = json!({
            "name": one.name,
            "title": one.title,
            "before": amount(one.before),
            "after": amount(one.after),
            "new": amount(one.new),
            "gone": amount(one.gone),
            "growth": one.growth(),
        });
        if let (Some(row), Some(answer)) = (row, answer.as_object_mut()) {
            place_into(answer, row.file.as_deref(), row.line);
        }
        answer
    });
    let compared = match found.compared {
        Compared::Types => "types",
        Compared::Objects => "objects",
        Compared::TypesAndPaths => "types-and-paths",
    };
    let mut answer = json!({
        "rows": shown.collect::<Vec<_>>(),
        "count": found.changes.len(),
        "before": amount(found.before),
        "after": amount(found.after),
        "compared": compared,
        "followed": found.compared == Compared::Objects,
        "new": amount(found.new),
        "gone": amount(found.gone),
        "surviving": amount(found.surviving),
    });
    if found.compared == Compared::TypesAndPaths {
        let paths = page(&found.paths, 0, count.min(ROWS_MAX)).iter();
        answer["paths"] = paths.map(path_answer).collect();
    }
    answer
}
