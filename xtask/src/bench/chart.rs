//! A bar chart of the ratios as SVG: one band per program, one bar per peer, on a logarithmic scale
//! around one. A bar to the left of the line means that canny is faster.

use super::measure::Table;
use crate::svg::{Anchor, COLOURS, LogAxis, Svg};

const LABEL_WIDTH: f64 = 130.0;
const PLOT_WIDTH: f64 = 640.0;
const BAR_HEIGHT: f64 = 7.0;
const GAP: f64 = 6.0;
const TOP: f64 = 70.0;
/// The axis reaches from 1/16 to 16; longer bars are cut there.
const AXIS_LIMIT: f64 = 16.0;

pub fn svg(table: &Table) -> String {
    let peers = table.engines.len() - 1;
    let band = peers as f64 * BAR_HEIGHT + GAP;
    let height = TOP + table.rows.len() as f64 * band + 20.0;
    let axis = LogAxis::new(
        (1.0 / AXIS_LIMIT, AXIS_LIMIT),
        (LABEL_WIDTH, LABEL_WIDTH + PLOT_WIDTH),
    );
    let mut svg = Svg::new(LABEL_WIDTH + PLOT_WIDTH + 40.0, height);
    svg.title("Canny's CPU time as a multiple of each peer's (left of 1: canny is faster)");
    for (index, engine) in table.engines[1..].iter().enumerate() {
        let x = 10.0 + index as f64 * 105.0;
        svg.legend((x, 28.0), COLOURS[index % COLOURS.len()], engine);
    }
    for power in -4i32..=4 {
        let x = axis.position(f64::from(power).exp2());
        let colour = if power == 0 { "#000000" } else { "#dddddd" };
        let label = if power < 0 {
            format!("1/{}", 1 << -power)
        } else {
            format!("{}", 1 << power)
        };
        svg.line((x, TOP - 6.0), (x, height - 10.0), colour);
        svg.text((x, TOP - 10.0), Anchor::Middle, &label);
    }
    for (number, row) in table.rows.iter().enumerate() {
        let top = TOP + number as f64 * band;
        let label = (LABEL_WIDTH - 6.0, top + band / 2.0 + 1.0);
        svg.text(label, Anchor::End, &row.program);
        for engine in 1..=peers {
            let Some(ratio) = table.ratio(row, engine) else {
                continue;
            };
            let (from, to) = (axis.position(ratio.min(1.0)), axis.position(ratio.max(1.0)));
            svg.bar(
                (from, top + (engine - 1) as f64 * BAR_HEIGHT),
                ((to - from).max(1.0), BAR_HEIGHT - 1.0),
                COLOURS[(engine - 1) % COLOURS.len()],
                &format!("{} / {}: {ratio:.2}", row.program, table.engines[engine]),
            );
        }
    }
    svg.finish()
}
