//! The profile that the tools are shown.
//!
//! `main` calls `fib`, which calls itself; `main` and `even` / `odd` call each other in a circle; a
//! task waits for a lock; a name has the characters that formats use themselves.

use canny_profile::model::{
    Allocation, Builder, Event, EventKind, FrameIndex, Group, Header, LabelSetIndex, Mode, Profile,
    Sample, StackIndex, StackKind, TaskIndex, ThreadIndex, Tier, Wait, WaitKind,
};

/// A name that breaks formats which do not escape.
const HOSTILE: &str = "a \"b\" 'c';(1) d\\\n\t<e>&é→😀 9";

const MILLISECOND: u64 = 1_000_000;

struct Maker {
    builder: Builder,
    frames: Vec<(&'static str, FrameIndex)>,
    main: TaskIndex,
    job: TaskIndex,
    worker: ThreadIndex,
    second: ThreadIndex,
    labels: LabelSetIndex,
}

impl Maker {
    fn frame(&mut self, name: &'static str, line: u32, group: Group, tier: Tier) {
        let function = self
            .builder
            .function(name, Some("dir/a b.scm"), line, group);
        let frame = self.builder.frame(function, line + 1, 3, tier, false);
        self.frames.push((name, frame));
    }

    /// A stack of names, oldest first.
    fn stack(&mut self, parent: Option<StackIndex>, names: &[&str]) -> Option<StackIndex> {
        let mut stack = parent;
        for name in names {
            let frame = self
                .frames
                .iter()
                .find(|(other, _)| other == name)
                .unwrap()
                .1;
            stack = Some(self.builder.stack(stack, frame, StackKind::Plain));
        }
        stack
    }

    /// A sample of so many milliseconds.
    fn sample(&mut self, at_ms: u64, ms: u64, stack: Option<StackIndex>) {
        self.builder.sample(Sample {
            at_ns: at_ms * MILLISECOND,
            thread: self.worker,
            task: self.main,
            label: LabelSetIndex::default(),
            stack,
            weight_ns: ms * MILLISECOND,
        });
    }
}

fn maker() -> Maker {
    let mut builder = Builder::new();
    let main = builder.task(0, None, None, 0);
    let mut maker = Maker {
        main,
        job: builder.task(4, Some("job; \"4\""), Some(main), MILLISECOND),
        worker: builder.thread(4001, "worker 1"),
        second: builder.thread(4002, "worker <2>"),
        labels: builder.label_set(&[("request", "/a?b=\"c\""), ("task", "mine")]),
        builder,
        frames: Vec::new(),
    };
    maker.frame("main", 1, Group::Program, Tier::Interpreted);
    maker.frame("fib", 10, Group::Program, Tier::Compiled);
    maker.frame("even", 20, Group::Program, Tier::Compiled);
    maker.frame("odd", 30, Group::Library, Tier::Inlined);
    maker.frame(HOSTILE, 40, Group::Machine, Tier::Native);
    maker.frame("start-job", 50, Group::Program, Tier::Compiled);
    maker
}

/// Processor time: 100 ms, of which `fib` has 40 itself and 50 in all.
pub fn sample_profile() -> Profile {
    let mut maker = maker();
    let fib = maker.stack(None, &["main", "fib", "fib", "fib"]);
    let leaf = maker.stack(fib, &[HOSTILE]);
    let circle = maker.stack(None, &["main", "even", "odd", "even"]);
    let main_only = maker.stack(None, &["main"]);
    maker.sample(30, 30, fib);
    maker.sample(40, 10, leaf);
    maker.sample(60, 20, circle);
    maker.sample(70, 10, fib);
    maker.sample(85, 5, main_only);
    maker.sample(90, 5, None);
    let start = maker.frames.last().unwrap().1;
    let job = maker.builder.stack(main_only, start, StackKind::Started);
    let cut = maker.frames[1].1;
    let cut = Some(maker.builder.stack(None, cut, StackKind::Cut));
    for (at_ms, stack) in [(50, Some(job)), (60, cut)] {
        maker.builder.sample(Sample {
            at_ns: at_ms * MILLISECOND,
            thread: maker.second,
            task: maker.job,
            label: maker.labels,
            stack,
            weight_ns: 10 * MILLISECOND,
        });
    }
    others(&mut maker, fib, job);
    let header = Header {
        program: "pro\"gram.scm".to_owned(),
        arguments: vec!["--x".to_owned()],
        canny: "0.1".to_owned(),
        pid: 4000,
        started_ns: 1_700_000_000_000_000_000,
        interval_ns: MILLISECOND,
        allocation_interval_bytes: Some(512 * 1024),
        modes: vec![Mode::Cpu, Mode::Wait, Mode::Allocation],
    };
    Profile::new(header, &mut maker.builder, 100 * MILLISECOND)
}

/// Waits, allocations and events.
fn others(maker: &mut Maker, fib: Option<StackIndex>, job: StackIndex) {
    let on = Some(maker.builder.string("queue-\"lock\""));
    for (from, ready, resumed) in [(10, 20, 25), (25, 40, 41)] {
        maker.builder.wait(Wait {
            task: maker.job,
            label: maker.labels,
            stack: Some(job),
            from_ns: from * MILLISECOND,
            ready_ns: ready * MILLISECOND,
            resumed_ns: resumed * MILLISECOND,
            kind: WaitKind::Lock,
            on,
            holder: None,
            holder_stack: None,
            weight: 1,
        });
    }
    let pair = maker.builder.string("pair");
    let reason = Some(maker.builder.string("it escapes into a vector"));
    for id in 0..4 {
        maker.builder.allocation(Allocation {
            at_ns: 10 * MILLISECOND * (id + 1),
            thread: maker.worker,
            task: maker.main,
            label: LabelSetIndex::default(),
            stack: fib,
            type_name: pair,
            size_bytes: 16,
            weight_bytes: 512 * 1024,
            reason,
            id,
        });
    }
    maker.builder.freed(0);
    maker.builder.freed(1);
    let name = maker.builder.string("fib");
    let minor = maker.builder.string("minor \"1\"");
    maker.builder.event(Event {
        at_ns: 35 * MILLISECOND,
        duration_ns: 2 * MILLISECOND,
        thread: Some(maker.worker),
        kind: EventKind::Collection,
        text: minor,
        stack: fib,
    });
    maker.builder.event(Event {
        at_ns: 12 * MILLISECOND,
        duration_ns: MILLISECOND,
        thread: None,
        kind: EventKind::Compilation,
        text: name,
        stack: None,
    });
}
