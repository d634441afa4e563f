//! The charts of measurements are what their CSV files say.

use std::path::Path;

use super::Complaint;
use crate::charts;

pub fn check(root: &Path) -> Result<Vec<Complaint>, String> {
    let complaint = |path: String| Complaint {
        path: path.into(),
        line: None,
        message: "is not what the CSV file says: run `cargo xtask charts`".to_owned(),
    };
    Ok(charts::stale(root)?.into_iter().map(complaint).collect())
}
