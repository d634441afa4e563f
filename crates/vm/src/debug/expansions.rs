//! Expansions of macros that people step into, in code that was compiled with their texts.
//!
//! The position of code that a macro inserted is the use of the macro. Beside that, an instruction has a
//! *chain*: its place in the text of the expansion, the place of that use in the expansion around it,
//! and so on. An expansion is *opened* by a client; those around it are open then, too. In opened
//! expansions a step goes by the innermost place that lies in one of them. Parts of the use that the macro
//! has moved keep their own places.

use canny_compiler::unit::{ExpandedUse, UnitSpan};
use canny_syntax::span::SourceId;

use super::frames::Origin;
use super::places::{Place, Places};
use crate::code::{CodeRef, UnitMetadata};
use crate::frames::Position;
use crate::thread::Thread;

/// Expansions within expansions that are looked at.
const DEPTH_MAX: usize = 10_000;

/// Names the expansion of one use of a macro.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExpansionId(pub(super) SourceId);

/// An expansion, and a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expanded {
    /// The expansion.
    pub id: ExpansionId,
    /// The macro's name.
    pub name: String,
    /// A place in the expansion's text, whose name is the file; or that of the use.
    pub position: Position,
}

/// A frame as people see it who have opened an expansion.
#[derive(Clone, Debug, Default)]
pub struct ExpansionView {
    /// Places in opened expansions, innermost first.
    pub places: Vec<Expanded>,
    /// The frame stands in a part of the use, which the macro has not made but moved.
    pub is_part: bool,
}

/// A place in an expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) id: SourceId,
    pub(super) span: UnitSpan,
    pub(super) line: u32,
}

/// An opened expansion.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    /// It, and those around it.
    ids: Vec<SourceId>,
    /// The use in the program.
    used: UnitSpan,
    /// The use in the expansion around it.
    inside: Option<UnitSpan>,
}

impl UnitMetadata {
    fn expansion(&self, source: u32) -> Option<&ExpandedUse> {
        self.sources.get(source as usize)?.expansion.as_deref()
    }

    /// A place in an expansion and those of the uses that led there, innermost first.
    fn chain(&self, place: Option<UnitSpan>) -> impl Iterator<Item = UnitSpan> {
        let next = |place: &UnitSpan| self.expansion(place.source)?.inside;
        std::iter::successors(place, next).take(DEPTH_MAX)
    }

    pub(super) fn links(&self, place: Option<UnitSpan>) -> Vec<Link> {
        let links = self.chain(place).filter_map(|span| {
            let source = self.sources.get(span.source as usize)?;
            let (line, _) = source.line_and_column(span.start)?;
            let id = source.id;
            Some(Link { id, span, line })
        });
        links.collect()
    }

    pub(super) fn opened(&self, id: ExpansionId) -> Option<Opened> {
        let source = self.sources.iter().position(|one| one.id == id.0)?;
        let expansion = self.expansion(source as u32)?;
        let outer = self.chain(expansion.inside);
        let outer = outer.map(|place| self.sources[place.source as usize].id);
        Some(Opened {
            ids: std::iter::once(id.0).chain(outer).collect(),
            used: expansion.used,
            inside: expansion.inside,
        })
    }

    /// Where the smallest part of a use that has some code is in the expansion.
    fn place_of_part(&self, id: SourceId, links: &[Link], written: UnitSpan) -> Option<UnitSpan> {
        let source = self.sources.iter().position(|one| one.id == id)?;
        let expansion = self.expansion(source as u32)?;
        let is_it = |part: &UnitSpan| {
            covers(*part, written) || links.iter().any(|link| covers(*part, link.span))
        };
        let parts = expansion.parts.iter().filter(|(part, _)| is_it(part));
        let smallest = parts.min_by_key(|(part, _)| part.end - part.start);
        smallest.map(|(_, place)| *place)
    }

    /// Where code with a chain and a position is in an opened expansion, and in those around it. A part of
    /// the use is where the macro has moved it.
    fn shown(&self, opened: &Opened, links: &[Link], written: UnitSpan) -> Vec<Link> {
        let is_part = !opened.has_made(links) && opened.has_part(links, written);
        let part = is_part.then(|| self.place_of_part(opened.ids[0], links, written));
        match part.flatten() {
            // The places around a part are those around the use.
            Some(part) => self.links(Some(part)),
            None => {
                let links = links.iter().copied();
                links.filter(|link| opened.has(link)).collect()
            }
        }
    }

    fn described(&self, link: &Link) -> Option<Expanded> {
        Some(Expanded {
            id: ExpansionId(link.id),
            name: self.expansion(link.span.source)?.keyword.clone(),
            position: self.position(link.span)?,
        })
    }
}

fn covers(whole: UnitSpan, part: UnitSpan) -> bool {
    whole.source == part.source && whole.start <= part.start && part.end <= whole.end
}

impl Opened {
    /// The expansion around it.
    pub(super) fn outer(&self) -> Option<Opened> {
        let (_, ids) = self.ids.split_first()?;
        let ids = ids.to_vec();
        let used = self.used;
        (!ids.is_empty()).then_some(Opened {
            ids,
            used,
            inside: None,
        })
    }

    pub(super) fn has(&self, link: &Link) -> bool {
        self.ids.contains(&link.id)
    }

    /// Whether the macro has made code with a chain.
    pub(super) fn has_made(&self, links: &[Link]) -> bool {
        links.iter().any(|link| link.id == self.ids[0])
    }

    /// Whether code with a chain and a position is a part of the use.
    pub(super) fn has_part(&self, links: &[Link], written: UnitSpan) -> bool {
        match (links.first(), self.inside) {
            (Some(link), Some(inside)) => covers(inside, link.span),
            _ => self.covers(written),
        }
    }

    fn covers(&self, written: UnitSpan) -> bool {
        covers(self.used, written)
    }
}

impl Thread {
    /// The unit of a frame, its position, and its place in an expansion.
    fn expanded_place(
        &self,
        frame: usize,
    ) -> Option<(std::sync::Arc<UnitMetadata>, UnitSpan, Option<UnitSpan>)> {
        let mut found = None;
        self.each_frame(Origin::Thread, false, &mut |physical, frames, first| {
            if frames.len() <= frame {
                return true;
            }
            if frame < first {
                return false;
            }
            let code = CodeRef::of_closure(physical.closure);
            let known = code.and_then(|code| Some((code, self.vm.metadata(code)?)));
            if let Some((code, (unit, index))) = known {
                let at = physical.index(code) as u32;
                let own = &unit.codes[index];
                let written = canny_compiler::unit::find_position(&own.positions, at);
                let before = own.expanded.partition_point(|(pc, _)| *pc <= at);
                let place = before.checked_sub(1).and_then(|last| own.expanded[last].1);
                found = written.map(|written| (unit.clone(), written, place));
            }
            false
        });
        found
    }

    /// A frame for people who have opened an expansion.
    pub(super) fn debug_expansion_view(&self, frame: usize, opened: ExpansionId) -> ExpansionView {
        let found = self.expanded_place(frame);
        let Some((unit, written, place)) = found else {
            return ExpansionView::default();
        };
        let Some(opened) = unit.opened(opened) else {
            return ExpansionView::default();
        };
        let links = unit.links(place);
        let is_part = !opened.has_made(&links) && opened.has_part(&links, written);
        let shown = unit.shown(&opened, &links, written);
        let places = shown.iter().filter_map(|link| unit.described(link));
        ExpansionView {
            is_part,
            places: places.collect(),
        }
    }

    /// Whether the newest frame stands in an expansion.
    pub(super) fn debug_is_in_expansion(&self, id: ExpansionId) -> bool {
        self.expanded_place(0)
            .is_some_and(|(unit, _, place)| unit.links(place).iter().any(|one| one.id == id.0))
    }

    /// The macro uses of the line at hand that have code still to come, and those around the place, with
    /// their positions. In an opened expansion the line is one of its text.
    pub(super) fn debug_expansions_ahead(&self, opened: Option<ExpansionId>) -> Vec<Expanded> {
        let Some(own) = self.own_code() else {
            return Vec::new();
        };
        let (unit, places) = (&own.unit, &own.places);
        let opened = opened.and_then(|id| unit.opened(id));
        let opened = opened.as_ref();
        let Some(written) = places.in_force(own.index) else {
            return Vec::new();
        };
        let shown = opened.and_then(|opened| {
            let shown = unit.shown(opened, places.links_at(own.index), written.span);
            shown.first().copied()
        });
        let (span, line) = match shown {
            Some(link) => (link.span, link.line),
            None => (written.span, written.line),
        };
        let mut found: Vec<Expanded> = Vec::new();
        let before = places.expanded.range(..=own.index).next_back();
        let first = before.map_or(0, |(index, _)| *index);
        for (index, links) in &places.expanded {
            let is_closed = |link: &&Link| opened.is_none_or(|opened| !opened.has(link));
            let Some(link) = links.iter().rev().find(is_closed) else {
                continue;
            };
            let Some(expansion) = unit.expansion(link.span.source) else {
                continue;
            };
            let on_line = places
                .viewed(*index, opened)
                .is_some_and(|place| (place.span.source, place.line) == (span.source, line));
            let used = match opened {
                Some(_) => expansion.inside.unwrap_or(expansion.used),
                None => expansion.used,
            };
            let is_around = covers(used, span);
            let is_known = found.iter().any(|one| one.id.0 == link.id);
            if is_known || !(is_around || on_line && *index >= first) {
                continue;
            }
            found.extend(unit.position(used).map(|position| Expanded {
                id: ExpansionId(link.id),
                name: expansion.keyword.clone(),
                position,
            }));
        }
        found
    }
}

impl Places {
    /// The place in force at an instruction, for people who have opened an expansion.
    pub(super) fn viewed(&self, index: u32, opened: Option<&Opened>) -> Option<Place> {
        let written = self.in_force(index)?;
        let link = opened.and_then(|opened| {
            let links = self.links_at(index).iter();
            links.copied().find(|link| opened.has(link))
        });
        Some(link.map_or(written, |link| Place {
            span: link.span,
            line: link.line,
            inlined: written.inlined,
        }))
    }

    /// The place of an instruction of its own, for the same people.
    pub(super) fn own_viewed(&self, index: u32, opened: Option<&Opened>) -> Option<Place> {
        let is_own = self.by_index.contains_key(&index)
            || opened.is_some() && self.expanded.contains_key(&index);
        is_own.then(|| self.viewed(index, opened)).flatten()
    }

    /// The chain in force at an instruction.
    pub(super) fn links_at(&self, index: u32) -> &[Link] {
        let mut before = self.expanded.range(..=index);
        before.next_back().map_or(&[], |(_, links)| links)
    }
}
