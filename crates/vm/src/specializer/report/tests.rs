use super::super::ledger::{InlinedCall, PauseCause, Refused};
use super::super::worker::account::SeenCode;
use super::table::LINE_WIDTH_MAX;
use super::*;
use crate::code::{CodeMetadata, UnitMetadata};
use canny_spesh::planner::Plan;
use std::sync::Arc;

const MAIN: CodeWord = CodeWord(5);
const SQUARE: CodeWord = CodeWord(15);
const COLD: CodeWord = CodeWord(25);

fn places() -> HashMap<CodeWord, Place> {
    let code = |name: &str| CodeMetadata {
        name: Some(name.to_owned()),
        ..CodeMetadata::default()
    };
    let unit = Arc::new(UnitMetadata {
        name: "(my library)".to_owned(),
        is_library: false,
        sources: Vec::new(),
        inlinings: Vec::new(),
        entry: 3,
        codes: vec![code("main"), code("square"), code("cold"), code("body")],
    });
    [MAIN, SQUARE, COLD]
        .into_iter()
        .enumerate()
        .map(|(index, code)| (code, Place::new(unit.clone(), index)))
        .collect()
}

fn plan(code: CodeWord, entry: EntryPoint, reason: Reason, types: &[Type]) -> Plan {
    Plan {
        code,
        entry,
        parameter_types: types.to_vec(),
        reason,
        hits: 200,
        hits_of_all: 200,
        depth_max: 1,
    }
}

fn compiled(number: u64, plan: Plan, inlined: Vec<InlinedCall>) -> Compiled {
    Compiled {
        id: CandidateId(number),
        code: plan.code,
        entry: plan.entry,
        arity: 1,
        places: places(),
        inlined,
        code_bytes: 400,
        descriptor_bytes: 100,
        segments: 3,
        time: Duration::from_micros(1500),
        at: std::time::Instant::now(),
        plan: Some(plan),
        listing: None,
    }
}

fn exits(exits: Vec<(CodeWord, usize, u32)>, retired_by: Option<RetiredBy>) -> ExitReport {
    ExitReport {
        exits,
        loop_entries: 7,
        is_retired: retired_by.is_some(),
        retired_by,
    }
}

fn seen(code: CodeWord, hits: u32, obstacle: Option<Obstacle>) -> SeenCode {
    SeenCode {
        code,
        hits,
        loop_hits: 0,
        obstacle,
    }
}

/// Two procedures compiled, one of them inlined in the other, and one refused.
fn report() -> Report<'static> {
    let call = InlinedCall {
        caller: Some((MAIN, 8)),
        callee: SQUARE,
    };
    let of_main = plan(
        MAIN,
        EntryPoint::Loop(4),
        Reason::Loop,
        &[Type::ANY, Type::FIXNUM],
    );
    let of_square = plan(SQUARE, EntryPoint::Start, Reason::Observed, &[Type::FLONUM]);
    Report {
        is_enabled: true,
        worker: Some(WorkerAccount {
            logs: 2,
            is_off: false,
            codes: vec![
                seen(MAIN, 1, None),
                seen(SQUARE, 300, Some(Obstacle::Planned)),
                seen(COLD, 99, Some(Obstacle::Planned)),
            ],
            calls: vec![(MAIN, 8, SQUARE, 200), (MAIN, 12, SQUARE, 100)],
        }),
        account: Account {
            places: places(),
            compiled: vec![
                compiled(1, of_main, vec![call]),
                compiled(2, of_square, Vec::new()),
            ],
            refused: vec![Refused {
                code: COLD,
                entry: EntryPoint::Start,
                why: "refused: the graph became too large".to_owned(),
                time: Duration::from_micros(300),
            }],
            dropped: 0,
        },
        exits: HashMap::from([
            (CandidateId(1), exits(vec![(SQUARE, 2, 9)], None)),
            (CandidateId(2), exits(Vec::new(), None)),
        ]),
        pauses: vec![Pause {
            cause: PauseCause::MakeSnapshots,
            count: 3,
            total: Duration::from_micros(30),
            max: Duration::from_micros(20),
            processor_max: Some(Duration::from_micros(12)),
        }],
        specializer: None,
    }
}

#[test]
fn calls_are_inlined_compiled_or_interpreted() {
    assert_eq!(
        report().shares(),
        Some(Shares {
            logged: 400,
            inlined: 200,
            compiled: 100
        })
    );
}

#[test]
fn the_report_tells_what_happened_and_why_something_did_not() {
    let text = report().text();
    for wanted in [
        "compiled     1 procedure, 1 loop; 1 call in them inlined; 0 retired",
        "code         800 bytes of machine code in 6 segments, 200 bytes of descriptors",
        "compiling    3.30 ms in all, 1.50 ms the longest",
        "waiting      30.0 us in all, 20.0 us the longest",
        "calls        50.0 % inlined, 25.0 % compiled, 25.0 % interpreted",
        "loop in main",
        "entered 7×",
        "r1 fixnum",
        "refused: the graph became too large",
        "copying bytecode for the worker",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing in\n{text}");
    }
    for line in text.lines() {
        assert!(line.chars().count() <= LINE_WIDTH_MAX, "{line}");
    }
}

#[test]
fn what_was_given_up_says_so() {
    let mut report = report();
    report.exits.insert(
        CandidateId(2),
        exits(vec![(SQUARE, 2, 101)], Some(RetiredBy::Exits)),
    );
    let text = report.text();
    assert!(text.contains("1 retired"), "{text}");
    assert!(text.contains("retired (guards)"), "{text}");
    let shares = report.shares().expect("there was a log");
    assert_eq!((shares.inlined, shares.compiled), (200, 0));
}

#[test]
fn a_program_that_was_only_interpreted_is_told_why() {
    let mut report = report();
    report.worker = None;
    assert!(report.text().contains("before it had filled a log"));
    report.is_enabled = false;
    assert!(report.text().contains("the specializer is off") || report.text().contains("is off"));
}
