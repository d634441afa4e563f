//! `examples/concurrent/task-costs.scm` runs; its figures are for people.

mod support;

use support::{Canny, root, scratch};

#[test]
fn the_program_that_measures_tasks_runs() {
    let path = root().join("examples/concurrent/task-costs.scm");
    let program = path.to_str().expect("the path is UTF-8");
    let outcome = Canny::new(scratch(), &[program, "100"]).run();
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let lines: Vec<&str> = outcome.output.lines().collect();
    assert_eq!(lines.len(), 8, "{outcome:#?}");
    assert!(lines[0].starts_with("switch, rendezvous: "), "{outcome:#?}");
    assert!(lines[7].ends_with(" times as fast"), "{outcome:#?}");
}
