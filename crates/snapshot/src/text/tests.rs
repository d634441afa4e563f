//! Tests of tables for a terminal: whole outputs of small heaps, and widths.
//!
//! The tables are compared as text, since the text is what people see.

use super::*;
use crate::analysis::tests::cache;
use crate::analysis::{Analysis, Column, Grouping, growing_types, summary_difference};
use crate::file::{Info, SnapshotFacts, Way, Writer};
use crate::heap::Series;

fn series() -> Series {
    let info = Info {
        program: "leak.scm".to_owned(),
        pid: 42,
        ..Info::default()
    };
    let mut writer = Writer::create(Vec::new(), &info).unwrap();
    for entries in [10, 200] {
        cache(entries).write(&mut writer);
        let facts = SnapshotFacts {
            reason: "asked".to_owned(),
            way: Way::Fork,
            stopped: 1500,
            heap: 65536,
            ..SnapshotFacts::default()
        };
        writer.finish_snapshot(facts).unwrap();
    }
    Series::from_bytes(writer.into_inner()).unwrap()
}

#[test]
fn a_summary_needs_no_graph() {
    let series = series();
    let style = Style::default();
    let text = summary(
        series.info(),
        series.types(),
        &series.snapshots()[1],
        &style,
    );
    assert_eq!(
        text,
        "\
snapshot 2 of leak.scm, process 42
taken by a copy of the process, reason: asked; the program stood still for 1.5 ms
602 objects, 19.3 kB; blocks 65.5 kB, outside of the heap 0 B

      objects     bytes   share  type
          200    9.6 kB  49.7 %  string
          200    6.4 kB  33.1 %  entry
          200    3.2 kB  16.6 %  pair
            1      80 B   0.4 %  vector
            1      48 B   0.2 %  hash-table
"
    );
}

#[test]
fn groups_have_retained_bytes() {
    let analysis = Analysis::new(series().snapshot(0).unwrap());
    let rows = analysis.table(Grouping::Type, Column::Retained);
    let style = Style {
        rows_max: 2,
        ..Style::default()
    };
    assert_eq!(
        format!("\n{}", rows_table(&rows, &style)),
        "
      objects     bytes   share  retained  group
            1      48 B   4.4 %    1.1 kB  hash-table
            1      80 B   7.4 %    1.0 kB  vector
3 more
"
    );
}

#[test]
fn series_differences_and_suspects_have_tables() {
    let series = series();
    let style = Style::default();
    assert_eq!(
        format!("\n{}", series_table(&series, &style)),
        "
 number      objects     bytes  reason
      1           32    1.1 kB  asked
      2          602   19.3 kB  asked
"
    );
    let snapshots = series.snapshots();
    let difference = summary_difference(series.types(), &snapshots[0], &snapshots[1]);
    assert_eq!(
        format!("\n{}", difference_table(&difference, &style)),
        "
    growth     after          new         gone  type
   +9.1 kB    9.6 kB            -            -  string
   +6.1 kB    6.4 kB            -            -  entry
   +3.0 kB    3.2 kB            -            -  pair
1.1 kB to 19.3 kB: +18.2 kB
"
    );
    let suspects = growing_types(series.types(), snapshots);
    let text = suspects_table(&suspects[..1], &style);
    assert_eq!(
        text,
        "  score    growth     steps  type or path\n   0.50   +9.1 kB       1/1  string\n"
    );
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let analysis = Analysis::new(series().snapshot(1).unwrap());
    for width in [40, 60, 100] {
        let style = Style {
            width,
            rows_max: 10,
            ..Style::default()
        };
        let node = analysis.heap().len() as u32 - 1;
        let path = analysis.distances().shortest(node);
        let edges = analysis.heap().incoming_edges(node, 10);
        let texts = [
            summary(
                analysis.heap().info(),
                analysis.heap().types(),
                analysis.heap().directory(),
                &style,
            ),
            path_text(&analysis, &path, &style),
            nodes_table(&analysis, &[0, node], &style),
            edges_table(&analysis, &edges, node, &style),
            duplicates_table(&analysis, &analysis.duplicates(5), &style),
            unused_table(&analysis, &analysis.unused(5), &style),
        ];
        for line in texts.iter().flat_map(|text| text.lines()) {
            assert!(line.chars().count() <= width, "{line}");
        }
    }
    let style = Style::default();
    let edges: Vec<_> = analysis.heap().outgoing_edges(2).collect();
    assert_eq!(
        edges_table(&analysis, &edges, 2, &style),
        "            3  → buckets: vector\n"
    );
}
