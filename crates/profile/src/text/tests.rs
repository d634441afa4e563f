use canny_report::columns;
use proptest::prelude::*;

use super::*;
use crate::analysis::tests::profile_of;
use crate::analysis::{
    Filter, Grain, Measure, Weights, allocation_sites, allocation_types, bottom_up,
    collection_causes, function_counts, functions_changed, neighbours, selected, stacks_changed,
    top_down, totals, wait_places,
};
use crate::export;
use crate::model::{
    Allocation, Builder, Count, Event, EventKind, Group, Header, Note, Profile, Sample, StackKind,
    Tier, Wait, WaitKind,
};

fn weights(profile: &Profile) -> Weights<'_> {
    Weights::new(profile, Measure::Cpu, &Filter::default())
}

fn style(width: usize) -> Style {
    Style {
        width,
        ..Style::default()
    }
}

const LINES: &str = "main;fib;fib 60000000\nmain;print 30000000\nmain 10000000";

#[track_caller]
fn check(text: &str, expect: &[&str]) {
    assert_eq!(text.lines().collect::<Vec<_>>(), expect, "\n{text}");
}

#[test]
fn functions_have_shares() {
    let profile = profile_of(LINES);
    let weights = weights(&profile);
    let totals = totals(&weights, Grain::Function);
    check(
        &functions_table(&weights, &totals, &style(60)),
        &[
            "    self   total       time  function",
            "  60.0 %  60.0 %    60.0 ms  fib                a.scm:1",
            "  30.0 %  30.0 %    30.0 ms  print              a.scm:1",
            "  10.0 % 100.0 %    10.0 ms  main               a.scm:1",
            "100 ms in 3 samples",
        ],
    );
    let few = Style {
        rows_max: 1,
        ..style(60)
    };
    let text = functions_table(&weights, &totals, &few);
    assert!(text.contains("\n2 more\n"));
}

#[test]
fn guests_have_tables_of_functions_and_lines() {
    assert_eq!(guests_tables(&weights(&profile_of(LINES)), &style(80)), "");
    let mut builder = Builder::new();
    let (thread, task) = (builder.thread(1, "worker"), builder.task(0, None, None, 0));
    // Lines and weights of the function that was running, and how it was.
    for (line, weight_ns, tier) in [
        (7, 50_000_000, Tier::Compiled),
        (7, 10_000_000, Tier::Interpreted),
        (0, 40_000_000, Tier::Compiled),
    ] {
        let start = builder.function("_start", Some("a.wasm"), 0, Group::Foreign);
        let start = builder.frame(start, 0, 0, Tier::Interpreted, false);
        let start = builder.stack(None, start, StackKind::Plain);
        let work = builder.function("work", Some("src/a.c"), 0, Group::Foreign);
        let work = builder.frame(work, line, 3, tier, false);
        let stack = Some(builder.stack(Some(start), work, StackKind::Plain));
        let sample = Sample {
            thread,
            task,
            stack,
            weight_ns,
            ..Sample::default()
        };
        builder.sample(sample);
    }
    let profile = Profile::new(Header::default(), &mut builder, 100);
    check(
        &guests_tables(&weights(&profile), &style(80)),
        &[
            "    self   total       time  code          guest function",
            " 100.0 % 100.0 %     100 ms  machine code  work                  src/a.c",
            "   0.0 % 100.0 %       0 ms  interpreted   _start                a.wasm",
            "",
            "    self   total       time  code          line of a guest",
            "  60.0 %  60.0 %    60.0 ms  machine code  work                  src/a.c:7",
        ],
    );
}

#[test]
fn a_flame_graph_has_bars() {
    let profile = profile_of(LINES);
    let weights = weights(&profile);
    let tree = top_down(&weights, Grain::Function);
    check(
        &flame_graph(&weights, &tree, 0.2, &style(50)),
        &[
            "████████████████ 100.0 %  main",
            "█████████▋        60.0 %    ├ fib",
            "█████████▋        60.0 %      fib",
            "████▊             30.0 %    ├ print",
        ],
    );
    let text = tree_text(&weights, &tree, 0.5, &style(50));
    check(
        &text,
        &[
            " 100.0 %     100 ms    10.0 ms  main",
            "  60.0 %    60.0 ms       0 ms    fib",
            "  60.0 %    60.0 ms    60.0 ms      fib",
        ],
    );
}

#[test]
fn callers_stand_above_and_callees_below() {
    let profile = profile_of(LINES);
    let weights = weights(&profile);
    let found = totals(&weights, Grain::Function);
    let main = found
        .iter()
        .find(|one| one.place.name(&profile) == "main")
        .unwrap();
    let main = main.place.function().unwrap();
    let text = callers_table(&weights, main, &neighbours(&weights, main), &style(60));
    check(
        &text,
        &[
            " 100.0 %     100 ms ↓ (beginning of the stack)",
            " 100.0 %     100 ms ● main                   a.scm:1",
            "  10.0 %    10.0 ms   (itself)",
            "  60.0 %    60.0 ms → fib                    a.scm:1",
            "  30.0 %    30.0 ms → print                  a.scm:1",
        ],
    );
}

#[test]
fn changes_have_signs() {
    let before = profile_of("f 50\ng 50");
    let after = profile_of("f 75\ng 25");
    let changes = functions_changed(&weights(&before), &weights(&after));
    let text = changes_table(&changes, &style(60));
    assert!(text.contains("  50.0 %  75.0 %    +25.0 p  f"), "{text}");
    assert!(text.contains("  50.0 %  25.0 %    -25.0 p  g"), "{text}");
}

#[test]
fn notes_explain_the_hottest_places() {
    let mut profile = profile_of("main:3;f:5 60\nmain:3 40");
    let texts = ["calls an unknown procedure", "Was compiled."].map(|text| {
        profile.rows.strings.push(text.into());
        (profile.rows.strings.len() - 1) as u32
    });
    for (function, line, text) in [(1, 5, texts[0]), (0, 0, texts[1]), (0, 9, texts[1])] {
        profile.rows.notes.push(Note {
            function: Some(function.into()),
            line,
            text: text.into(),
        });
    }
    check(
        &explain(&weights(&profile), &style(80)),
        &[
            " 60.0 %  f (a.scm:5): calls an unknown procedure.",
            " 40.0 %  main (a.scm:1): Was compiled.",
        ],
    );
}

#[test]
fn colours_are_a_flag() {
    let profile = profile_of(LINES);
    let weights = weights(&profile);
    let totals = totals(&weights, Grain::Function);
    let coloured = Style {
        is_coloured: true,
        ..style(60)
    };
    assert!(functions_table(&weights, &totals, &coloured).contains("\u{1b}[31m"));
    assert!(!functions_table(&weights, &totals, &style(60)).contains('\u{1b}'));
}

#[test]
fn lines_keep_to_any_width() {
    let name = "\u{1b}[2J宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽\r";
    let profile = profile_of(&format!("{name};b 10"));
    let weights = weights(&profile);
    let found = totals(&weights, Grain::Line);
    for width in 0..90 {
        let text = functions_table(&weights, &found, &style(width));
        let tree = flame_graph(
            &weights,
            &top_down(&weights, Grain::Line),
            0.0,
            &style(width),
        );
        for line in text.lines().skip(1).chain(tree.lines()) {
            assert!(columns(line) <= width.max(30), "{width}: {line}");
        }
        assert!(!text.contains('\u{1b}') && !tree.contains('\u{1b}'));
    }
}

#[test]
fn counts_show_how_calls_ran() {
    let mut profile = profile_of("main;f 1");
    profile.rows.counts.push(Count {
        caller: None,
        callee: 1.into(),
        calls: 4,
        inclusive_ns: 3_000_000,
        exclusive_ns: 2_000_000,
        interpreted: 1,
        compiled: 3,
        inlined: 0,
    });
    let text = counts_table(&profile, &function_counts(&profile), &style(90));
    let row = "           4     2.0 ms     3.0 ms   25 %   75 %    0 %  f";
    assert!(text.lines().nth(1).unwrap().starts_with(row), "{text}");
}

#[test]
fn waits_and_allocations_have_tables() {
    let mut builder = Builder::new();
    let task = builder.task(0, None, None, 0);
    let thread = builder.thread(1, "");
    let stack = crate::analysis::tests::stack_of(&mut builder, "main:7;%park");
    let on = Some(builder.string("queue"));
    builder.wait(Wait {
        task,
        label: 0.into(),
        stack,
        from_ns: 0,
        ready_ns: 2_000_000,
        resumed_ns: 3_000_000,
        kind: WaitKind::Channel,
        on,
        holder: None,
        holder_stack: None,
        weight: 1,
    });
    let type_name = builder.string("pair");
    builder.allocation(Allocation {
        at_ns: 1,
        thread,
        task,
        stack,
        type_name,
        size_bytes: 16,
        weight_bytes: 5_000,
        reason: on,
        ..Allocation::default()
    });
    builder.event(Event {
        at_ns: 9,
        duration_ns: 1_000_000,
        thread: None,
        kind: EventKind::Collection,
        text: type_name,
        stack: None,
    });
    let profile = Profile::new(Header::default(), &mut builder, 9);
    let all = Filter::default();
    let waits = waits_table(&profile, &wait_places(&profile, &all), &style(100));
    let row = "     2.0 ms        1     2.0 ms     1.0 ms  channel queue";
    assert!(waits.lines().nth(1).unwrap().starts_with(row), "{waits}");
    let types = allocation_types(&profile, &all, Grain::Line);
    check(
        &allocation_types_table(&profile, &types, &style(60)),
        &[
            "   share    total     live  type, and who allocates it",
            " 100.0 %   5.0 kB   5.0 kB  pair",
            " 100.0 %   5.0 kB   5.0 kB    main               a.scm:7",
        ],
    );
    let sites = allocation_sites(&profile, &all, Grain::Line);
    check(
        &allocation_sites_table(&profile, &sites, &style(60)),
        &[
            "   share    total     live  function, and what it allocates",
            " 100.0 %   5.0 kB   5.0 kB  main               a.scm:7",
            " 100.0 %   5.0 kB   5.0 kB    pair",
            " 100.0 %                      since queue",
        ],
    );
    let causes = collection_causes(&profile, &all, Grain::Line);
    let text = collections_table(&profile, &causes, &style(80));
    assert!(
        text.contains(" 100.0 %   5.0 kB        1     1.0 ms  main"),
        "{text}"
    );
}

#[test]
fn locks_show_who_has_them() {
    let mut builder = Builder::new();
    builder.task(0, Some("main"), None, 0);
    let holder = builder.task(7, Some("writer"), None, 0);
    let place = crate::analysis::tests::stack_of(&mut builder, "save:9;%park");
    let stack = crate::analysis::tests::stack_of(&mut builder, "read:7;%park");
    let on = Some(builder.string("table"));
    for number in [1, 2] {
        let task = builder.task(number, None, None, 0);
        builder.wait(Wait {
            task,
            label: 0.into(),
            stack,
            from_ns: 0,
            ready_ns: 3_000_000,
            resumed_ns: 3_000_000,
            kind: WaitKind::Lock,
            on,
            holder: Some(holder),
            holder_stack: place,
            weight: 1,
        });
    }
    let profile = Profile::new(Header::default(), &mut builder, 9);
    let waits = wait_places(&profile, &Filter::default());
    assert_eq!((waits[0].tasks, waits[0].holders.len()), (2, 1));
    let table = waits_table(&profile, &waits, &style(120));
    let row = table.lines().nth(2).unwrap();
    assert!(row.starts_with("     6.0 ms        2"), "{table}");
    assert!(row.contains("held by writer (7)"), "{table}");
    assert!(row.contains("save"), "{table}");
    let text = explain_locks(&profile, &waits, &style(120));
    let wanted = " 100.0 %  read (a.scm:7): 2 tasks waited here for table, 6.0 ms in all; mostly held by \
                  writer (7) in save (a.scm:9).\n";
    assert_eq!(text.trim_start(), wanted.trim_start());
}

proptest! {
    /// A damaged profile that is read is summed up, shown and exported.
    #[test]
    fn any_profile_is_shown(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 48..58_u8), 1..9),
        is_async in any::<bool>(),
        time_ns in prop::option::of(0..100_u64),
    ) {
        let (header, mut builder) = crate::file::tests::full();
        let profile = Profile::new(header, &mut builder, 99);
        let mut bytes = crate::file::write(Vec::new(), &profile).unwrap();
        let digits = (0..bytes.len()).filter(|place| bytes[*place].is_ascii_digit());
        let digits: Vec<usize> = digits.collect();
        for (place, byte) in changes {
            bytes[digits[place.index(digits.len())]] = byte;
        }
        let Ok(profile) = crate::file::read(&bytes) else {
            return Ok(());
        };
        let filter = Filter { is_async, time_ns: time_ns.map(|from| from..60), ..Filter::default() };
        let profile = selected(&profile, &filter);
        let style = style(80);
        for measure in [
            Measure::Cpu,
            Measure::Waiting,
            Measure::Allocated,
            Measure::Live,
            Measure::Collector,
        ] {
            let weights = Weights::new(&profile, measure, &filter);
            for grain in [Grain::Function, Grain::Line] {
                let found = totals(&weights, grain);
                functions_table(&weights, &found, &style);
                flame_graph(&weights, &top_down(&weights, grain), 0.0, &style);
                tree_text(&weights, &bottom_up(&weights, grain, 9), 0.0, &style);
                for function in found.iter().filter_map(|one| one.place.function()) {
                    let found = neighbours(&weights, function);
                    callers_table(&weights, function, &found, &style);
                }
            }
            explain(&weights, &style);
            export::collapsed(&weights);
            export::callgrind(&weights);
            changes_table(&functions_changed(&weights, &weights), &style);
            changes_table(&stacks_changed(&weights, &weights), &style);
        }
        let waits = wait_places(&profile, &filter);
        waits_table(&profile, &waits, &style);
        explain_locks(&profile, &waits, &style);
        let all = (&profile, &filter, Grain::Line);
        allocation_types_table(&profile, &allocation_types(all.0, all.1, all.2), &style);
        allocation_sites_table(&profile, &allocation_sites(all.0, all.1, all.2), &style);
        collections_table(&profile, &collection_causes(all.0, all.1, all.2), &style);
        counts_table(&profile, &function_counts(&profile), &style);
        export::speedscope(&profile, is_async);
        export::chrome(&profile, is_async);
        export::firefox(&profile, is_async);
        export::pprof(&profile, is_async);
    }
}
