use super::*;
use crate::model::{
    Allocation, Builder, Count, Event, EventKind, Group, Header, Mode, Profile, Sample, StackKind,
    StringIndex, Tier, Wait, WaitKind,
};
use proptest::prelude::*;

const FIRST: &str = "{\"profile\":1}\n";

/// Reads a first line and these; shows what is wrong, or the number of samples.
#[track_caller]
fn check(lines: &str, expect: &str) {
    let shown = match read(format!("{FIRST}{lines}").as_bytes()) {
        Ok(profile) => {
            let cut = if profile.is_incomplete {
                ", incomplete"
            } else {
                ""
            };
            format!("{} samples{cut}", profile.rows.samples.len())
        }
        Err(error) => error.to_string(),
    };
    assert_eq!(shown, expect);
}

/// A profile with a row in each table.
pub fn full() -> (Header, Builder) {
    let header = Header {
        program: "a \"b\"\n.scm".to_owned(),
        arguments: vec!["-x".to_owned(), "ü".to_owned()],
        canny: "1.0".to_owned(),
        pid: 7,
        started_ns: 1_700_000_000_000_000_000,
        interval_ns: 1_000_000,
        allocation_interval_bytes: Some(524_288),
        modes: vec![Mode::Cpu, Mode::Wait],
    };
    let mut builder = Builder::new();
    let function = builder.function("f\u{1}", Some("a.scm"), 3, Group::Program);
    let frame = builder.frame(function, 4, 9, Tier::Inlined, true);
    let root = builder.stack(None, frame, StackKind::Cut);
    let stack = Some(builder.stack(Some(root), frame, StackKind::Started));
    let thread = builder.thread(12, "worker");
    let main = builder.task(0, None, None, 0);
    let task = builder.task(5, Some("job"), Some(main), 100);
    let label = builder.label_set(&[("request", "/")]);
    for at_ns in [50, 20, 90] {
        builder.sample(Sample {
            at_ns,
            thread,
            task,
            label,
            stack,
            weight_ns: 10,
        });
    }
    let on = Some(builder.string("mutex"));
    builder.wait(Wait {
        task,
        label,
        stack: None,
        from_ns: 1,
        ready_ns: 2,
        resumed_ns: 3,
        kind: WaitKind::Lock,
        on,
        holder: Some(task),
        holder_stack: stack,
        weight: 1,
    });
    let type_name = builder.string("pair");
    builder.allocation(Allocation {
        at_ns: 4,
        thread,
        task,
        label,
        stack,
        type_name,
        size_bytes: 16,
        weight_bytes: 524_288,
        reason: on,
        id: 1,
    });
    builder.freed(1);
    builder.event(Event {
        at_ns: 5,
        duration_ns: 6,
        thread: Some(thread),
        kind: EventKind::Collection,
        text: type_name,
        stack,
    });
    builder.count(Count {
        caller: None,
        callee: function,
        calls: 3,
        inclusive_ns: 8,
        ..Count::default()
    });
    builder.note(Some(function), 4, "not inlined");
    (header, builder)
}

#[test]
fn every_table_survives() {
    let (header, mut builder) = full();
    let built = Profile::new(header.clone(), &mut builder, 99);
    let bytes = write(Vec::new(), &built).unwrap();
    let profile = read(&bytes).unwrap();
    assert_eq!(profile.header, header);
    assert!(!profile.is_incomplete);
    // The file has the words of kinds as strings too, behind those of the builder.
    let mut expected = built;
    for word in ["lock", "collection"] {
        expected.rows.strings.push(word.into());
    }
    assert_eq!(profile, expected);
    let again = read(&write(Vec::new(), &profile).unwrap()).unwrap();
    assert_eq!(again, profile);
    assert_eq!(read(&gzip(&bytes)).unwrap(), profile);
}

/// Columns that came later are missing in older files.
#[test]
fn waits_without_holders_are_read() {
    let lines = r#"{"profile":1,"program":"a","arguments":[],"canny":"","pid":1,"started":0,"interval":1}
{"strings":["lock"]}
{"tasks":{"number":[0],"name":[null],"starter":[null],"started":[0]}}
{"labels":[[]]}
{"waits":{"task":[0],"label":[0],"stack":[null],"from":[1],"ready":[2],"resumed":[3],"kind":[0]MORE}}
"#;
    let with = |columns: &str| {
        let columns = format!(r#","on":[null]{columns}"#);
        read(lines.replace("MORE", &columns).as_bytes())
    };
    let profile = with("").unwrap();
    assert_eq!(profile.rows.waits[0].holder, None);
    let profile = with(r#","holder":[0],"holder_stack":[null]"#).unwrap();
    assert!(profile.rows.waits[0].holder.is_some());
    assert!(with(r#","holder":[0,0]"#).is_err(), "a longer column");
    assert!(with(r#","holder":[1]"#).is_err(), "no such task");
}

#[test]
fn rows_may_come_in_parts() {
    let (header, mut builder) = full();
    let mut writer = Writer::new(Vec::new(), &header).unwrap();
    writer.flush(&mut builder).unwrap();
    let name = builder.string("later");
    let function = builder.function("later", None, 0, Group::Library);
    let frame = builder.frame(function, 0, 0, Tier::Compiled, false);
    let stack = Some(builder.stack(None, frame, StackKind::Plain));
    let kind = WaitKind::Timer;
    for (from_ns, on) in [(10, None), (20, Some(name))] {
        builder.wait(Wait {
            task: 0.into(),
            label: 0.into(),
            stack,
            from_ns,
            ready_ns: 30,
            resumed_ns: 40,
            kind,
            on,
            holder: None,
            holder_stack: None,
            weight: 1,
        });
    }
    builder.sample(Sample {
        at_ns: 80,
        stack,
        ..Sample::default()
    });
    writer.flush(&mut builder).unwrap();
    writer.lost(3).unwrap();
    writer.lost(4).unwrap();
    let bytes = writer.finish(100).unwrap();
    let profile = read(&bytes).unwrap();
    let times: Vec<u64> = profile.rows.samples.iter().map(|one| one.at_ns).collect();
    assert_eq!(times, [50, 20, 90, 80]);
    assert_eq!(profile.lost, 7);
    let wait = profile.rows.waits[2];
    assert_eq!(wait.kind, WaitKind::Timer);
    let on: Option<StringIndex> = wait.on;
    assert_eq!(on.map(|on| profile.string(on)), Some("later"));
    assert_eq!(profile.function_name(function), "later");
}

#[test]
fn damaged_lines_are_named() {
    check("", "0 samples, incomplete");
    check("{\"end\":5}\n", "0 samples");
    check("{\"end\":5}", "0 samples");
    check("{\"end\":5}\n\n", "0 samples");
    check(
        "{\"unknown\":{\"x\":[1]}}\n{\"end\":5,\"more\":null}",
        "0 samples",
    );
    check("{\"strings\":[\"a", "0 samples, incomplete");
    check(
        "{\"strings\":[\"a\n{\"end\":5}",
        "line 2: EOF while parsing a string at column 14",
    );
    check(
        "{\"strings\":[7]}",
        "line 2: invalid type: integer `7`, expected a string at column 13",
    );
    check(
        "{\"threads\":{\"id\":[1],\"name\":[0]}}",
        "line 2: `threads` refers to row 0 of `strings`, which has 0 rows so far",
    );
    check(
        "{\"threads\":{\"id\":[1],\"name\":[]}}",
        "line 2: the columns of `threads` differ in length",
    );
    check(
        "{\"threads\":{\"id\":[1]}}\n{\"end\":1}",
        "line 2: missing field `name` at column 21",
    );
    check(
        "{\"threads\":{\"id\":[-1],\"name\":[]}}",
        "line 2: invalid value: integer `-1`, expected u64 at column 20",
    );
    check(
        "{\"stacks\":{\"parent\":[0],\"frame\":[0],\"kind\":[0]}}",
        "line 2: `stacks` refers to row 0 of `stacks`, which has 0 rows so far",
    );
    let tables = "{\"strings\":[\"t\"],\"threads\":{\"id\":[1],\"name\":[0]},\"tasks\":{\"number\":[0],\
         \"name\":[null],\"starter\":[null],\"started\":[0]},\"labels\":[[]]}\n";
    let samples = |at: &str| {
        format!(
            "{tables}{{\"samples\":{{\"at\":{at},\"thread\":[0,0],\"task\":[0,0],\"label\":[0,0],\
             \"stack\":[null,null],\"weight\":[1,1]}}}}\n{{\"end\":1}}"
        )
    };
    check(&samples("[1,2]"), "2 samples");
    check(&samples("[5,-4]"), "2 samples");
    let time = "line 3: the time of a sample is before the start of the profile or too large";
    check(&samples("[1,-2]"), time);
    check(&samples("[9223372036854775807,9223372036854775807]"), time);
}

#[test]
fn other_files_are_refused() {
    let shown = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
    let none = "line 1: not a profile of Canny; expected the member `profile`";
    assert_eq!(shown(b""), none);
    assert_eq!(shown(b"{}"), none);
    assert_eq!(shown(b"\xff\xfe"), none);
    assert_eq!(
        shown(b"{\"profile\":2}"),
        "line 1: version 2 of the profile format; expected version 1"
    );
    assert!(shown(b"\x1f\x8bxxxxxxxxxxxxxxxxxxxxx").starts_with("the gzip data is damaged"));
    // Deep nesting is no way to fill the native stack.
    let deep = format!("{FIRST}{{\"unknown\":{}", "[".repeat(1 << 20));
    assert!(read(deep.as_bytes()).unwrap().is_incomplete);
}

#[test]
fn a_cut_file_is_read_as_far_as_it_goes() {
    let (header, mut builder) = full();
    let profile = Profile::new(header, &mut builder, 99);
    let bytes = write(Vec::new(), &profile).unwrap();
    let first = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    for length in first..bytes.len() - 1 {
        let cut = read(&bytes[..length]).unwrap();
        let all_but_line_end = length == bytes.len() - 1;
        assert_eq!(cut.is_incomplete, !all_but_line_end, "{length} bytes");
    }
    let packed = gzip(&bytes);
    for length in 0..packed.len() {
        // A cut is no damage; too little for a first line is no profile.
        if let Err(error) = read(&packed[..length]) {
            assert_eq!(error.problem, Problem::NotAProfile);
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
        let mut file = FIRST.as_bytes().to_vec();
        file.extend(&bytes);
        let _ = read(&file);
        let _ = read(&gzip(&file));
    }

    #[test]
    fn damaged_profiles_are_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 32..127_u8), 1..6)
    ) {
        let (header, mut builder) = full();
        let profile = Profile::new(header, &mut builder, 99);
        let mut bytes = write(Vec::new(), &profile).unwrap();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(profile) = read(&bytes) {
            let again = read(&write(Vec::new(), &profile).unwrap()).unwrap();
            prop_assert_eq!(&again.rows.samples, &profile.rows.samples);
            let walk = profile.walk(profile.rows.samples.first().and_then(|one| one.stack), true);
            prop_assert!(walk.count() <= profile.rows.stacks.len());
        }
    }
}

/// The example of the page about the format is a profile.
#[test]
fn the_example_of_the_page_is_read() {
    let page = include_str!("../../../../docs/profile-format.md");
    let (_, example) = page.split_once("```json\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let profile = read(example.replace(",\n ", ",").as_bytes()).unwrap();
    assert!(!profile.is_incomplete);
    let times: Vec<u64> = profile.rows.samples.iter().map(|one| one.at_ns).collect();
    assert_eq!(times, [1_000_000, 2_000_000]);
}
