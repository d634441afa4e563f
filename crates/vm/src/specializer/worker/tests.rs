use canny_spesh::log::LogWriter;
use canny_spesh::snapshot::LazyLiveness;
use canny_tables::opcodes::{Opcode, encode_abc};

use super::*;
use crate::thread::interrupt::InterruptState;

const CODE: CodeWord = CodeWord(0x7f00_0000_0005);
const OTHER: CodeWord = CodeWord(0x7f00_1000_0005);

fn snapshot_of(code: CodeWord, words: usize) -> Arc<CodeSnapshot> {
    let mut instructions = vec![Opcode::Nop as u32; words - 1];
    instructions.push(encode_abc(Opcode::Return, 0, 0, 0));
    Arc::new(CodeSnapshot {
        breaks: Default::default(),
        word: code,
        entry: code.0 + 0xfb,
        name: "procedure".to_owned(),
        liveness: LazyLiveness::new(instructions.clone().into(), 4),
        instructions: instructions.into(),
        pool: Vec::new(),
        arity: 1,
        frame_words: 4,
    })
}

/// A machine that has a snapshot only after it was wished for and the wish was granted.
#[derive(Clone, Default)]
struct FakeMachine {
    made: Arc<Mutex<HashMap<CodeWord, Arc<CodeSnapshot>>>>,
    wishes: Arc<Mutex<Vec<CodeWord>>>,
    is_prompt: bool,
}

impl FakeMachine {
    fn grant(&self) {
        for code in self.wishes.lock().drain(..) {
            let snapshot = snapshot_of(code, 10);
            self.made.lock().insert(code, snapshot);
        }
    }
}

impl Machine for FakeMachine {
    fn snapshot(&self, code: CodeWord) -> Option<Arc<CodeSnapshot>> {
        let known = self.made.lock().get(&code).cloned();
        if known.is_none() {
            self.wishes.lock().push(code);
            if self.is_prompt {
                self.grant();
            }
        }
        known
    }

    fn failed_operands(&self, _: CodeWord, _: usize) -> Type {
        Type::NONE
    }

    fn is_unstable(&self, _: CodeWord, _: usize) -> bool {
        false
    }
}

/// Notes what it is asked to compile, and behaves as configured.
struct FakeCompiler {
    seen: Arc<Mutex<Vec<Plan>>>,
    panics: bool,
    outcome: Outcome,
}

impl Compile for FakeCompiler {
    fn compile(&mut self, plan: &Plan, _: &dyn Profile, _: Option<&mut dyn Write>) -> Outcome {
        self.seen.lock().push(plan.clone());
        assert!(!self.panics, "asked for");
        self.outcome.clone()
    }
}

struct Bench {
    machine: FakeMachine,
    worker: LogWorker,
    quota: Arc<LogQuota>,
    seen: Arc<Mutex<Vec<Plan>>>,
}

fn bench(options: WorkerOptions, panics: bool, outcome: Outcome) -> Bench {
    let machine = FakeMachine::default();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let worker = LogWorker::default();
    let compile = FakeCompiler {
        seen: seen.clone(),
        panics,
        outcome,
    };
    worker.prepare(options, Box::new(machine.clone()), Box::new(compile));
    let interrupts = Arc::new(InterruptState::default());
    Bench {
        machine,
        worker,
        quota: Arc::new(LogQuota::new(0, interrupts)),
        seen,
    }
}

fn installed() -> Outcome {
    Outcome::Installed("somewhere".to_owned())
}

/// So many calls of a code.
fn calls(code: CodeWord, count: usize) -> LogWriter {
    let mut log = LogWriter::new();
    (0..count).for_each(|_| {
        log.enter(0x100, code, &[1]).leave(0x108, code, 0);
    });
    log
}

impl Bench {
    /// Hands a log over and waits as a blocking thread does; gives the names of what was planned so far.
    fn hand_over(&self, log: &LogWriter) -> Vec<CodeWord> {
        self.quota.give_turn_to_worker();
        assert!(self.worker.send(FullLog {
            quota: self.quota.clone(),
            buffer: log.words().to_vec(),
            used_words: log.words().len(),
            is_continued: true,
            is_first: false,
            waits: true,
        }));
        while self.quota.wait() {
            self.machine.grant();
            self.quota.give_turn_to_worker();
        }
        let seen = self.seen.lock();
        seen.iter().map(|plan| plan.code).collect()
    }
}

#[test]
fn a_hot_code_is_compiled_once_after_its_snapshot_was_made() {
    let bench = bench(WorkerOptions::default(), false, installed());
    assert_eq!(bench.hand_over(&calls(CODE, 100)), []);
    assert_eq!(bench.hand_over(&calls(CODE, 100)), [CODE]);
    assert_eq!(bench.hand_over(&calls(CODE, 100)), [CODE]);
    assert_eq!(bench.seen.lock()[0].parameter_types, [Type::PAIR]);
}

#[test]
fn a_panic_turns_off_its_candidate_only() {
    let path = std::env::temp_dir().join(format!("canny-worker-{}", std::process::id()));
    let options = WorkerOptions {
        log: Some(path.clone()),
        ..WorkerOptions::default()
    };
    let bench = bench(options, true, installed());
    assert_eq!(bench.hand_over(&calls(CODE, 200)), [CODE]);
    assert_eq!(bench.hand_over(&calls(CODE, 200)), [CODE]);
    assert_eq!(bench.hand_over(&calls(OTHER, 200)), [CODE, OTHER]);
    let text = std::fs::read_to_string(&path).expect("the worker writes its log");
    let _ = std::fs::remove_file(&path);
    for wanted in [
        "Log 1 of thread 0, 1400 words",
        "Latest statistics for 'procedure'",
        "Plan of 1 specialization\n",
        "turned off by an internal error",
        "asked for",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing in\n{text}");
    }
}

#[test]
fn a_limit_stops_compilation() {
    let options = WorkerOptions {
        limit: Some(1),
        ..WorkerOptions::default()
    };
    let bench = bench(options, false, installed());
    assert_eq!(bench.hand_over(&calls(CODE, 200)), [CODE]);
    assert_eq!(bench.hand_over(&calls(OTHER, 200)), [CODE]);
}

#[test]
fn what_was_not_possible_now_is_tried_again_and_what_was_refused_not() {
    let again = bench(
        WorkerOptions::default(),
        false,
        Outcome::TryAgain("soon".to_owned()),
    );
    assert_eq!(again.hand_over(&calls(CODE, 200)), [CODE]);
    assert_eq!(again.hand_over(&calls(OTHER, 1)), [CODE, CODE]);
    let never = bench(
        WorkerOptions::default(),
        false,
        Outcome::Refused("too large".to_owned()),
    );
    assert_eq!(never.hand_over(&calls(CODE, 200)), [CODE]);
    assert_eq!(never.hand_over(&calls(CODE, 200)), [CODE]);
}

#[test]
fn another_code_at_the_address_of_a_dead_one_begins_anew() {
    let bench = bench(WorkerOptions::default(), false, installed());
    assert_eq!(bench.hand_over(&calls(CODE, 200)), [CODE]);
    let another = snapshot_of(CODE, 20);
    bench.machine.made.lock().insert(CODE, another);
    // The log that told of it counted for the dead one.
    assert_eq!(bench.hand_over(&calls(CODE, 200)), [CODE]);
    assert_eq!(bench.hand_over(&calls(CODE, 200)), [CODE, CODE]);
}

#[test]
fn a_running_thread_gets_its_quota_back_after_a_rest() {
    let mut bench = bench(WorkerOptions::default(), false, installed());
    bench.machine.is_prompt = true;
    let buffer = bench.quota.take().expect("there is quota at first");
    let words = buffer.len();
    bench.quota.spend();
    assert!(bench.quota.take().is_none());
    let mut log = calls(CODE, 200).words().to_vec();
    let used_words = log.len();
    log.resize(words, 0);
    assert!(bench.worker.send(FullLog {
        quota: bench.quota.clone(),
        buffer: log,
        used_words,
        is_continued: false,
        is_first: false,
        waits: false,
    }));
    let patience = Instant::now() + Duration::from_secs(20);
    let mut again = None;
    while again.is_none() && Instant::now() < patience {
        bench.machine.grant();
        again = bench.quota.take();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(again.map(|buffer| buffer.len()), Some(words));
}

#[test]
fn quota_grows_while_logs_are_useful_and_no_further_than_its_limit() {
    let quota = LogQuota::new(0, Arc::new(InterruptState::default()));
    for _ in 0..10 {
        assert!(quota.take().is_some());
        quota.spend();
        quota.give_back(Vec::new(), true);
    }
    let mut count = 0;
    while quota.take().is_some() {
        quota.spend();
        count += 1;
    }
    assert_eq!(count, 3);
    (0..10).for_each(|_| quota.give_back(Vec::new(), false));
    assert!(quota.take().is_some());
}

#[test]
fn without_a_compiler_nothing_is_wanted() {
    let worker = LogWorker::default();
    assert!(!worker.is_wanted());
    let quota = Arc::new(LogQuota::new(0, Arc::new(InterruptState::default())));
    assert!(!worker.send(FullLog {
        quota,
        buffer: Vec::new(),
        used_words: 0,
        is_continued: false,
        is_first: false,
        waits: false,
    }));
}
