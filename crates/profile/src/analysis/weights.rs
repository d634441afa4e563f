//! The costs of one measure on each stack, alone and with all stacks on top of it.
//!
//! Stacks form a forest, whose roots are the oldest frames. A stack whose older frames belong to
//! the starter of its task is a root too, unless the filter wants them. Parents have smaller
//! numbers, so one pass from the last row to the first adds the costs up.

use std::collections::HashSet;

use super::collections::collector_time;
use super::filter::{Filter, Selection};
use super::{Cost, Grain, Place};
use crate::model::{Frame, Profile, StackIndex, StackKind};

/// The costs that are added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Processor time.
    #[default]
    Cpu,
    /// Time that tasks waited, until they were runnable.
    Waiting,
    /// All allocated bytes.
    Allocated,
    /// Allocated bytes of objects that were not found dead.
    Live,
    /// Time of the collector, shared out among the allocations that made it run.
    Collector,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Nanoseconds,
    Bytes,
}

impl Measure {
    pub fn unit(self) -> Unit {
        match self {
            Measure::Cpu | Measure::Waiting | Measure::Collector => Unit::Nanoseconds,
            Measure::Allocated | Measure::Live => Unit::Bytes,
        }
    }
}

/// The selected costs of a profile.
#[derive(Debug)]
pub struct Weights<'profile> {
    pub profile: &'profile Profile,
    pub measure: Measure,
    /// The sum of all.
    pub total: Cost,
    /// The costs of rows without a stack.
    pub unknown: Cost,
    is_async: bool,
    own: Vec<Cost>,
    inclusive: Vec<Cost>,
    roots: Vec<StackIndex>,
    /// Where the children of each stack begin and end in `children`.
    starts: Vec<u32>,
    children: Vec<StackIndex>,
}

/// A step of the walk over all stacks with a cost.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Visit {
    Enter(StackIndex),
    Leave(StackIndex),
}

impl<'profile> Weights<'profile> {
    pub fn new(profile: &'profile Profile, measure: Measure, filter: &Filter) -> Self {
        let mut weights = Weights {
            profile,
            measure,
            total: Cost::default(),
            unknown: Cost::default(),
            is_async: filter.is_async,
            own: vec![Cost::default(); profile.rows.stacks.len()],
            inclusive: Vec::new(),
            roots: Vec::new(),
            starts: Vec::new(),
            children: Vec::new(),
        };
        weights.add_rows(&Selection::new(profile, filter));
        weights.add_up();
        weights.link();
        weights
    }

    fn add(&mut self, stack: Option<StackIndex>, weight: u64) {
        self.add_cost(stack, Cost::new(weight));
    }

    fn add_cost(&mut self, stack: Option<StackIndex>, cost: Cost) {
        self.total += cost;
        match stack.and_then(|stack| self.own.get_mut(stack.row())) {
            Some(own) => *own += cost,
            None => self.unknown += cost,
        }
    }

    fn add_rows(&mut self, selection: &Selection) {
        let profile = self.profile;
        let rows = &profile.rows;
        match self.measure {
            Measure::Cpu => {
                for row in &rows.samples {
                    if selection.admits(row.task, Some(row.thread), row.label)
                        && selection.admits_time(row.at_ns)
                    {
                        self.add(row.stack, row.weight_ns);
                    }
                }
            }
            Measure::Waiting => {
                for row in &rows.waits {
                    let part = selection.part_ns(row.from_ns, row.ready_ns);
                    if part > 0 && selection.admits(row.task, None, row.label) {
                        let cost = Cost {
                            weight: row.weighted(part),
                            count: row.weight,
                        };
                        self.add_cost(row.stack, cost);
                    }
                }
            }
            Measure::Allocated | Measure::Live => {
                let freed: HashSet<u64> = match self.measure {
                    Measure::Live => rows.freed.iter().copied().collect(),
                    _ => HashSet::new(),
                };
                for row in &rows.allocations {
                    if selection.admits(row.task, Some(row.thread), row.label)
                        && selection.admits_time(row.at_ns)
                        && !freed.contains(&row.id)
                    {
                        self.add(row.stack, row.weight_bytes);
                    }
                }
            }
            Measure::Collector => {
                for (stack, time_ns) in collector_time(profile, selection) {
                    self.add(stack, time_ns);
                }
            }
        }
    }

    fn add_up(&mut self) {
        self.inclusive = self.own.clone();
        for row in (0..self.inclusive.len()).rev() {
            let cost = self.inclusive[row];
            if let Some(parent) = self.parent(StackIndex::new(row)) {
                self.inclusive[parent.row()] += cost;
            }
        }
    }

    /// Lists the children of each stack, those with a cost only.
    fn link(&mut self) {
        let rows = self.inclusive.len();
        let used = self.inclusive.iter().enumerate();
        let used: Vec<StackIndex> = used
            .filter(|(_, cost)| cost.count > 0)
            .map(|(row, _)| StackIndex::new(row))
            .collect();
        let mut starts = vec![0_u32; rows + 1];
        for stack in &used {
            match self.parent(*stack) {
                Some(parent) => starts[parent.row() + 1] += 1,
                None => self.roots.push(*stack),
            }
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut free = starts.clone();
        let count = starts.last().copied().unwrap_or(0);
        self.children = vec![StackIndex::default(); count as usize];
        for stack in &used {
            if let Some(parent) = self.parent(*stack) {
                self.children[free[parent.row()] as usize] = *stack;
                free[parent.row()] += 1;
            }
        }
        self.starts = starts;
    }

    /// The stack below a stack, as far as the filter follows it.
    pub(crate) fn parent(&self, stack: StackIndex) -> Option<StackIndex> {
        let row = self.profile.rows.stacks.get(stack.row())?;
        match row.kind {
            StackKind::Started if !self.is_async => None,
            _ => row.parent.filter(|parent| *parent < stack),
        }
    }

    /// The cost of exactly this stack.
    pub fn own(&self, stack: StackIndex) -> Cost {
        self.own.get(stack.row()).copied().unwrap_or_default()
    }

    /// The cost of this stack and of all on top of it.
    pub fn inclusive(&self, stack: StackIndex) -> Cost {
        self.inclusive.get(stack.row()).copied().unwrap_or_default()
    }

    /// The stacks with a cost of their own, in order of their rows.
    pub fn stacks(&self) -> impl Iterator<Item = (StackIndex, Cost)> {
        let own = self.own.iter().enumerate();
        own.filter(|(_, cost)| cost.count > 0)
            .map(|(row, cost)| (StackIndex::new(row), *cost))
    }

    /// The places of a stack, newest first.
    pub fn places(&self, stack: StackIndex, grain: Grain) -> impl Iterator<Item = Place> {
        let walk = self.profile.walk(Some(stack), self.is_async);
        walk.map(move |step| Place::of(step.frame, grain))
    }

    pub(crate) fn kind(&self, stack: StackIndex) -> StackKind {
        let row = self.profile.rows.stacks.get(stack.row());
        row.map_or(StackKind::Plain, |row| row.kind)
    }

    pub(crate) fn frame(&self, stack: StackIndex) -> Frame {
        let row = self.profile.rows.stacks.get(stack.row());
        self.profile.frame(row.copied().unwrap_or_default().frame)
    }

    pub(crate) fn place(&self, stack: StackIndex, grain: Grain) -> Place {
        Place::of(self.frame(stack), grain)
    }

    /// Visits all stacks with a cost, each between entering and leaving its parent.
    pub(crate) fn visit(&self, mut visitor: impl FnMut(Visit)) {
        let mut pending: Vec<Visit> = Vec::new();
        for root in &self.roots {
            pending.push(Visit::Enter(*root));
            while let Some(visit) = pending.pop() {
                visitor(visit);
                if let Visit::Enter(stack) = visit {
                    pending.push(Visit::Leave(stack));
                    let range = self.starts[stack.row()]..self.starts[stack.row() + 1];
                    let children = &self.children[range.start as usize..range.end as usize];
                    pending.extend(children.iter().rev().map(|child| Visit::Enter(*child)));
                }
            }
        }
    }
}
