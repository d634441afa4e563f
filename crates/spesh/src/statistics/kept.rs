//! Statistics as they are kept for the next start of a program, and their return.
//!
//! Counts of a code are divided so that they weigh no more than a log or two: what a run sees itself
//! outweighs what earlier ones saw. A count of one stays, since code that was never seen is taken
//! for cold.

use super::{
    CallsiteStatistics, CodeStatistics, Histogram, LoopStatistics, SiteStatistics, Sites,
    Statistics, TUPLES_MAX, TupleStatistics,
};
use crate::code_map::CodeMap;
use crate::kept::{
    CODES_MAX, Classes, KeptCallsite, KeptCounts, KeptLoop, KeptProfile, KeptSite, KeptStatistics,
    KeptTuple, Resolved, ResolvedCode,
};
use crate::log::TypeTuple;
use crate::snapshot::CodeWord;
use crate::types::Type;
use canny_tables::layout::log::{ARGUMENTS_MAX, LOOP_REGISTERS_MAX};

/// Calls and iterations of a code, as they are kept.
const HITS_MAX: u32 = 4096;
/// Entries of logs about all codes, as they are kept.
const EVENTS_MAX: u64 = 1 << 16;
/// Entries of logs about a code that make it worth keeping.
const EVENTS_MIN: u64 = 16;
/// Callsites of a code that are kept.
const CALLSITES_MAX: usize = 16;

/// Gives the row of a code, if it has a name.
type Rows<'a> = &'a mut dyn FnMut(CodeWord) -> Option<u32>;

/// Divides the counts of a code.
#[derive(Clone, Copy)]
struct Scale<'c> {
    divisor: u32,
    classes: &'c Classes,
}

impl Scale<'_> {
    fn count(self, count: u32) -> u32 {
        count.div_ceil(self.divisor)
    }

    fn types(self, types: &Histogram<Type>) -> KeptCounts {
        let counts = types.iter();
        KeptCounts {
            counts: counts
                .map(|(ty, count)| (self.classes.bits(*ty), self.count(*count)))
                .collect(),
            others: self.count(types.others()),
        }
    }

    fn callees(self, callees: &Histogram<CodeWord>, rows: Rows) -> KeptCounts {
        let mut kept = KeptCounts {
            counts: Vec::new(),
            others: self.count(callees.others()),
        };
        for (callee, count) in callees.iter() {
            let count = self.count(*count);
            match rows(*callee) {
                Some(row) => kept.counts.push((row, count)),
                None => kept.others = kept.others.saturating_add(count),
            }
        }
        kept
    }

    fn sites(self, of: &CodeStatistics, sites: &Sites, rows: Rows) -> Vec<KeptSite> {
        let mut kept: Vec<KeptSite> = sites
            .iter()
            .filter_map(|(address, site)| {
                Some(KeptSite {
                    pc: of.pc(*address)? as u32,
                    types: self.types(&site.types),
                    callees: self.callees(&site.callees, rows),
                })
            })
            .collect();
        kept.sort_by_key(|site| site.pc);
        kept
    }

    fn callsite(self, of: &CodeStatistics, site: &CallsiteStatistics, rows: Rows) -> KeptCallsite {
        let positions = usize::from(site.argument_count).min(ARGUMENTS_MAX);
        KeptCallsite {
            argument_count: site.argument_count,
            counts: [
                self.count(site.hits),
                self.count(site.loop_hits),
                site.depth_max,
            ],
            positions: site.positions[..positions]
                .iter()
                .map(|types| self.types(types))
                .collect(),
            tuples: site
                .tuples
                .iter()
                .map(|tuple| KeptTuple {
                    types: tuple
                        .types
                        .types()
                        .iter()
                        .map(|ty| self.classes.bits(*ty))
                        .collect(),
                    counts: [
                        self.count(tuple.hits),
                        self.count(tuple.loop_hits),
                        tuple.depth_max,
                    ],
                    sites: self.sites(of, &tuple.sites, rows),
                })
                .collect(),
        }
    }

    fn loops(self, of: &CodeStatistics) -> Vec<KeptLoop> {
        let loops = of.loops.iter();
        loops
            .filter_map(|(address, of_loop)| {
                let used = of_loop
                    .registers
                    .iter()
                    .rposition(|types| !types.is_empty());
                let registers = &of_loop.registers[..used.map_or(0, |last| last + 1)];
                Some(KeptLoop {
                    pc: of.pc(*address)? as u32,
                    hits: self.count(of_loop.hits),
                    registers: registers.iter().map(|types| self.types(types)).collect(),
                })
            })
            .collect()
    }
}

impl Statistics {
    /// Statistics of the hottest codes that `rows` has a row for, the hottest first. Those in `then`
    /// are kept as they were: what is logged of code in use afterwards is what is rare.
    pub fn kept(
        &self,
        then: &CodeMap<CodeStatistics>,
        classes: &Classes,
        rows: Rows,
    ) -> Vec<KeptStatistics> {
        let mut codes: Vec<(CodeWord, &CodeStatistics)> = self
            .codes()
            .filter(|(_, of)| of.extent.is_some())
            .filter(|(_, of)| of.is_planned || of.events >= EVENTS_MIN)
            .collect();
        codes.sort_by_key(|(code, of)| (std::cmp::Reverse(of.events), *code));
        let events_scale = self.events.div_ceil(EVENTS_MAX).max(1);
        let mut kept = Vec::new();
        for (code, of) in codes {
            if kept.len() == CODES_MAX {
                break;
            }
            let Some(row) = rows(code) else { continue };
            let events = u32::try_from(of.events.div_ceil(events_scale)).unwrap_or(u32::MAX);
            let of = then.get(&code).unwrap_or(of);
            let hits = of.hits.max(of.loop_hits);
            let scale = Scale {
                divisor: hits.div_ceil(HITS_MAX).max(1),
                classes,
            };
            kept.push(KeptStatistics {
                code: row,
                counts: [
                    scale.count(of.hits),
                    scale.count(of.loop_hits),
                    of.depth_max,
                ],
                events,
                loops: scale.loops(of),
                callsites: of
                    .callsites
                    .iter()
                    .take(CALLSITES_MAX)
                    .map(|site| scale.callsite(of, site, rows))
                    .collect(),
                sites: scale.sites(of, &of.sites, rows),
            });
        }
        kept
    }

    /// Takes in what was kept of code that this process has too and knows nothing of yet; gives the
    /// entries of logs about each.
    pub fn restore(&mut self, kept: &KeptProfile, rows: &Resolved) -> CodeMap<u64> {
        let mut events = CodeMap::default();
        for of in kept.statistics.iter().take(CODES_MAX) {
            if let Some(own) = rows.code(of.code)
                && !self.codes.contains_key(&own.word)
            {
                let restored = restored(of, &own, rows, self.version);
                self.events += restored.events;
                events.insert(own.word, restored.events);
                self.extents
                    .insert(own.start, (own.start + 4 * own.words as u64, own.word));
                self.codes.insert(own.word, restored);
            }
        }
        self.owners.clear();
        events
    }
}

fn restored(
    kept: &KeptStatistics,
    own: &ResolvedCode,
    rows: &Resolved,
    version: u32,
) -> CodeStatistics {
    let [hits, loop_hits, depth_max] = kept.counts;
    let mut statistics = CodeStatistics {
        hits,
        loop_hits,
        events: kept.events.into(),
        depth_max,
        sites: restored_sites(&kept.sites, own, rows),
        extent: Some((own.start, own.start + 4 * own.words as u64)),
        ..CodeStatistics::new(version)
    };
    for of in &kept.loops {
        if let Some(address) = own.address(of.pc) {
            let mut of_loop = LoopStatistics {
                hits: of.hits,
                ..LoopStatistics::default()
            };
            let registers = of.registers.iter().take(LOOP_REGISTERS_MAX);
            for (own, kept) in of_loop.registers.iter_mut().zip(registers) {
                *own = restored_types(kept, rows);
            }
            statistics.loops.insert(address, of_loop);
        }
    }
    for of in kept.callsites.iter().take(CALLSITES_MAX) {
        let [hits, loop_hits, depth_max] = of.counts;
        let mut callsite = CallsiteStatistics {
            hits,
            loop_hits,
            depth_max,
            ..CallsiteStatistics::new(of.argument_count)
        };
        for (own, kept) in callsite.positions.iter_mut().zip(&of.positions) {
            *own = restored_types(kept, rows);
        }
        for tuple in of.tuples.iter().take(TUPLES_MAX) {
            let types: Vec<Type> = tuple.types.iter().map(|bits| rows.ty(*bits)).collect();
            let [hits, loop_hits, depth_max] = tuple.counts;
            callsite.tuples.push(TupleStatistics {
                types: TypeTuple::of_call(of.argument_count, &types),
                hits,
                loop_hits,
                depth_max,
                sites: restored_sites(&tuple.sites, own, rows),
            });
        }
        statistics.callsites.push(callsite);
    }
    statistics
}

fn restored_types(kept: &KeptCounts, rows: &Resolved) -> Histogram<Type> {
    let counts = kept.counts.iter();
    Histogram::of_counts(
        counts.map(|(bits, count)| (rows.ty(*bits), *count)),
        kept.others,
    )
}

fn restored_sites(kept: &[KeptSite], own: &ResolvedCode, rows: &Resolved) -> Sites {
    let mut sites = Sites::default();
    for site in kept {
        let Some(address) = own.address(site.pc) else {
            continue;
        };
        let callees = site.callees.counts.iter();
        let known = callees
            .clone()
            .filter_map(|(row, count)| rows.code(*row).map(|callee| (callee.word, *count)));
        let unknown: u32 = callees
            .filter(|(row, _)| rows.code(*row).is_none())
            .fold(0, |sum, (_, count)| sum.saturating_add(*count));
        let others = site.callees.others.saturating_add(unknown);
        sites.insert(
            address,
            SiteStatistics {
                types: restored_types(&site.types, rows),
                callees: Histogram::of_counts(known, others),
                arguments: Histogram::default(),
            },
        );
    }
    sites
}
