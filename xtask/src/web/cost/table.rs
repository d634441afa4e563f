//! Tables in Markdown of parts of a whole: the largest first, the sum last.

/// The heading of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub what: &'static str,
    pub unit: &'static str,
    /// Behind the decimal point.
    pub digits: usize,
}

/// Rows with their shares.
pub fn shares(column: Column, mut rows: Vec<(String, f64)>) -> String {
    rows.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let sum: f64 = rows.iter().map(|(_, cost)| cost).sum();
    rows.push(("in all".to_owned(), sum));
    let Column { what, unit, digits } = column;
    let mut text = format!("| {what} | {unit} | % |\n|---|---|---|\n");
    for (name, cost) in rows {
        let share = if sum > 0.0 { 100.0 * cost / sum } else { 0.0 };
        text += &format!("| {name} | {cost:.digits$} | {share:.1} |\n");
    }
    text
}
