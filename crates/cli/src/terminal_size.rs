//! The size of the terminal.

use rustix::termios::tcgetwinsize;

/// Columns and rows of the window.
pub fn terminal_size() -> (usize, usize) {
    match tcgetwinsize(rustix::stdio::stdout()) {
        Ok(size) if size.ws_col > 0 => {
            let rows = if size.ws_row > 0 { size.ws_row } else { 24 };
            (size.ws_col.into(), rows.into())
        }
        _ => (80, 24),
    }
}
