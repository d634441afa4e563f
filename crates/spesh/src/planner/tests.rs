use canny_tables::layout::log;
use canny_tables::opcodes::{Opcode, encode_abc, encode_far};

use super::*;
use crate::log::LogWriter;
use crate::statistics::Log;
use crate::test_code::*;

/// Statistics and planner over some codes.
#[derive(Default)]
struct Bench {
    codes: Codes,
    statistics: Statistics,
    planner: Planner,
}

impl Bench {
    fn plan(&mut self, writer: &LogWriter) -> Vec<Plan> {
        let log = Log {
            thread: 0,
            is_continued: true,
            words: writer.words(),
        };
        let touched = self.statistics.add(log, &self.codes);
        self.planner
            .plan(&mut self.statistics, &touched, &self.codes)
    }
}

/// A log of calls from nowhere: code, how often, types.
fn log_of(calls: &[(CodeWord, usize, &[u16])]) -> LogWriter {
    let mut log = LogWriter::new();
    for (code, count, types) in calls {
        (0..*count).for_each(|_| {
            log.enter(0x100, *code, types).leave(0x108, *code, NIL);
        });
    }
    log
}

fn types(plan: &Plan) -> &[Type] {
    &plan.parameter_types
}

#[test]
fn thresholds_grow_with_the_size() {
    assert_eq!(threshold(10), Some(150));
    assert_eq!(threshold(512), Some(150));
    assert_eq!(threshold(513), Some(200));
    assert_eq!(threshold(2049), Some(300));
    assert_eq!(threshold(65536), Some(300));
    assert_eq!(threshold(65537), None);
}

#[test]
fn one_tuple_is_an_observed_specialization_once() {
    let mut bench = Bench::default();
    let code = bench.codes.add_plain(1, "shorten", 2, 40);
    let cold = bench.codes.add_plain(2, "cold", 2, 40);
    let log = log_of(&[
        (code, 156, &[STRING, FIXNUM]),
        (cold, 149, &[STRING, FIXNUM]),
    ]);
    let plans = bench.plan(&log);
    assert_eq!(plans.len(), 1);
    assert_eq!(plans[0].code, code);
    assert_eq!(plans[0].reason, Reason::Observed);
    assert_eq!(plans[0].entry, EntryPoint::Start);
    assert_eq!(types(&plans[0]), [Type::STRING, Type::FIXNUM]);
    assert_eq!((plans[0].hits, plans[0].hits_of_all), (156, 156));
    let again = bench.plan(&log);
    assert_eq!(again.len(), 1, "hits add up over logs: {again:?}");
    assert_eq!(again[0].code, cold);
    assert_eq!(bench.plan(&log), []);
}

#[test]
fn the_rare_case_of_two_is_left_alone_until_there_is_more_of_it() {
    let mut bench = Bench::default();
    let sink = bench.codes.add_plain(1, "sink", 1, 40);
    let plans = bench.plan(&log_of(&[(sink, 848, &[VECTOR]), (sink, 7, &[PAIR])]));
    assert_eq!(plans.len(), 1);
    assert_eq!(types(&plans[0]), [Type::VECTOR]);
    assert_eq!(bench.plan(&log_of(&[(sink, 142, &[PAIR])])), []);
    // Types that are no numbers get a specialization for any types.
    let plans = bench.plan(&log_of(&[(sink, 1, &[PAIR])]));
    assert_eq!(plans.len(), 1);
    assert_eq!(plans[0].reason, Reason::Certain);
    assert_eq!(types(&plans[0]), [Type::ANY]);
    assert_eq!(bench.plan(&log_of(&[(sink, 1000, &[PAIR])])), []);
    assert_eq!(bench.plan(&log_of(&[(sink, 1000, &[FLONUM])])), []);
}

#[test]
fn fixnums_and_flonums_divide_the_calls() {
    let mut bench = Bench::default();
    let norm = bench.codes.add_plain(1, "norm", 2, 40);
    let plans = bench.plan(&log_of(&[
        (norm, 400, &[FLONUM, FLONUM]),
        (norm, 500, &[FIXNUM, FIXNUM]),
        (norm, 60, &[FIXNUM, FLONUM]),
        (norm, 20, &[FLONUM, FIXNUM]),
        (norm, 9, &[BOX, FIXNUM]),
    ]));
    let all: Vec<&[Type]> = plans.iter().map(types).collect();
    let (fixnum, flonum) = (Type::FIXNUM, Type::FLONUM);
    // The most frequent first: the last has too small a share.
    assert_eq!(all, [[fixnum, fixnum], [flonum, flonum]]);
    assert_eq!((plans[0].hits, plans[0].hits_of_all), (500, 989));
    assert_eq!(bench.plan(&log_of(&[(norm, 100, &[FLONUM, FLONUM])])), []);
    // Calls that no specialization serves yet: 89, and 4000 more that are nearly all of them.
    let plans = bench.plan(&log_of(&[(norm, 4000, &[FIXNUM, FLONUM])]));
    assert_eq!(plans.len(), 1);
    assert_eq!(types(&plans[0]), [fixnum, flonum]);
}

#[test]
fn calls_that_divide_into_too_many_parts_are_not_divided() {
    let mut bench = Bench::default();
    let code = bench.codes.add_plain(1, "wide", 3, 40);
    let mut log = LogWriter::new();
    for _ in 0..50 {
        for mask in 0..8u16 {
            let of = |bit: u16| if mask >> bit & 1 == 1 { FIXNUM } else { FLONUM };
            log.enter(0x100, code, &[of(0), of(1), of(2)])
                .leave(0x108, code, NIL);
        }
    }
    let plans = bench.plan(&log);
    assert_eq!(plans.len(), 1);
    assert_eq!(types(&plans[0]), [Type::ANY; 3]);
}

#[test]
fn other_types_do_not_divide() {
    let mut bench = Bench::default();
    let even = bench.codes.add_plain(1, "even", 2, 40);
    let plans = bench.plan(&log_of(&[
        (even, 400, &[PAIR, FIXNUM]),
        (even, 500, &[VECTOR, FIXNUM]),
    ]));
    assert_eq!(plans.len(), 1);
    assert_eq!(types(&plans[0]), [Type::ANY, Type::FIXNUM]);
}

#[test]
fn types_that_keep_changing_end_in_one_specialization_for_any() {
    let mut bench = Bench::default();
    let code = bench.codes.add_plain(1, "changing", 2, 40);
    let wild = [
        FIXNUM, FLONUM, VECTOR, STRING, BOX, NIL, PAIR, FIXNUM, FLONUM,
    ];
    let mut all = Vec::new();
    for round in 0..50 {
        let first = wild[round % wild.len()];
        let second = wild[round / 2 % wild.len()];
        for plan in bench.plan(&log_of(&[(code, 1000, &[first, second])])) {
            all.push(plan.parameter_types.clone());
        }
    }
    assert!(all.len() <= STARTS_MAX, "{all:?}");
    assert_eq!(all.last().unwrap()[..], [Type::ANY; 2], "{all:?}");
}

#[test]
fn a_specialization_that_was_given_up_does_not_take_the_others_along() {
    let mut bench = Bench::default();
    let code = bench.codes.add_plain(1, "norm", 1, 40);
    let log = log_of(&[(code, 200, &[FIXNUM]), (code, 200, &[FLONUM])]);
    assert_eq!(bench.plan(&log).len(), 2);
    bench
        .planner
        .retract(code, EntryPoint::Start, &[Type::FLONUM]);
    // Twice as many calls are wanted now, and there were that many.
    let plans = bench.plan(&log);
    assert_eq!(plans.len(), 1);
    assert_eq!(types(&plans[0]), [Type::FLONUM]);
}

#[test]
fn wild_positions_stay_open() {
    let mut bench = Bench::default();
    let assign = bench.codes.add_plain(1, "assign", 3, 40);
    let wild = [FIXNUM, PAIR, FLONUM, NIL, STRING, VECTOR, BOX];
    let calls: Vec<[u16; 3]> = wild.iter().map(|ty| [VECTOR, FIXNUM, *ty]).collect();
    let calls: Vec<(CodeWord, usize, &[u16])> = calls
        .iter()
        .map(|types| (assign, 100, &types[..]))
        .collect();
    let plans = bench.plan(&log_of(&calls));
    assert_eq!(plans.len(), 1);
    assert_eq!(plans[0].reason, Reason::Derived);
    assert_eq!(types(&plans[0]), [Type::VECTOR, Type::FIXNUM, Type::ANY]);
    assert_eq!(plans[0].hits, 700);
}

#[test]
fn megamorphic_code_gets_a_certain_specialization() {
    let mut bench = Bench::default();
    let sort = bench.codes.add_plain(1, "sort", 2, 40);
    let wild = [FIXNUM, PAIR, FLONUM, NIL, STRING, VECTOR, BOX];
    let mut log = LogWriter::new();
    for _ in 0..10 {
        for first in wild {
            for second in wild {
                log.enter(0x100, sort, &[first, second])
                    .leave(0x108, sort, NIL);
            }
        }
    }
    let plans = bench.plan(&log);
    assert_eq!(plans.len(), 1);
    assert_eq!(plans[0].reason, Reason::Certain);
    assert_eq!(types(&plans[0]), [Type::ANY, Type::ANY]);
    assert_eq!(plans[0].hits, 490);
}

#[test]
fn optional_arguments_are_served_by_one_specialization() {
    let mut bench = Bench::default();
    let variadic = canny_tables::layout::code::VARIADIC;
    let code = bench.codes.add_plain(1, "optional", variadic, 40);
    let exact = bench.codes.add_plain(2, "exact", 1, 40);
    let log = log_of(&[
        (code, 331, &[STRING, FIXNUM]),
        (code, 36, &[STRING]),
        // A loop around calls that raise.
        (exact, 331, &[STRING, FIXNUM]),
    ]);
    let plans = bench.plan(&log);
    assert_eq!(plans.len(), 1);
    assert_eq!((plans[0].code, types(&plans[0])), (code, &[][..]));
    assert_eq!(bench.plan(&log), []);
}

#[test]
fn thunks_are_certain() {
    let mut bench = Bench::default();
    let thunk = bench.codes.add_plain(1, "thunk", 0, 40);
    let plans = bench.plan(&log_of(&[(thunk, 200, &[])]));
    assert_eq!(plans.len(), 1);
    assert_eq!(plans[0].reason, Reason::Certain);
    assert!(types(&plans[0]).is_empty());
}

#[test]
fn hot_loops_are_planned_for_the_types_of_their_live_registers() {
    let mut bench = Bench::default();
    let main = bench.codes.add(1, "main", 0, &looping());
    let mut log = LogWriter::new();
    (0..199).for_each(|_| {
        log.back(at(1, 4), main, [0, 2, 1, 0x81, 0, 0, 0, 0]);
    });
    assert_eq!(bench.plan(&log), []);
    let plans = bench.plan(&log);
    assert_eq!(plans.len(), 1);
    assert_eq!(plans[0].entry, EntryPoint::Loop(1));
    assert_eq!(plans[0].reason, Reason::Loop);
    let mut wanted = vec![Type::ANY; 16];
    wanted[..3].copy_from_slice(&[Type::FIXNUM, Type::FLONUM, Type::PAIR]);
    assert_eq!(types(&plans[0]), wanted);
    assert_eq!(bench.plan(&log), []);
}

#[test]
fn a_procedure_with_short_loops_is_entered_at_its_start() {
    let run = |calls: usize, iterations: usize| {
        let mut bench = Bench::default();
        let code = bench.codes.add(1, "main", 0, &looping());
        let mut log = log_of(&[(code, calls, &[])]);
        (0..iterations).for_each(|_| {
            log.back(at(1, 4), code, [0, 2, 1, 0x81, 0, 0, 0, 0]);
        });
        let plans = bench.plan(&log);
        plans.iter().map(|plan| plan.entry).collect::<Vec<_>>()
    };
    assert_eq!(run(20, 400), [EntryPoint::Start]);
    // Too few iterations, or calls, to tell.
    assert_eq!(run(20, 150), []);
    assert_eq!(run(10, 400), [EntryPoint::Loop(1)]);
    // Long loops are entered while they run.
    assert_eq!(run(20, 2000), [EntryPoint::Loop(1)]);
    // Short ones wait for the code that contains them.
    assert_eq!(run(100, 2000), [EntryPoint::Start]);
}

#[test]
fn a_loop_waits_until_what_contains_it_is_in_use() {
    let mut bench = Bench::default();
    let code = bench.codes.add(1, "main", 0, &looping());
    let mut log = log_of(&[(code, 100, &[])]);
    (0..2000).for_each(|_| {
        log.back(at(1, 4), code, [0, 2, 1, 0x81, 0, 0, 0, 0]);
    });
    let entries = |bench: &mut Bench| {
        let plans = bench.plan(&log);
        plans.iter().map(|plan| plan.entry).collect::<Vec<_>>()
    };
    assert_eq!(entries(&mut bench), [EntryPoint::Start]);
    // The next log may be older than the compiled code.
    assert_eq!(entries(&mut bench), []);
    assert_eq!(entries(&mut bench), [EntryPoint::Loop(1)]);
}

#[test]
fn a_loop_does_not_wait_for_what_was_given_up() {
    let mut bench = Bench::default();
    let code = bench.codes.add(1, "main", 0, &looping());
    let mut log = log_of(&[(code, 10, &[])]);
    (0..900).for_each(|_| {
        log.back(at(1, 4), code, [0, 2, 1, 0x81, 0, 0, 0, 0]);
    });
    for _ in 0..2 {
        let plans = bench.plan(&log);
        assert_eq!(plans.len(), 1);
        let plan = &plans[0];
        assert_eq!(plan.entry, EntryPoint::Loop(1));
        bench
            .planner
            .retract(plan.code, plan.entry, &plan.parameter_types);
    }
}

#[test]
fn registers_of_changing_types_stay_open() {
    let mut bench = Bench::default();
    let main = bench.codes.add(1, "main", 0, &looping());
    let mut log = LogWriter::new();
    (0..300u32).for_each(|round| {
        let ty = if round % 5 == 0 { 2 } else { 0 };
        log.back(at(1, 4), main, [0, ty, 1, 0, 0, 0, 0, 0]);
    });
    let plans = bench.plan(&log);
    assert_eq!(types(&plans[0])[..3], [Type::FIXNUM, Type::ANY, Type::PAIR]);
}

#[test]
fn what_is_called_comes_before_what_calls_it() {
    let mut bench = Bench::default();
    let caller = bench.codes.add(0, "caller", 1, &calls());
    let callee = bench.codes.add_plain(1, "callee", 1, 10);
    let mut log = LogWriter::new();
    for _ in 0..200 {
        log.enter(0x100, caller, &[STRING])
            .enter(at(0, 0), callee, &[PAIR])
            .leave(at(0, 2), callee, FIXNUM)
            .leave(0x108, caller, FLONUM);
    }
    // The caller was once seen deeper than its callee ever was.
    (0..5).for_each(|_| {
        log.enter(0x200, caller, &[STRING]);
    });
    let plans = bench.plan(&log);
    let order: Vec<CodeWord> = plans.iter().map(|plan| plan.code).collect();
    assert_eq!(order, [callee, caller]);
    assert!(plans[0].depth_max > plans[1].depth_max);
}

/// Code with many loops of one instruction, and a log of enough iterations of the one that ends at a pc.
fn many_loops(bench: &mut Bench) -> CodeWord {
    let mut instructions = Vec::new();
    for _ in 0..20 {
        instructions.push(encode_abc(Opcode::Nop, 0, 0, 0));
        instructions.push(encode_far(Opcode::Loop, -2));
    }
    instructions.push(encode_abc(Opcode::Return, 0, 0, 0));
    bench.codes.add(1, "many", 0, &instructions)
}

fn iterations(code: CodeWord, pc: u64, count: u32) -> LogWriter {
    let mut log = LogWriter::new();
    (0..count).for_each(|_| {
        log.back(at(1, pc), code, [0; 8]);
    });
    log
}

#[test]
fn each_loop_of_a_code_gets_its_specialization() {
    let mut bench = Bench::default();
    let code = many_loops(&mut bench);
    let plans: usize = (1..40)
        .step_by(2)
        .flat_map(|pc| [pc; 2])
        .map(|pc| bench.plan(&iterations(code, pc, 300)).len())
        .sum();
    assert_eq!(plans, 20);
    assert!(bench.planner.planned(code) > CANDIDATES_MAX);
}

#[test]
fn a_loop_that_fails_leaves_the_others_alone() {
    let mut bench = Bench::default();
    let code = many_loops(&mut bench);
    let mut retired = 0;
    for _ in 0..200 {
        for plan in bench.plan(&iterations(code, 1, 1000)) {
            retired += 1;
            bench
                .planner
                .retract(code, plan.entry, &plan.parameter_types);
        }
    }
    assert_eq!(retired, RETRACTIONS_MAX);
    assert!(bench.plan(&iterations(code, 1, 1000)).is_empty());
    let plans: usize = (0..3)
        .map(|_| bench.plan(&iterations(code, 3, 300)).len())
        .sum();
    assert_eq!(plans, 1);
}

#[test]
fn positions_that_are_not_logged_stay_open() {
    let mut bench = Bench::default();
    let code = bench.codes.add_plain(1, "wide", 12, 40);
    let plans = bench.plan(&log_of(&[(code, 200, &[PAIR; 12])]));
    assert_eq!(plans[0].reason, Reason::Derived);
    assert_eq!(types(&plans[0])[..8], [Type::PAIR; 8]);
    assert_eq!(types(&plans[0])[8..], [Type::ANY; 4]);
}

#[test]
fn what_failed_needs_more_hits_and_is_given_up_at_last() {
    let mut bench = Bench::default();
    let code = bench.codes.add_plain(1, "flaky", 1, 40);
    let log = log_of(&[(code, 160, &[PAIR])]);
    let mut planned_at = Vec::new();
    for round in 0..200 {
        for plan in bench.plan(&log) {
            planned_at.push(round);
            bench
                .planner
                .retract(code, plan.entry, &plan.parameter_types);
        }
    }
    assert_eq!(planned_at.len(), RETRACTIONS_MAX as usize);
    assert_eq!(planned_at[..3], [0, 1, 3]);
    bench.planner.forget(code);
    assert_eq!(bench.plan(&log).len(), 1);
}

#[test]
fn what_was_invalidated_is_planned_again_at_once() {
    let mut bench = Bench::default();
    let code = bench.codes.add_plain(1, "user", 1, 40);
    let log = log_of(&[(code, 160, &[PAIR])]);
    let plan = bench.plan(&log).remove(0);
    bench
        .planner
        .invalidate(code, plan.entry, &plan.parameter_types);
    assert_eq!(bench.plan(&log).len(), 1);
}

#[test]
fn a_single_specialization_serves_every_call() {
    let mut bench = Bench {
        planner: Planner::new(Selection::One),
        ..Bench::default()
    };
    let variadic = canny_tables::layout::code::VARIADIC;
    let mixed = bench.codes.add_plain(1, "mixed", 2, 40);
    let stable = bench.codes.add_plain(2, "stable", 1, 40);
    let optional = bench.codes.add_plain(3, "optional", variadic, 40);
    let thunk = bench.codes.add_plain(4, "thunk", 0, 40);
    let log = log_of(&[
        (mixed, 300, &[VECTOR, FIXNUM]),
        (mixed, 200, &[VECTOR, FLONUM]),
        (stable, 995, &[PAIR]),
        (stable, 5, &[NIL]),
        (optional, 300, &[PAIR]),
        (optional, 300, &[PAIR, PAIR]),
        (thunk, 200, &[]),
    ]);
    let plans = bench.plan(&log);
    assert_eq!(plans.len(), 4);
    let of = |code| plans.iter().find(|plan| plan.code == code).expect("a plan");
    assert_eq!(types(of(mixed)), [Type::VECTOR, Type::ANY]);
    assert_eq!(of(mixed).reason, Reason::Derived);
    assert_eq!(types(of(stable)), [Type::PAIR]);
    assert!(types(of(optional)).is_empty());
    assert_eq!(
        (of(optional).hits, of(optional).reason),
        (600, Reason::Certain)
    );
    assert!(types(of(thunk)).is_empty());
    assert_eq!(bench.plan(&log_of(&[(stable, 500, &[NIL])])), []);
}

#[test]
fn huge_and_unknown_code_is_never_planned() {
    let mut bench = Bench::default();
    let huge = bench.codes.add_plain(1, "huge", 1, WORDS_MAX + 1);
    let unknown = word(9);
    let log = log_of(&[(huge, 1000, &[PAIR]), (unknown, 1000, &[PAIR])]);
    assert_eq!(bench.plan(&log), []);
}

#[test]
fn it_is_told_why_nothing_is_planned() {
    let mut bench = Bench::default();
    let hot = bench.codes.add_plain(1, "hot", 1, 40);
    let cold = bench.codes.add_plain(2, "cold", 1, 40);
    let wrong = bench.codes.add_plain(3, "wrong", 2, 40);
    let log = log_of(&[
        (hot, 200, &[FIXNUM]),
        (cold, 97, &[FIXNUM]),
        (wrong, 200, &[FIXNUM]),
    ]);
    bench.plan(&log);
    let obstacle = |bench: &Bench, code| {
        let snapshot = bench.codes.snapshot(code).expect("it was added");
        let statistics = bench.statistics.code(code).expect("it was called");
        bench.planner.obstacle(&snapshot, statistics)
    };
    assert_eq!(obstacle(&bench, hot), Obstacle::Planned);
    assert_eq!(obstacle(&bench, wrong), Obstacle::WrongArguments);
    assert_eq!(
        obstacle(&bench, cold).to_string(),
        "not hot enough: 97 of 150 calls"
    );
    for times in 1..=RETRACTIONS_MAX {
        bench
            .planner
            .retract(hot, EntryPoint::Start, &[Type::FIXNUM]);
        let text = obstacle(&bench, hot).to_string();
        if times == RETRACTIONS_MAX {
            assert!(text.starts_with("not compiled again"), "{text}");
        } else {
            assert!(text.starts_with("not hot enough: 200 of"), "{text}");
        }
    }
}

#[test]
fn what_does_not_pay_yet_is_planned_once_it_does() {
    let mut bench = Bench::default();
    let small = bench.codes.add_plain(1, "small", 1, 40);
    let large = bench.codes.add_plain(2, "large", 1, 4000);
    let log = log_of(&[(small, 200, &[FIXNUM]), (large, 400, &[FIXNUM])]);
    let budget = |milliseconds, is_exhausted| {
        Some(Budget {
            events: 600,
            elapsed: Duration::from_millis(milliseconds),
            cost_per_word: Duration::from_micros(10),
            is_exhausted,
        })
    };
    let planned = |bench: &mut Bench| -> Vec<CodeWord> {
        bench.plan(&log).iter().map(|plan| plan.code).collect()
    };
    bench.planner.set_budget(budget(1000, true));
    assert_eq!(planned(&mut bench), []);
    assert_eq!(bench.planner.deferred(), 2);
    // Half of 10 ms is much for 40 words and little for 4000.
    bench.planner.set_budget(budget(10, false));
    assert_eq!(planned(&mut bench), [small]);
    assert_eq!(bench.planner.deferred(), 1);
    let snapshot = bench.codes.snapshot(large).unwrap();
    let obstacle = bench
        .planner
        .obstacle(&snapshot, bench.statistics.code(large).unwrap());
    assert!(matches!(obstacle, Obstacle::NotPaying { words: 4000, .. }));
    bench.planner.set_budget(budget(100, false));
    assert_eq!(planned(&mut bench), [large]);
    assert_eq!(bench.planner.deferred(), 0);
}

#[test]
fn an_eager_planner_wants_what_ran_twice() {
    let mut bench = Bench::default();
    bench.planner.set_eager(true);
    let code = bench.codes.add_plain(1, "twice", 1, 40);
    let log = log_of(&[(code, 1, &[FIXNUM])]);
    assert_eq!(bench.plan(&log).len(), 0);
    assert_eq!(bench.plan(&log).len(), 1);
}

const CAT: u16 = log::TYPE_RECORD | 130;
const DOG: u16 = log::TYPE_RECORD | 131;
const COW: u16 = log::TYPE_RECORD | 132;
const FISH: u16 = log::TYPE_RECORD | 133;
const BIRD: u16 = log::TYPE_RECORD | 134;

/// A procedure of one argument that asks for record types so often.
fn asking(questions: usize) -> Vec<u32> {
    let mut instructions = vec![encode_abc(Opcode::ClassKey, 1, 0, 0); questions];
    instructions.push(encode_abc(Opcode::Return, 0, 0, 0));
    instructions
}

#[test]
fn record_types_divide_the_calls_of_a_procedure_that_asks_for_them() {
    let (cat, dog) = (Type::record_of(130), Type::record_of(131));
    let halves: &[(&[u16], usize)] = &[(&[CAT], 100), (&[DOG], 100)];
    for (questions, calls, planned) in [
        (2, halves, vec![cat, dog]),
        (1, halves, vec![Type::RECORD]),
        (2, &[(&[CAT], 300)], vec![cat]),
        (1, &[(&[CAT], 300)], vec![Type::RECORD]),
        // Of what is not always a record the program asks more than the type of that.
        (
            3,
            &[(&[CAT], 250), (&[DOG], 100), (&[NIL], 20)],
            vec![Type::ANY],
        ),
        // A quarter is a share of its own, a ninth is not: it is served by nobody for now.
        (3, &[(&[CAT], 300), (&[DOG], 100)], vec![cat, dog]),
        (3, &[(&[CAT], 400), (&[DOG], 50)], vec![cat]),
        (
            3,
            &[(&[CAT], 200), (&[DOG], 70), (&[COW], 30)],
            vec![Type::RECORD],
        ),
        // Many types are records.
        (
            3,
            &[
                (&[CAT], 100),
                (&[DOG], 100),
                (&[COW], 100),
                (&[FISH], 100),
                (&[BIRD], 100),
            ],
            vec![Type::RECORD],
        ),
    ] {
        let mut bench = Bench::default();
        let code = bench.codes.add(1, "asks", 1, &asking(questions));
        let calls: Vec<_> = calls
            .iter()
            .map(|(types, count)| (code, *count, *types))
            .collect();
        let plans = bench.plan(&log_of(&calls));
        let types: Vec<Type> = plans.iter().map(|plan| types(plan)[0]).collect();
        assert_eq!(types, planned, "{questions} {calls:?}");
    }
}

#[test]
fn questions_of_small_callees_count() {
    let mut bench = Bench::default();
    let caller = bench.codes.add(0, "caller", 1, &calls());
    let small = bench.codes.add(1, "small", 1, &asking(2));
    let mut log = LogWriter::new();
    for ty in [CAT, DOG].repeat(100) {
        log.enter(0x100, caller, &[ty])
            .enter(at(0, 0), small, &[ty])
            .leave(at(0, 2), small, NIL)
            .leave(0x108, caller, NIL);
    }
    let plans = bench.plan(&log);
    let of_caller = plans.iter().filter(|plan| plan.code == caller);
    assert_eq!(of_caller.count(), 2, "{plans:?}");
    assert_eq!(plans.last().expect("there are some").code, caller);
    bench = Bench::default();
    bench.planner.divide_by_class(false);
    bench.codes.add(0, "caller", 1, &calls());
    bench.codes.add(1, "small", 1, &asking(2));
    assert_eq!(bench.plan(&log).len(), 2);
}

#[test]
fn records_of_other_types_get_their_own_later_and_at_last_one_for_any() {
    let mut bench = Bench::default();
    let code = bench.codes.add(1, "asks", 1, &asking(2));
    let first = bench.plan(&log_of(&[(code, 200, &[CAT])]));
    assert_eq!(types(&first[0]), [Type::record_of(130)]);
    assert!(bench.plan(&log_of(&[(code, 100, &[DOG])])).is_empty());
    let second = bench.plan(&log_of(&[(code, 100, &[DOG])]));
    assert_eq!(types(&second[0]), [Type::record_of(131)]);
    let third = bench.plan(&log_of(&[(code, 200, &[COW])]));
    assert_eq!(types(&third[0]), [Type::record_of(132)]);
    let last = bench.plan(&log_of(&[(code, 200, &[FISH])]));
    assert_eq!(types(&last[0]), [Type::ANY]);
    assert!(bench.plan(&log_of(&[(code, 500, &[BIRD])])).is_empty());
}

#[test]
fn a_callsite_with_many_record_types_counts_records() {
    let mut bench = Bench::default();
    let code = bench.codes.add(1, "asks", 1, &asking(2));
    for class in 130..180 {
        bench.plan(&log_of(&[(code, 10, &[log::TYPE_RECORD | class])]));
    }
    let callsite = &bench.statistics.code(code).expect("it ran").callsites[0];
    let told: u32 = callsite.tuples.iter().map(|tuple| tuple.hits).sum();
    assert_eq!((callsite.hits, told), (500, 500));
    assert!(callsite.tuples.len() <= 9, "{}", callsite.tuples.len());
    assert_eq!(callsite.positions[0].others(), 0);
    assert_eq!(bench.planner.planned(code), 1);
}
