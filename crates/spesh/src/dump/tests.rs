use super::*;
use crate::log::LogWriter;
use crate::planner::Planner;
use crate::statistics::Log;
use crate::test_code::*;

/// The seed's example: a procedure that shortens strings, called from a program's loop.
fn example() -> (Codes, LogWriter) {
    let mut codes = Codes::default();
    let length = codes.add_plain(1, "length", 1, 10);
    let shorten = codes.add_with_pool(0, "shorten", 2, &calls(), vec![PoolItem::Code(length)]);
    let main = codes.add(2, "", 0, &looping());
    let mut log = LogWriter::new();
    for _ in 0..250 {
        log.enter(at(2, 2), shorten, &[STRING, FIXNUM])
            .enter(at(0, 0), length, &[STRING])
            .leave(at(0, 2), length, FIXNUM)
            .leave(at(2, 4), shorten, STRING)
            .back(at(2, 4), main, [0, 2, 1, 0, 0, 0, 0, 0]);
    }
    (codes, log)
}

#[test]
fn statistics_and_plans_can_be_read() {
    let (codes, log) = example();
    let mut statistics = Statistics::new();
    let log = Log {
        thread: 0,
        is_continued: true,
        words: log.words(),
    };
    let touched = statistics.add(log, &codes);
    let text = statistics_text(&statistics, touched.iter().copied(), &codes);
    for wanted in [
        "Latest statistics for 'shorten' (code 0x7f0000000005, 7 words)\n\nTotal hits: 250\n",
        "Callsite of 2 arguments\n\n    Callsite hits: 250\n",
        "    Type tuple 0\n        Type 0: string\n        Type 1: fixnum\n        Hits: 250\n",
        "        Logged at offset:\n            0 call:\n                250 x type fixnum\n",
        "                250 x code 'length' (0x7f0000100005) (made here)\n",
        "                250 x type tuple:\n                    Type 0: string\n",
        "Latest statistics for 'anonymous'",
        "Loop 4 loop\n    Hits: 250\n",
        "    Register 1: flonum 100 %\n",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing in\n{text}");
    }
    let plans = Planner::default().plan(&mut statistics, &touched, &codes);
    let text: String = plans.iter().map(|plan| plan_text(plan, &codes)).collect();
    for wanted in [
        "Observed type specialization of 'shorten' (code 0x7f0000000005, 7 words)\n",
        "The specialization is for the callsite of 2 arguments.\n",
        "It was planned for the type tuple:\n    Type 0: string\n    Type 1: fixnum\n",
        "These types received 250 hits (100% of the 250 callsite hits).\n",
        "The maximum stack depth is 3.\n",
        "Loop specialization of 'anonymous'",
        "The specialization is for the loop at 1.\n",
        "    Register 1: flonum\n",
        "These types received 250 iterations.\n",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing in\n{text}");
    }
}
