//! Draws charts as SVG: a few shapes, texts, and logarithmic axes.
//!
//! It knows nothing of measurements. Output depends only on its input, so that a chart changes only
//! with its figures. Texts are escaped.

use std::fmt::Write as _;

/// Colours of series, told apart also by people who see few colours.
pub const COLOURS: &[&str] = &[
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#222222",
];

/// Where a text stands relative to its point.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// A drawing, on white or on the ground of the reader's theme.
pub struct Svg {
    text: String,
}

impl Svg {
    pub fn new(width: f64, height: f64) -> Svg {
        Svg {
            text: format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
                 font-family=\"sans-serif\" font-size=\"11\">\n\
                 <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
            ),
        }
    }

    /// A drawing that is dark on white, or light on black where the reader prefers dark pages.
    pub fn in_both_themes(width: f64, height: f64) -> Svg {
        Svg {
            text: format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
                 font-family=\"sans-serif\" font-size=\"11\">\n\
                 <style>text {{ fill: #222222 }} .ground {{ fill: #ffffff }} \
                 @media (prefers-color-scheme: dark) {{ text {{ fill: #dddddd }} \
                 .ground {{ fill: #161616 }} }}</style>\n\
                 <rect width=\"100%\" height=\"100%\" class=\"ground\"/>\n"
            ),
        }
    }

    pub fn title(&mut self, content: &str) {
        self.element(&format!(
            "<text x=\"10\" y=\"18\" font-size=\"14\">{}</text>",
            escaped(content)
        ));
    }

    pub fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, content: &str) {
        self.element(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{}\">{}</text>",
            anchor.name(),
            escaped(content)
        ));
    }

    /// A text that ends at the point and rises towards it.
    pub fn slanted_text(&mut self, (x, y): (f64, f64), content: &str, hint: &str) {
        self.element(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\" transform=\"rotate(-60 {x:.1} {y:.1})\">\
             {}<title>{}</title></text>",
            escaped(content),
            escaped(hint)
        ));
    }

    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str) {
        self.element(&format!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>"
        ));
    }

    /// A line through the points; nothing if there are fewer than two.
    pub fn path(&mut self, points: &[(f64, f64)], colour: &str) {
        if points.len() < 2 {
            return;
        }
        let points: Vec<String> = points
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        self.element(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
            points.join(" ")
        ));
    }

    pub fn dot(&mut self, (x, y): (f64, f64), colour: &str, hint: &str) {
        self.element(&format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"><title>{}</title></circle>",
            escaped(hint)
        ));
    }

    /// A filled box; the hint is shown by a viewer that is pointed at it.
    pub fn bar(
        &mut self,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        colour: &str,
        hint: &str,
    ) {
        let title = match hint {
            "" => String::new(),
            hint => format!("<title>{}</title>", escaped(hint)),
        };
        self.element(&format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             fill=\"{colour}\">{title}</rect>"
        ));
    }

    /// A coloured box and its name.
    pub fn legend(&mut self, (x, y): (f64, f64), colour: &str, name: &str) {
        self.bar((x, y), (10.0, 10.0), colour, "");
        self.text((x + 14.0, y + 9.0), Anchor::Start, name);
    }

    pub fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }

    fn element(&mut self, element: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{element}");
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// A logarithmic axis from `low` at `start` to `high` at `end`; `end` may be the smaller coordinate, as it is
/// for axes that grow upwards.
#[derive(Clone, Copy, Debug)]
pub struct LogAxis {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl LogAxis {
    pub fn new((low, high): (f64, f64), (start, end): (f64, f64)) -> LogAxis {
        LogAxis {
            low,
            high,
            start,
            end,
        }
    }

    /// An axis for values between these, which begins and ends at a round number and is never empty.
    pub fn around((least, greatest): (f64, f64), (start, end): (f64, f64)) -> LogAxis {
        let low = round_numbers(least)
            .filter(|round| *round <= least)
            .fold(f64::MIN_POSITIVE, f64::max);
        let high = round_numbers(greatest)
            .filter(|round| *round >= greatest && *round > low)
            .fold(f64::MAX, f64::min);
        LogAxis::new((low, high), (start, end))
    }

    /// The coordinate of a value; values beyond an end are put there.
    pub fn position(&self, value: f64) -> f64 {
        let share =
            (value.clamp(self.low, self.high) / self.low).ln() / (self.high / self.low).ln();
        self.start + (self.end - self.start) * share
    }

    /// Round numbers from end to end: all 1, 2 and 5 times a power of ten, or powers of ten only where those
    /// would be too many.
    pub fn ticks(&self) -> Vec<f64> {
        const TICKS_MAX: usize = 10;
        let within = |tick: &f64| *tick >= self.low * 0.999 && *tick <= self.high * 1.001;
        let (first, last) = (decade(self.low), decade(self.high));
        let all = |steps: &'static [f64]| {
            (first..=last)
                .flat_map(move |power| steps.iter().map(move |step| step * 10f64.powi(power)))
                .filter(within)
                .collect::<Vec<f64>>()
        };
        let fine = all(&[1.0, 2.0, 5.0]);
        if fine.len() <= TICKS_MAX {
            fine
        } else {
            all(&[1.0])
        }
    }
}

fn decade(value: f64) -> i32 {
    (value.log10() + 1e-9).floor() as i32
}

/// Round numbers on both sides of a value.
fn round_numbers(value: f64) -> impl Iterator<Item = f64> {
    let power = decade(value);
    (power - 1..=power + 1)
        .flat_map(|power| [1.0, 2.0, 5.0].map(move |step| step * 10f64.powi(power)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ratios_are_equally_long() {
        let axis = LogAxis::new((1.0, 100.0), (0.0, 200.0));
        assert!((axis.position(10.0) - 100.0).abs() < 1e-9);
        assert!((axis.position(2.0) - axis.position(1.0) - 30.1).abs() < 0.1);
        assert_eq!(axis.position(0.01), 0.0);
        assert_eq!(axis.position(1e9), 200.0);
    }

    #[test]
    fn axes_may_grow_upwards() {
        let axis = LogAxis::new((1.0, 10.0), (300.0, 100.0));
        assert_eq!(axis.position(1.0), 300.0);
        assert_eq!(axis.position(10.0), 100.0);
    }

    #[test]
    fn axes_end_at_round_numbers() {
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        let axis = LogAxis::around((0.031, 47.0), (0.0, 1.0));
        assert!(close(axis.low, 0.02) && close(axis.high, 50.0), "{axis:?}");
        let axis = LogAxis::around((1.0, 1.0), (0.0, 1.0));
        assert!(close(axis.low, 1.0) && close(axis.high, 2.0), "{axis:?}");
    }

    #[test]
    fn ticks_are_few_and_round() {
        let near = |ticks: Vec<f64>, wanted: &[f64]| {
            ticks.len() == wanted.len()
                && ticks
                    .iter()
                    .zip(wanted)
                    .all(|(a, b)| (a / b - 1.0).abs() < 1e-9)
        };
        let ticks = |low, high| LogAxis::new((low, high), (0.0, 1.0)).ticks();
        assert!(near(ticks(0.5, 5.0), &[0.5, 1.0, 2.0, 5.0]));
        assert!(near(ticks(1e-3, 10.0), &[1e-3, 1e-2, 1e-1, 1.0, 10.0]));
    }

    #[test]
    fn texts_are_escaped() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.text((1.0, 2.0), Anchor::Middle, "a < b & c");
        assert!(svg.finish().contains("a &lt; b &amp; c"));
    }
}
