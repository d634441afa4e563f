//! A bar chart of the ratios as SVG: one band per program, one bar per peer, on a logarithmic scale
//! around one. A bar to the left of the line means that canny is faster.

use std::fmt::Write as _;

use super::measure::Table;

const COLOURS: &[&str] = &[
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#222222",
];
const LABEL_WIDTH: f64 = 130.0;
const PLOT_WIDTH: f64 = 640.0;
const BAR_HEIGHT: f64 = 7.0;
const GAP: f64 = 6.0;
const TOP: f64 = 70.0;
/// The axis reaches from 1/16 to 16; longer bars are cut there.
const AXIS_LIMIT: f64 = 16.0;

fn x_of(ratio: f64) -> f64 {
    let position = (ratio.clamp(1.0 / AXIS_LIMIT, AXIS_LIMIT)).log2() / AXIS_LIMIT.log2();
    LABEL_WIDTH + PLOT_WIDTH * (1.0 + position) / 2.0
}

pub fn svg(table: &Table) -> String {
    let peers = table.engines.len() - 1;
    let band = peers as f64 * BAR_HEIGHT + GAP;
    let height = TOP + table.rows.len() as f64 * band + 20.0;
    let width = LABEL_WIDTH + PLOT_WIDTH + 40.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"10\" y=\"18\" font-size=\"14\">Canny's CPU time as a multiple of each peer's \
         (left of 1: canny is faster)</text>\n"
    );
    for (index, engine) in table.engines[1..].iter().enumerate() {
        let x = 10.0 + index as f64 * 105.0;
        let colour = COLOURS[index % COLOURS.len()];
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"28\" width=\"10\" height=\"10\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"37\">{engine}</text>",
            x + 14.0
        );
    }
    for power in -4i32..=4 {
        let ratio = f64::from(power).exp2();
        let x = x_of(ratio);
        let colour = if power == 0 { "#000000" } else { "#dddddd" };
        let label = if power < 0 {
            format!("1/{}", 1 << -power)
        } else {
            format!("{}", 1 << power)
        };
        let _ = writeln!(
            out,
            "<line x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{}\" stroke=\"{colour}\"/>\
             <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
            TOP - 6.0,
            height - 10.0,
            TOP - 10.0
        );
    }
    for (number, row) in table.rows.iter().enumerate() {
        let top = TOP + number as f64 * band;
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            LABEL_WIDTH - 6.0,
            top + band / 2.0 + 1.0,
            row.program
        );
        for engine in 1..=peers {
            let Some(ratio) = table.ratio(row, engine) else {
                continue;
            };
            let (from, to) = (x_of(ratio.min(1.0)), x_of(ratio.max(1.0)));
            let _ = writeln!(
                out,
                "<rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{}\" fill=\"{}\">\
                 <title>{} / {}: {ratio:.2}</title></rect>",
                top + (engine - 1) as f64 * BAR_HEIGHT,
                (to - from).max(1.0),
                BAR_HEIGHT - 1.0,
                COLOURS[(engine - 1) % COLOURS.len()],
                row.program,
                table.engines[engine]
            );
        }
    }
    out.push_str("</svg>\n");
    out
}
