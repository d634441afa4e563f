use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::analysis::tests::{profile_of, stack_of};
use crate::analysis::{Filter, Measure, Weights};
use crate::model::{
    Builder, Count, Event, EventKind, Header, Mode, Profile, Sample, Wait, WaitKind,
};

fn weights(profile: &Profile) -> Weights<'_> {
    Weights::new(profile, Measure::Cpu, &Filter::default())
}

#[track_caller]
fn check_collapsed(lines: &str, expect: &str) {
    assert_eq!(collapsed(&weights(&profile_of(lines))), expect);
}

#[test]
fn collapsed_lines_have_no_separators_in_names() {
    check_collapsed("main;f 3\nmain;f 2\nmain 1", "main 1\nmain;f 5\n");
    check_collapsed("~f 2\n 1", "(frames are missing);f 2\n(no stack) 1\n");
    check_collapsed("a b;c\td 2", "a b;c d 2\n");
    let mut builder = Builder::new();
    let function = builder.function("x;y\nz", None, 0, crate::model::Group::Program);
    let frame = builder.frame(function, 0, 0, crate::model::Tier::Native, false);
    let stack = builder.stack(None, frame, crate::model::StackKind::Plain);
    builder.sample(Sample {
        stack: Some(stack),
        weight_ns: 4,
        ..Sample::default()
    });
    let profile = Profile::new(Header::default(), &mut builder, 0);
    assert_eq!(collapsed(&weights(&profile)), "x:y z 4\n");
}

#[test]
fn deep_stacks_are_cut() {
    let names = vec!["f"; DEPTH_MAX + 9].join(";");
    let profile = profile_of(&format!("{names} 1"));
    let text = collapsed(&weights(&profile));
    assert!(text.starts_with("(frames are missing);f;"));
    assert_eq!(text.matches('f').count(), DEPTH_MAX + 1);
    let json: Value = serde_json::from_str(&speedscope(&profile, false)).unwrap();
    let list = json["profiles"][0]["samples"][0].as_array().unwrap();
    assert_eq!(list.len(), DEPTH_MAX + 1);
}

#[test]
fn speedscope_merges_adjacent_samples() {
    let profile = profile_of("main;f 3\nmain;f 2\nmain 1\nmain;f 4");
    let json: Value = serde_json::from_str(&speedscope(&profile, false)).unwrap();
    let one = &json["profiles"][0];
    assert_eq!(one["weights"], serde_json::json!([5, 1, 4]));
    assert_eq!(one["endValue"], 10);
    assert_eq!(one["samples"], serde_json::json!([[1, 0], [1], [1, 0]]));
    assert_eq!(json["shared"]["frames"][1]["name"], "main");
}

/// Slices of the threads as `name from+duration` in microseconds.
#[track_caller]
fn check_timeline(lines: &str, expect: &[&str]) {
    let json: Value = serde_json::from_str(&chrome(&profile_of(lines), false)).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let slices = events
        .iter()
        .filter(|event| event["ph"] == "X" && event["pid"] == 1);
    let slices = slices.map(|event| {
        let name = event["name"].as_str().unwrap();
        // With some features of the reader numbers keep their digits.
        let number = |key: &str| event[key].as_f64().unwrap();
        format!("{name} {:?}+{:?}", number("ts"), number("dur"))
    });
    assert_eq!(slices.collect::<Vec<_>>(), expect);
}

#[test]
fn functions_last_while_samples_are_adjacent() {
    // Samples are at 10, 20, 30 ns and cover the time of their weight.
    check_timeline(
        "main;f 10\nmain;g 10",
        &["main 0.0+0.02", "f 0.0+0.01", "g 0.01+0.01"],
    );
    check_timeline("main 10\nmain 4", &["main 0.0+0.01", "main 0.016+0.004"]);
    check_timeline("main 10\nmain 90", &["main 0.0+0.02"]);
    check_timeline("f;f 10\nf 10", &["f 0.0+0.02", "f 0.0+0.01"]);
}

#[test]
fn the_shortest_calls_are_dropped() {
    let call = |from_ns, to_ns| super::chrome::Ended {
        from_ns,
        to_ns,
        depth: 0,
        place: crate::analysis::Place::Unknown,
    };
    let mut functions = vec![
        (1, vec![call(0, 5), call(5, 7)]),
        (2, vec![call(0, 2), call(2, 3)]),
    ];
    assert_eq!(super::chrome::drop_shortest(&mut functions, 4), 0);
    assert_eq!(super::chrome::drop_shortest(&mut functions, 2), 2);
    assert_eq!((functions[0].1.len(), functions[1].1.len()), (1, 0));
}

/// A profile with two threads of the same number, waits that overlap, and events of every kind.
fn busy() -> Profile {
    let mut builder = Builder::new();
    let threads = [builder.thread(7, "a"), builder.thread(7, "b")];
    let task = builder.task(0, None, None, 0);
    let stack = stack_of(&mut builder, "main:2;>job:3;%park");
    for (at_ns, thread) in [(10, threads[0]), (12, threads[1]), (5, threads[0])] {
        builder.sample(Sample {
            at_ns,
            thread,
            stack,
            weight_ns: 8,
            ..Sample::default()
        });
    }
    for from_ns in [0, 3, 6] {
        builder.wait(Wait {
            task,
            label: 0.into(),
            stack,
            from_ns,
            ready_ns: 8,
            resumed_ns: 9,
            kind: WaitKind::Other,
            on: None,
            holder: None,
            holder_stack: None,
            weight: 1,
        });
    }
    for (index, kind) in EventKind::ALL.iter().enumerate() {
        let text = builder.string("</script>\"");
        builder.event(Event {
            at_ns: index as u64,
            duration_ns: u64::MAX,
            thread: None,
            kind: *kind,
            text,
            stack,
        });
    }
    let header = Header {
        program: "\u{0}\"\\\u{2028}".to_owned(),
        modes: Mode::ALL.to_vec(),
        ..Header::default()
    };
    Profile::new(header, &mut builder, 20)
}

#[test]
fn slices_of_a_track_do_not_overlap_partly() {
    let json: Value = serde_json::from_str(&chrome(&busy(), true)).unwrap();
    let mut tracks: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
    for event in json["traceEvents"].as_array().unwrap() {
        let number = |key: &str| event[key].as_u64().unwrap();
        assert!(event["name"].is_string());
        if event["ph"] == "X" {
            // Times of this profile are exact as floating-point numbers, but for the longest.
            let nanoseconds = |key: &str| (event[key].as_f64().unwrap() * 1000.0).round() as u64;
            let from = nanoseconds("ts");
            let to = from.saturating_add(nanoseconds("dur"));
            tracks
                .entry((number("pid"), number("tid")))
                .or_default()
                .push((from, to));
        } else {
            assert_eq!(event["ph"], "M");
            assert!(event["args"]["name"].is_string() || event["args"]["sort_index"].is_u64());
        }
    }
    for slices in tracks.values() {
        for (from, to) in slices {
            for (other_from, other_to) in slices {
                let is_apart = other_to <= from || to <= other_from;
                let is_around = other_from <= from && to <= other_to;
                let is_within = from <= other_from && other_to <= to;
                assert!(is_apart || is_around || is_within, "{slices:?}");
            }
        }
    }
    // Two threads; the task waits three times and runs twice at the same time; kinds of events.
    assert_eq!(tracks.len(), 2 + 5 + EventKind::ALL.len());
}

/// Every column of a table has its length, and every list of indices stays within its table.
#[track_caller]
fn check_columns(table: &Value, columns: &[&str], limit: (&str, usize)) {
    let length = table["length"].as_u64().unwrap() as usize;
    for column in columns {
        assert_eq!(
            table[column].as_array().map(Vec::len),
            Some(length),
            "{column}"
        );
    }
    for value in table[limit.0].as_array().unwrap() {
        assert!(
            value
                .as_u64()
                .is_none_or(|value| (value as usize) < limit.1),
            "{}",
            limit.0
        );
    }
}

#[test]
fn firefox_tables_have_their_shape() {
    let profile = busy();
    let json: Value = serde_json::from_str(&firefox(&profile, true)).unwrap();
    assert_eq!(json["meta"]["preprocessedProfileVersion"], 70);
    let categories = json["meta"]["categories"].as_array().unwrap();
    assert!(
        categories
            .iter()
            .any(|category| category["color"] == "grey")
    );
    let shared = &json["shared"];
    let length = |table: &str| shared[table]["length"].as_u64().unwrap() as usize;
    let strings = shared["stringArray"].as_array().unwrap().len();
    let functions = [
        "name",
        "isJS",
        "relevantForJS",
        "resource",
        "source",
        "lineNumber",
    ];
    check_columns(&shared["funcTable"], &functions, ("name", strings));
    let more = ["columnNumber", "originalLocation"];
    check_columns(&shared["funcTable"], &more, ("source", length("sources")));
    let frames = [
        "address",
        "lib",
        "inlineDepth",
        "category",
        "subcategory",
        "func",
        "line",
    ];
    check_columns(
        &shared["frameTable"],
        &frames,
        ("func", length("funcTable")),
    );
    let more = [
        "nativeSymbol",
        "innerWindowID",
        "column",
        "originalLocation",
    ];
    check_columns(&shared["frameTable"], &more, ("category", categories.len()));
    let stacks = ["frame", "prefixOffset"];
    check_columns(
        &shared["stackTable"],
        &stacks,
        ("frame", length("frameTable")),
    );
    for (index, offset) in shared["stackTable"]["prefixOffset"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
    {
        assert!(offset.as_u64().unwrap() as usize <= index);
    }
    let sources = [
        "id",
        "filename",
        "startLine",
        "startColumn",
        "sourceMapURL",
        "content",
    ];
    check_columns(&shared["sources"], &sources, ("filename", strings));
    let threads = json["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 3);
    for thread in threads {
        let samples = ["stack", "time", "weight", "threadCPUDelta"];
        check_columns(
            &thread["samples"],
            &samples,
            ("stack", length("stackTable")),
        );
        let markers = ["data", "name", "startTime", "endTime", "phase", "category"];
        check_columns(&thread["markers"], &markers, ("name", strings));
    }
    assert_eq!(threads[0]["markers"]["length"], EventKind::ALL.len());
    assert_eq!(threads[2]["markers"]["length"], 3);
}

#[test]
fn callgrind_names_are_distinct_and_calls_exact() {
    let mut profile = profile_of("main;f 3\nmain;g 4\n 1");
    let functions = profile.rows.functions.clone();
    // A second procedure of the same name.
    profile.rows.functions[2].name = functions[1].name;
    profile.rows.functions[2].line = 9;
    profile.rows.counts.push(Count {
        caller: Some(0.into()),
        callee: 1.into(),
        calls: 1234,
        ..Count::default()
    });
    let text = callgrind(&weights(&profile));
    let has = |line: &str| text.lines().any(|other| other == line);
    for line in [
        "cfn=(3) f",
        "cfn=(4) f at 9",
        "calls=1234 1",
        "calls=1 9",
        "summary: 8",
        "0 1",
    ] {
        assert!(has(line), "{line}:\n{text}");
    }
}

proptest! {
    /// No name and no number breaks an export.
    #[test]
    fn any_name_is_written(
        names in prop::collection::vec(any::<String>(), 1..4),
        weight in any::<u64>(),
        at_ns in any::<u64>(),
    ) {
        let mut builder = Builder::new();
        let thread = builder.thread(at_ns, &names[0]);
        let task = builder.task(weight, Some(&names[0]), None, 0);
        let label = builder.label_set(&[(&names[0], &names[0])]);
        let mut stack = None;
        for name in &names {
            let function = builder.function(name, Some(name), 1, crate::model::Group::Program);
            let frame = builder.frame(function, 2, 3, crate::model::Tier::Inlined, false);
            stack = Some(builder.stack(stack, frame, crate::model::StackKind::Plain));
        }
        builder.sample(Sample { at_ns, thread, task, label, stack, weight_ns: weight });
        let profile = Profile::new(Header::default(), &mut builder, 0);
        for text in [
            speedscope(&profile, true),
            chrome(&profile, true),
            firefox(&profile, true),
        ] {
            let json: Value = serde_json::from_str(&text).unwrap();
            prop_assert!(json.is_object());
        }
        let text = collapsed(&weights(&profile));
        prop_assert_eq!(text.lines().count(), 1);
        prop_assert_eq!(text.trim_end().split(';').count(), names.len());
        let lines = callgrind(&weights(&profile)).lines().count();
        prop_assert!(lines < 100);
        prop_assert!(!pprof(&profile, true).is_empty());
    }
}
