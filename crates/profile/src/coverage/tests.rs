use std::path::Path;

use super::{Branch, Coverage, html, lcov};

fn sample() -> Coverage {
    let mut coverage = Coverage::default();
    let file = coverage.files.entry("/p/a.scm".to_owned()).or_default();
    file.lines.extend([(1, 1), (3, 0), (4, 0), (6, 2)]);
    for (decision, arm, count) in [(1, 0, 2), (1, 1, 0), (2, 0, 0), (2, 1, 0)] {
        let branch = Branch {
            line: 6,
            decision,
            arm,
        };
        file.branches.insert(branch, count);
    }
    file.functions.insert((1, "f".to_owned()), 1);
    file.functions.insert((3, "f".to_owned()), 0);
    coverage
}

#[test]
fn a_tracefile_comes_back() {
    let coverage = sample();
    let text = lcov::write(&coverage);
    assert!(text.contains("BRDA:6,1,1,0\nBRDA:6,2,0,-\n"), "{text}");
    assert_eq!(lcov::read(&text).unwrap(), coverage);
    assert!(
        lcov::read("SF:x\nDA:one,2\n")
            .unwrap_err()
            .contains("line 2")
    );
}

#[test]
fn runs_add_up() {
    let mut sum = sample();
    sum.add(&sample());
    assert_eq!(sum.files["/p/a.scm"].lines[&6], 4);
    assert_eq!(sum.shares(), sample().shares());
}

#[test]
fn the_table_tells_what_did_not_run() {
    let text = sample().table(Path::new("/p"));
    let row = text.lines().nth(1).unwrap();
    assert_eq!(row, "  50.0 %  25.0 %  50.0 %  a.scm  not run: 3-4");
}

#[test]
fn pages_escape_sources_and_mark_lines() {
    let coverage = sample();
    let file = &coverage.files["/p/a.scm"];
    let text = "(a)\n\n(< 1 2)\n\n\n(if \"<script>\" 1)\n";
    let page = html::source_page("/p/a.scm", Path::new("/p"), file, text);
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script>"));
    assert!(page.contains("<tr class=good><td id=L1>1<td>1<td>(a)"));
    assert!(page.contains("<tr class=bad><td id=L3>3<td>0<td>(&lt; 1 2)"));
    assert!(page.contains("3 of 4 branches were not taken"));
    let index = html::index(&coverage, Path::new("/p"));
    assert!(index.contains("<a href=\"0.html\">a.scm</a><td>50.0 %<td>2 of 4"));
}
