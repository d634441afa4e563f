//! How tables about profiles and heap snapshots look on a stream.

use canny_report::Style;

use crate::terminal_size::terminal_size;

const WIDTH_MIN: usize = 60;

/// The style of a stream that is a terminal or not.
pub fn table_style(is_terminal: bool, width_max: usize, rows_max: usize) -> Style {
    let has_colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let width = if is_terminal {
        terminal_size().0
    } else {
        width_max
    };
    Style {
        width: width.clamp(WIDTH_MIN, width_max),
        is_coloured: is_terminal && has_colour,
        rows_max,
    }
}
