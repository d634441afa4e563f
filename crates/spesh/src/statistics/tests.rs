use super::*;
use crate::log::LogWriter;
use crate::snapshot::CodeWord;
use crate::test_code::*;

fn take(statistics: &mut Statistics, writer: &LogWriter, codes: &Codes) -> CodeSet {
    let log = Log {
        thread: 0,
        is_continued: true,
        words: writer.words(),
    };
    statistics.add(log, codes)
}

/// A caller and two procedures that it calls.
fn three() -> (Codes, CodeWord, CodeWord, CodeWord) {
    let mut codes = Codes::default();
    let caller = codes.add(0, "caller", 1, &calls());
    let first = codes.add_plain(1, "first", 1, 10);
    let second = codes.add_plain(2, "second", 2, 10);
    (codes, caller, first, second)
}

#[test]
fn calls_and_what_they_return_belong_to_the_type_tuple_of_their_caller() {
    let (codes, caller, first, second) = three();
    let mut log = LogWriter::new();
    for _ in 0..10 {
        log.enter(0x100, caller, &[STRING])
            .enter(at(0, 0), first, &[PAIR])
            .leave(at(0, 2), first, FIXNUM)
            .enter(at(0, 2), second, &[FIXNUM, FLONUM])
            .leave(at(0, 4), second, FLONUM)
            .leave(0x108, caller, FLONUM);
    }
    let mut statistics = Statistics::new();
    let touched = take(&mut statistics, &log, &codes);
    assert_eq!(touched.len(), 3);
    let of_caller = statistics.code(caller).unwrap();
    assert_eq!((of_caller.hits, of_caller.callsites.len()), (10, 1));
    let tuple = &of_caller.callsites[0].tuples[0];
    assert_eq!(tuple.types.types(), [Type::STRING]);
    assert_eq!((tuple.hits, tuple.depth_max), (10, 1));
    let site = &tuple.sites[&at(0, 0)];
    assert_eq!(site.types.most(), Some((Type::FIXNUM, 10)));
    assert_eq!(site.callees.most(), Some((first, 10)));
    assert_eq!(site.arguments.most().unwrap().0.types(), [Type::PAIR]);
    assert_eq!(statistics.code(second).unwrap().depth_max, 2);
    assert_eq!(statistics.result_type(caller, 2), Some(Type::FLONUM));
    assert_eq!(statistics.callee(caller, 2), Some(second));
    assert_eq!(statistics.result_type(caller, 4), None);
}

#[test]
fn recursion_deepens_the_stack_and_returns_unwind_it() {
    let mut codes = Codes::default();
    let code = codes.add(0, "down", 1, &calls());
    let mut log = LogWriter::new();
    for _ in 0..3 {
        log.enter(0x100, code, &[FIXNUM]);
        (0..5).for_each(|_| {
            log.enter(at(0, 0), code, &[FIXNUM]);
        });
        (0..5).for_each(|_| {
            log.leave(at(0, 2), code, FIXNUM);
        });
        log.leave(0x108, code, FIXNUM);
    }
    let mut statistics = Statistics::new();
    take(&mut statistics, &log, &codes);
    let of_code = statistics.code(code).unwrap();
    assert_eq!((of_code.hits, of_code.depth_max), (18, 6));
    assert_eq!(statistics.stacks[&0].depth(), 0);
}

#[test]
fn a_tail_call_takes_the_place_of_its_frame() {
    let (codes, caller, first, second) = three();
    let mut log = LogWriter::new();
    for _ in 0..100 {
        log.enter(0x100, caller, &[STRING])
            .enter(at(0, 0), first, &[PAIR])
            .tail_enter(at(1, 3), second, &[PAIR, NIL])
            .leave(at(0, 2), second, NIL)
            .leave(0x108, caller, NIL);
    }
    let mut statistics = Statistics::new();
    take(&mut statistics, &log, &codes);
    assert_eq!(statistics.code(second).unwrap().depth_max, 2);
    assert_eq!(statistics.callee(first, 3), Some(second));
    assert_eq!(statistics.result_type(caller, 0), Some(Type::NIL));
}

#[test]
fn loops_count_for_their_call_and_know_their_registers() {
    let mut codes = Codes::default();
    let code = codes.add(0, "main", 0, &looping());
    let mut log = LogWriter::new();
    // The frame of a program's body began before anything was logged.
    (0..20).for_each(|_| {
        log.back(at(0, 4), code, [0, 2, 1, 0, 0, 0, 0, 0]);
    });
    log.enter(0x100, code, &[]);
    (0..5).for_each(|_| {
        log.back(at(0, 4), code, [0, 2, 1, 0, 0, 0, 0, 0]);
    });
    let mut statistics = Statistics::new();
    assert_eq!(
        take(&mut statistics, &log, &codes),
        CodeSet::from_iter([code])
    );
    let of_code = statistics.code(code).unwrap();
    assert_eq!((of_code.hits, of_code.loop_hits), (1, 25));
    assert_eq!(of_code.callsites[0].tuples[0].loop_hits, 5);
    let of_loop = &of_code.loops[&at(0, 4)];
    assert_eq!(of_loop.hits, 25);
    assert_eq!(of_loop.registers[1].most(), Some((Type::FLONUM, 25)));
}

#[test]
fn loads_find_their_frame_below_frames_that_returned_unseen() {
    let (codes, caller, first, _) = three();
    let mut log = LogWriter::new();
    log.enter(0x100, caller, &[STRING])
        .enter(at(0, 0), first, &[PAIR])
        .result(at(0, 6), caller, VECTOR)
        .result(at(2, 1), word(2), PAIR);
    let mut statistics = Statistics::new();
    take(&mut statistics, &log, &codes);
    let tuple = &statistics.code(caller).unwrap().callsites[0].tuples[0];
    assert_eq!(tuple.sites[&at(0, 6)].types.total(), 1);
    let elsewhere = &statistics.code(word(2)).unwrap().sites;
    assert_eq!(elsewhere[&at(2, 1)].types.most(), Some((Type::PAIR, 1)));
    assert_eq!(statistics.result_type(caller, 6), Some(Type::VECTOR));
}

#[test]
fn rare_types_do_not_count_and_calls_of_many_have_no_callee() {
    let (codes, caller, first, second) = three();
    let mut log = LogWriter::new();
    log.enter(0x100, caller, &[STRING]);
    for index in 0..1000 {
        let ty = if index == 7 { VECTOR } else { FIXNUM };
        log.result(at(0, 6), caller, ty);
        let ty = if index % 4 == 0 { VECTOR } else { FIXNUM };
        log.result(at(0, 5), caller, ty);
        let callee = if index % 50 == 0 { first } else { second };
        log.enter(at(0, 0), callee, &[FIXNUM]);
        log.leave(at(0, 2), callee, FIXNUM);
    }
    let mut statistics = Statistics::new();
    take(&mut statistics, &log, &codes);
    assert_eq!(statistics.result_type(caller, 6), Some(Type::FIXNUM));
    let mixed = Type::FIXNUM.or(Type::VECTOR);
    assert_eq!(statistics.result_type(caller, 5), Some(mixed));
    assert_eq!(statistics.callee(caller, 0), None);
}

#[test]
fn callsites_tell_only_so_many_tuples_apart() {
    let mut codes = Codes::default();
    let code = codes.add_plain(1, "any", 2, 10);
    let types = [FIXNUM, PAIR, FLONUM, NIL, STRING, VECTOR, BOX];
    let mut log = LogWriter::new();
    for first in types {
        for second in types {
            log.enter(0x100, code, &[first, second]);
            log.leave(0x108, code, NIL);
        }
    }
    let mut statistics = Statistics::new();
    take(&mut statistics, &log, &codes);
    let callsite = &statistics.code(code).unwrap().callsites[0];
    assert_eq!((callsite.hits, callsite.tuples.len()), (49, TUPLES_MAX));
    assert_eq!(callsite.positions[1].total(), 49);
}

#[test]
fn cold_code_is_forgotten_and_planned_code_fades() {
    let (codes, caller, first, second) = three();
    let mut log = LogWriter::new();
    (0..80).for_each(|_| {
        log.enter(0x100, first, &[FIXNUM])
            .leave(0x108, first, FIXNUM);
        log.enter(0x100, second, &[FIXNUM, FIXNUM])
            .leave(0x108, second, FIXNUM);
    });
    let mut statistics = Statistics::new();
    take(&mut statistics, &log, &codes);
    statistics.keep(second);
    let mut other = LogWriter::new();
    other.enter(0x100, caller, &[NIL]);
    (0..=VERSIONS_MAX).for_each(|_| {
        take(&mut statistics, &other, &codes);
    });
    assert!(statistics.code(first).is_none());
    assert_eq!(statistics.owner(at(1, 0)), None);
    assert_eq!(statistics.code(second).unwrap().hits, 80);
    take(&mut statistics, &log, &codes);
    assert_eq!(statistics.code(second).unwrap().hits, 90);
    assert_eq!(statistics.code(first).unwrap().hits, 80);
}

#[test]
fn dead_code_leaves_nothing_behind() {
    let (codes, caller, first, _) = three();
    let mut log = LogWriter::new();
    log.enter(0x100, caller, &[NIL])
        .enter(at(0, 0), first, &[NIL]);
    let mut statistics = Statistics::new();
    take(&mut statistics, &log, &codes);
    statistics.add_failure(first, 3, Type::FLONUM);
    statistics.retain(|code| code == caller);
    assert!(statistics.code(first).is_none());
    assert_eq!(statistics.failed_operands(first, 3), Type::NONE);
    assert_eq!(statistics.stacks[&0].depth(), 1);
    statistics.forget_thread(0);
    assert!(statistics.stacks.is_empty());
}

#[test]
fn speculation_that_keeps_failing_is_given_up() {
    let mut statistics = Statistics::new();
    let code = word(1);
    statistics.add_failure(code, 4, Type::FLONUM);
    statistics.add_failure(code, 4, Type::BIGNUM);
    assert!(!statistics.is_unstable(code, 4));
    assert_eq!(
        statistics.failed_operands(code, 4),
        Type::FLONUM.or(Type::BIGNUM)
    );
    statistics.add_failure(code, 4, Type::FLONUM);
    assert!(statistics.is_unstable(code, 4));
    assert!(!statistics.is_unstable(code, 5));
}

#[test]
fn logs_that_do_not_continue_begin_with_an_empty_stack() {
    let (codes, caller, _, _) = three();
    let mut log = LogWriter::new();
    log.enter(0x100, caller, &[NIL])
        .enter(at(0, 0), caller, &[NIL]);
    let mut statistics = Statistics::new();
    take(&mut statistics, &log, &codes);
    assert_eq!(statistics.stacks[&0].depth(), 2);
    let mut rest = LogWriter::new();
    rest.result(at(0, 4), caller, NIL);
    let log = Log {
        thread: 0,
        is_continued: false,
        words: rest.words(),
    };
    statistics.add(log, &codes);
    assert_eq!(statistics.stacks[&0].depth(), 1);
}

#[test]
fn deep_stacks_are_bounded() {
    let mut codes = Codes::default();
    let code = codes.add(0, "down", 1, &calls());
    let mut log = LogWriter::new();
    (0..100_000).for_each(|_| {
        log.enter(at(0, 0), code, &[FIXNUM]);
    });
    let mut statistics = Statistics::new();
    take(&mut statistics, &log, &codes);
    assert_eq!(statistics.stacks[&0].depth(), 100_000);
    assert_eq!(statistics.code(code).unwrap().depth_max, 100_000);
    let mut end = LogWriter::new();
    end.result(at(0, 4), code, NIL);
    take(&mut statistics, &end, &codes);
    assert_eq!(statistics.stacks[&0].depth(), 1);
}

#[test]
fn frames_that_escapes_leave_are_gone() {
    let (codes, caller, first, second) = three();
    let mut log = LogWriter::new();
    for _ in 0..100 {
        log.enter(0x100, caller, &[STRING])
            .enter(at(0, 0), first, &[PAIR])
            .enter(at(1, 2), second, &[PAIR, NIL])
            .escape_to(1)
            .enter(at(0, 2), first, &[STRING])
            .leave(at(0, 4), first, NIL)
            .escape_to(0);
    }
    let mut statistics = Statistics::new();
    take(&mut statistics, &log, &codes);
    let depths = [caller, first, second].map(|code| statistics.code(code).unwrap().depth_max);
    assert_eq!(depths, [1, 2, 3]);
    let tuple = &statistics.code(caller).unwrap().callsites[0].tuples[0];
    assert_eq!(tuple.sites[&at(0, 2)].types.most(), Some((Type::NIL, 100)));
}

#[test]
fn each_activation_of_a_recursion_counts_for_its_own_types() {
    let mut codes = Codes::default();
    let code = codes.add(0, "down", 1, &calls());
    let mut log = LogWriter::new();
    for _ in 0..10 {
        log.enter(0x100, code, &[STRING])
            .enter(at(0, 0), code, &[PAIR])
            .result(at(0, 5), code, FIXNUM)
            .leave(at(0, 2), code, NIL)
            .result(at(0, 5), code, FLONUM)
            .leave(0x108, code, NIL);
    }
    let mut statistics = Statistics::new();
    take(&mut statistics, &log, &codes);
    let tuples = &statistics.code(code).unwrap().callsites[0].tuples;
    let seen = |index: usize| tuples[index].sites[&at(0, 5)].types.most();
    assert_eq!(seen(0), Some((Type::FLONUM, 10)));
    assert_eq!(seen(1), Some((Type::FIXNUM, 10)));
}

#[test]
fn calls_from_compiled_code_count_and_belong_to_no_caller() {
    let (codes, caller, first, _) = three();
    let mut log = LogWriter::new();
    for _ in 0..10 {
        log.enter(0x100, caller, &[STRING])
            .enter(0, first, &[PAIR])
            .leave(0x108, caller, FLONUM);
    }
    let mut statistics = Statistics::new();
    take(&mut statistics, &log, &codes);
    let of_first = statistics.code(first).unwrap();
    assert_eq!((of_first.hits, of_first.callsites[0].hits), (10, 10));
    assert_eq!(of_first.callsites[0].tuples[0].types.types(), [Type::PAIR]);
    let of_caller = statistics.code(caller).unwrap();
    of_caller.each_site_table(|_, sites| assert!(sites.is_empty(), "{sites:?}"));
}

#[test]
fn calls_that_compiled_versions_pass_on_count_once() {
    let (codes, caller, first, _) = three();
    let mut log = LogWriter::new();
    for _ in 0..10 {
        log.enter(0x100, caller, &[STRING])
            .enter(at(0, 0), first, &[PAIR])
            .passed_on(first, &[PAIR])
            .leave(at(0, 2), first, FIXNUM)
            .leave(0x108, caller, FLONUM);
    }
    let mut statistics = Statistics::new();
    take(&mut statistics, &log, &codes);
    let of_first = statistics.code(first).unwrap();
    assert_eq!((of_first.hits, of_first.depth_max), (10, 2));
    assert_eq!(statistics.calls_per_run(caller, 0), Some(1.0));
}

#[test]
fn what_was_never_seen_in_much_used_code_is_cold() {
    let (codes, caller, first, _) = three();
    let mut log = LogWriter::new();
    let mut statistics = Statistics::new();
    for _ in 0..COLD_RUNS - 1 {
        log.enter(0x100, caller, &[STRING])
            .enter(at(0, 0), first, &[PAIR])
            .leave(at(0, 2), first, FIXNUM)
            .leave(0x108, caller, FLONUM);
    }
    take(&mut statistics, &log, &codes);
    assert!(!statistics.is_cold(caller, 2));
    assert_eq!(statistics.calls_per_run(caller, 0), Some(1.0));
    let mut last = LogWriter::new();
    last.enter(0x100, caller, &[STRING]);
    take(&mut statistics, &last, &codes);
    assert!(statistics.is_cold(caller, 2));
    assert!(!statistics.is_cold(caller, 0));
    assert_eq!(statistics.calls_per_run(caller, 2), Some(0.0));
}
