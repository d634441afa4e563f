//! Tables of allocated bytes and of the collector's causes.
//!
//! Shares are of all allocated bytes that are shown; the column `live` has the bytes of objects
//! that were not found dead.

use canny_report::units::{bytes, milliseconds};
use canny_report::{Colour, Style, fit, right};

use super::table::place_cells;
use crate::analysis::{AllocationSite, AllocationType, CollectionCause, Cost, Share};
use crate::model::Profile;

const SHARE: usize = 8;
const AMOUNT: usize = 9;
const NUMBER: usize = 9;
/// Lines below each row.
const DETAILS_MAX: usize = 3;

fn whole(shares: impl Iterator<Item = Share>) -> Cost {
    let mut sum = Cost::default();
    for share in shares {
        sum += share.total;
    }
    sum
}

fn title(style: &Style, what: &str) -> String {
    let title = format!(
        "{}{}{}  {what}",
        right("share", SHARE),
        right("total", AMOUNT),
        right("live", AMOUNT)
    );
    style.paint(Colour::Bold, &title) + "\n"
}

fn share_cells(style: &Style, share: Share, whole: Cost) -> String {
    let cells = [
        format!(" {}", style.fraction(share.total.share_of(whole))),
        right(&bytes(share.total.weight), AMOUNT),
        right(&bytes(share.live.weight), AMOUNT),
    ];
    cells.concat()
}

/// For each type who allocates it.
pub fn allocation_types_table(
    profile: &Profile,
    types: &[AllocationType],
    style: &Style,
) -> String {
    let whole = whole(types.iter().map(|one| one.share));
    let used = SHARE + 2 * AMOUNT + 4;
    let mut text = title(style, "type, and who allocates it");
    for one in types.iter().take(style.rows_max) {
        let name = fit(
            profile.string(one.type_name),
            style.width.saturating_sub(used),
        );
        text += &format!(
            "{}  {}\n",
            share_cells(style, one.share, whole),
            name.trim_end()
        );
        for (place, share) in one.sites.iter().take(DETAILS_MAX) {
            let cells = share_cells(style, *share, whole);
            text += &format!("{cells}    {}\n", place_cells(style, profile, *place, used));
        }
    }
    text
}

/// For each place what it allocates, and why the allocations were not removed.
pub fn allocation_sites_table(
    profile: &Profile,
    sites: &[AllocationSite],
    style: &Style,
) -> String {
    let whole = whole(sites.iter().map(|one| one.share));
    let used = SHARE + 2 * AMOUNT + 4;
    let rest = style.width.saturating_sub(used);
    let mut text = title(style, "function, and what it allocates");
    for one in sites.iter().take(style.rows_max) {
        let cells = share_cells(style, one.share, whole);
        text += &format!(
            "{cells}  {}\n",
            place_cells(style, profile, one.place, used)
        );
        for (type_name, share) in one.types.iter().take(DETAILS_MAX) {
            let name = fit(profile.string(*type_name), rest);
            text += &format!(
                "{}    {}\n",
                share_cells(style, *share, whole),
                name.trim_end()
            );
        }
        for (reason, cost) in one.reasons.iter().take(DETAILS_MAX) {
            let cells = format!(" {}", style.fraction(cost.share_of(whole)));
            let reason = fit(&format!("since {}", profile.string(*reason)), rest);
            let gap = " ".repeat(2 * AMOUNT + 4);
            text += &format!("{cells}{gap}{}\n", reason.trim_end());
        }
    }
    text
}

/// The places that made the collector run.
pub fn collections_table(profile: &Profile, causes: &[CollectionCause], style: &Style) -> String {
    let mut whole = Cost::default();
    for one in causes {
        whole += one.allocated;
    }
    let title = format!(
        "{}{}{}{}  function",
        right("share", SHARE),
        right("bytes", AMOUNT),
        right("runs", NUMBER),
        right("collector", AMOUNT + 2)
    );
    let used = SHARE + 2 * AMOUNT + NUMBER + 4;
    let mut text = style.paint(Colour::Bold, &title) + "\n";
    for one in causes.iter().take(style.rows_max) {
        let cells = [
            format!(" {}", style.fraction(one.allocated.share_of(whole))),
            right(&bytes(one.allocated.weight), AMOUNT),
            right(&one.collections.to_string(), NUMBER),
            right(&milliseconds(one.collector_ns), AMOUNT + 2),
            "  ".to_owned(),
            place_cells(style, profile, one.place, used),
        ];
        text += &(cells.concat() + "\n");
    }
    text
}
