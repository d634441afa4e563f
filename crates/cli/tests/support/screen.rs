//! A terminal's screen as a model: the output of a program goes in, the rows that a person sees come out.
//!
//! It knows what the prompt and tools write: text that is wrapped at the window's edge, movements of
//! the cursor, erasing, dim text. When the window gets another width it breaks the lines anew that it
//! has wrapped itself, as most terminals do, or cuts rows off, as some do. Rows that went out at the
//! top stay.

use unicode_width::UnicodeWidthChar;

#[derive(Clone, Copy)]
struct Cell {
    /// Nothing for the second column of a wide character.
    character: Option<char>,
    is_dim: bool,
}

#[derive(Clone, Default)]
struct Row {
    cells: Vec<Cell>,
    /// The next row continues the line of this one.
    is_wrapped: bool,
}

enum State {
    Text,
    Escape,
    Sequence(String),
}

pub struct Screen {
    columns: usize,
    rows: usize,
    reflows: bool,
    lines: Vec<Row>,
    /// The first row that is seen.
    top: usize,
    /// The cursor's row, among all; its column is that of the window's width if the next character wraps.
    row: usize,
    column: usize,
    is_dim: bool,
    state: State,
    /// The start of a character.
    partial: Vec<u8>,
}

impl Screen {
    pub fn new(columns: usize, rows: usize, reflows: bool) -> Screen {
        Screen {
            columns,
            rows,
            reflows,
            lines: vec![Row::default()],
            top: 0,
            row: 0,
            column: 0,
            is_dim: false,
            state: State::Text,
            partial: Vec::new(),
        }
    }

    /// Takes the next bytes that the program wrote.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut bytes = [std::mem::take(&mut self.partial), bytes.to_vec()].concat();
        let valid = match std::str::from_utf8(&bytes) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => bytes.len(),
        };
        self.partial = bytes.split_off(valid);
        for character in String::from_utf8_lossy(&bytes).chars() {
            self.character(character);
        }
    }

    fn character(&mut self, character: char) {
        match std::mem::replace(&mut self.state, State::Text) {
            State::Text => self.text(character),
            State::Escape if character == '[' => self.state = State::Sequence(String::new()),
            State::Escape => {}
            State::Sequence(parameters) if ('@'..='~').contains(&character) => {
                self.sequence(&parameters, character);
            }
            State::Sequence(mut parameters) => {
                parameters.push(character);
                self.state = State::Sequence(parameters);
            }
        }
    }

    fn text(&mut self, character: char) {
        match character {
            '\u{1b}' => self.state = State::Escape,
            '\r' => self.column = 0,
            '\n' => {
                self.next_row();
            }
            '\u{8}' => self.column = self.column.min(self.columns).saturating_sub(1),
            '\u{7}' => {}
            _ => self.show(character),
        }
    }

    fn show(&mut self, character: char) {
        let width = character.width().unwrap_or(1).min(self.columns);
        if width == 0 {
            return;
        }
        if self.column + width > self.columns {
            self.lines[self.row].is_wrapped = true;
            self.next_row();
            self.column = 0;
        }
        let blank = Cell {
            character: Some(' '),
            is_dim: false,
        };
        let cells = &mut self.lines[self.row].cells;
        if cells.len() < self.column + width {
            cells.resize(self.column + width, blank);
        }
        for offset in 0..width {
            cells[self.column + offset] = Cell {
                character: (offset == 0).then_some(character),
                is_dim: self.is_dim,
            };
        }
        self.column += width;
    }

    fn next_row(&mut self) {
        self.row += 1;
        if self.row == self.lines.len() {
            self.lines.push(Row::default());
        }
        self.top = self.top.max((self.row + 1).saturating_sub(self.rows));
    }

    fn sequence(&mut self, parameters: &str, last: char) {
        let count: usize = parameters.parse().unwrap_or(1);
        match last {
            'A' => self.row = self.row.saturating_sub(count).max(self.top),
            'B' => {
                let last = (self.top + self.rows - 1).max(self.row);
                self.row = (self.row + count).min(last);
                let rows = self.lines.len().max(self.row + 1);
                self.lines.resize_with(rows, Row::default);
            }
            'C' => self.column = (self.column + count).min(self.columns - 1),
            'H' => (self.row, self.column) = (self.top, 0),
            'J' if parameters == "2" => {
                self.lines.truncate(self.top);
                self.lines.resize_with(self.row + 1, Row::default);
            }
            'J' => {
                self.lines.truncate(self.row + 1);
                self.erase_row();
            }
            'K' => self.erase_row(),
            'm' => self.is_dim = parameters.split(';').any(|one| one == "2"),
            _ => {}
        }
    }

    fn erase_row(&mut self) {
        let row = &mut self.lines[self.row];
        row.cells.truncate(self.column);
        row.is_wrapped = false;
    }

    /// The window gets another size.
    pub fn resize(&mut self, columns: usize, rows: usize) {
        if self.reflows && columns != self.columns {
            self.reflow(columns);
        } else {
            for row in &mut self.lines {
                row.cells.truncate(columns);
            }
            self.column = self.column.min(columns - 1);
        }
        (self.columns, self.rows) = (columns, rows);
        self.top = self.top.max((self.row + 1).saturating_sub(rows));
    }

    fn reflow(&mut self, columns: usize) {
        let mut lines = Vec::new();
        let mut cursor = (0, 0);
        let mut start = 0;
        while start < self.lines.len() {
            // The rows of a line, and the cursor's place in it.
            let mut cells = Vec::new();
            let mut place = None;
            let mut at = start;
            loop {
                if at == self.row {
                    place = Some(cells.len() + self.column);
                }
                cells.extend(&self.lines[at].cells);
                at += 1;
                if !self.lines[at - 1].is_wrapped || at == self.lines.len() {
                    break;
                }
            }
            start = at;
            let first = lines.len();
            let pieces = cells.len().div_ceil(columns).max(1);
            for number in 0..pieces {
                let end = cells.len().min((number + 1) * columns);
                lines.push(Row {
                    cells: cells[number * columns..end].to_vec(),
                    is_wrapped: number + 1 < pieces,
                });
            }
            if let Some(place) = place {
                let row = (place / columns).min(pieces - 1);
                cursor = (first + row, (place - row * columns).min(columns));
            }
        }
        self.lines = lines;
        (self.row, self.column) = cursor;
        self.top = 0;
    }

    /// All rows so far.
    pub fn all_rows(&self) -> Vec<String> {
        let row = |row: &Row| {
            let text: String = row.cells.iter().filter_map(|cell| cell.character).collect();
            text.trim_end().to_owned()
        };
        self.lines.iter().map(row).collect()
    }

    /// The cursor's row among all of them, and its column.
    pub fn cursor(&self) -> (usize, usize) {
        (self.row, self.column)
    }

    /// The dim text of the cursor's row.
    pub fn dim_text(&self) -> String {
        let cells = self.lines[self.row].cells.iter();
        cells
            .filter(|cell| cell.is_dim)
            .filter_map(|cell| cell.character)
            .collect()
    }
}
