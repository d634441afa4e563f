//! Prints what a file of heap snapshots has: `cargo run --profile quick -p canny-snapshot --example
//! show -- FILE [chrome|lines OUTPUT]`.

use std::fs::File;
use std::path::Path;

use canny_snapshot::analysis::{
    Analysis, Column, Grouping, PathSums, Predicate, SortKey, difference, growing_paths,
    growing_types, identities,
};
use canny_snapshot::export;
use canny_snapshot::heap::{ROOT, Series};
use canny_snapshot::text::{
    Style, difference_table, duplicates_table, nodes_table, path_text, rows_table, series_table,
    summary, suspects_table, unused_table,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(file) = words.first() else {
        return Err("which file?".into());
    };
    let style = Style {
        rows_max: 12,
        ..Style::default()
    };
    let series = Series::open(Path::new(file))?;
    let count = series.snapshots().len();
    print!("{}", series_table(&series, &style));
    let last = count.saturating_sub(1);
    let directory = &series.snapshots()[last];
    println!(
        "\n{}",
        summary(series.info(), series.types(), directory, &style)
    );
    let analysis = Analysis::new(series.snapshot(last)?);
    if let [_, format, output] = &words[..] {
        let output = File::create(output)?;
        match format.as_str() {
            "chrome" => export::chrome(&analysis, output)?,
            _ => export::json_lines(&analysis, true, output)?,
        }
        return Ok(());
    }
    for grouping in [Grouping::Type, Grouping::Family, Grouping::File] {
        println!(
            "{}",
            rows_table(&analysis.table(grouping, Column::Retained), &style)
        );
    }
    println!(
        "{}",
        duplicates_table(&analysis, &analysis.duplicates(12), &style)
    );
    println!("{}", unused_table(&analysis, &analysis.unused(12), &style));
    println!(
        "{}",
        nodes_table(&analysis, &analysis.dominated(ROOT, 12).0, &style)
    );
    println!(
        "{}",
        suspects_table(&growing_types(series.types(), series.snapshots()), &style)
    );
    let sums = (0..count).map(|index| Ok(PathSums::new(&Analysis::new(series.snapshot(index)?))));
    let sums: Vec<PathSums> = sums.collect::<Result<_, canny_snapshot::file::Error>>()?;
    let paths = growing_paths(series.types(), &sums);
    println!("{}", suspects_table(&paths, &style));
    let first = Analysis::new(series.snapshot(0)?);
    let mut found = identities(&series, &[0, last])?.into_iter();
    if let (Some(one), Some(other)) = (found.next(), found.next()) {
        first.set_identities(one);
        analysis.set_identities(other);
    }
    println!(
        "{}",
        difference_table(&difference(&first, &analysis), &style)
    );
    if let Some(suspect) = growing_types(series.types(), series.snapshots()).first() {
        let of_type = Predicate::Type(suspect.names[0].clone());
        let page = analysis.query(&of_type, SortKey::Retained, 0, 1)?;
        for node in page.nodes {
            println!("{}\n", analysis.why_alive(node));
            for path in analysis.paths(node, 3) {
                println!("{}", path_text(&analysis, &path, &style));
            }
        }
    }
    Ok(())
}
