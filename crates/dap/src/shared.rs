//! The state of a debugger's connection: the client's settings, the tasks that stand still, breakpoints,
//! numbers of values. It knows nothing of requests.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, OnceLock, Weak};

use canny_lib::debug::rerun::{Rerun, Resumption, Runner};
use canny_lib::evaluation::Evaluation;
use canny_locks::{Condvar, Mutex};
use canny_vm::debug::{BreakpointId, ExpansionId, Kept, PartName, TaskKey};
use canny_vm::guests::CodeText;
use canny_vm::{Thread, Vm};
use serde_json::{Value as Json, json};

use crate::numbers::Numbers;
use crate::output::Output;
use crate::queues::Tasks;

/// How the client has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The program goes on without it.
    Detached,
    /// The program is to end.
    Terminate,
}

/// The breakpoints that are set.
#[derive(Default)]
pub struct Breakpoints {
    /// By the path that the client gave.
    pub by_file: HashMap<String, Vec<BreakpointId>>,
    /// At the beginning of procedures.
    pub procedures: Vec<BreakpointId>,
    /// Where variables are assigned and parts of values change, with their names.
    pub data: Vec<(BreakpointId, String)>,
    /// Where tasks begin and end, with the client's filters.
    pub tasks: Vec<(BreakpointId, String)>,
    /// Where objects are raised.
    pub raises: Vec<BreakpointId>,
    /// Those whose code was not loaded when they were set.
    pub waiting: Vec<BreakpointId>,
}

impl Breakpoints {
    /// All of them, in the order in which they were set.
    pub fn in_order(&self) -> Vec<BreakpointId> {
        let files = self.by_file.values().flatten();
        let others = self.procedures.iter().chain(&self.raises);
        let named = self.data.iter().chain(&self.tasks).map(|(id, _)| id);
        let mut all: Vec<BreakpointId> = files.chain(others).chain(named).copied().collect();
        all.sort();
        all
    }

    /// All of them, to be taken away.
    pub fn take_all(&mut self) -> Vec<BreakpointId> {
        let all = self.in_order();
        *self = Breakpoints::default();
        all
    }
}

/// The client and the machine, as all threads of the debugger know them.
pub struct Shared {
    pub(crate) machine: Weak<Vm>,
    pub(crate) output: Arc<Output>,
    pub(crate) tasks: Mutex<Tasks>,
    pub(crate) numbers: Mutex<Numbers>,
    /// The expansions that the client has stepped into.
    pub(crate) opened: Mutex<HashMap<TaskKey, ExpansionId>>,
    pub(crate) breakpoints: Mutex<Breakpoints>,
    /// One thread at a time keeps values.
    pub(crate) keeping: Mutex<()>,
    /// Parts of values that the client may watch, by number.
    pub(crate) watchables: Mutex<Vec<(Kept, PartName)>>,
    /// Names of texts without files; their numbers count from one.
    texts: Mutex<Vec<String>>,
    /// Code of guests, by name.
    listings: Mutex<HashMap<String, String>>,
    pub(crate) settings: Mutex<Settings>,
    phase: Mutex<Phase>,
    changed: Condvar,
    /// The program is replayed.
    pub(crate) replay: OnceLock<Replay>,
}

/// A replay that a client looks at.
pub(crate) struct Replay {
    pub rerun: Rerun,
    /// Replaces the process by the next run.
    pub run: Run,
    /// It goes to a place that another run has named.
    pub is_resumed: bool,
}

/// Replaces the process by the next run; comes back with a message if that is not possible.
pub type Run = Box<dyn Fn(&Resumption) -> String + Send + Sync>;

impl Runner for Shared {
    fn breakpoints(&self) -> Vec<String> {
        // The adapter sets them again.
        Vec::new()
    }

    fn run(&self, resumption: &Resumption) -> String {
        let Some(replay) = self.replay.get() else {
            return "The program is not replayed.".to_owned();
        };
        self.output.event(RERUN, json!({}));
        (replay.run)(resumption)
    }

    fn say(&self, text: &str) {
        self.output.say("console", text);
    }
}

/// The event by which an adapter learns that another run takes the place of this one.
pub const RERUN: &str = "canny.rerun";

/// The client's wishes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub first_line: i64,
    pub first_column: i64,
    pub stops_on_entry: bool,
    /// All tasks stop when one does.
    pub stops_all: bool,
    /// It wants to know of work that takes long.
    pub shows_progress: bool,
}

/// How far the client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Breakpoints are being set.
    Configuring,
    /// The program may run.
    Running,
    Gone(Ending),
}

impl Shared {
    /// For a machine, and a client that reads from a stream.
    pub fn new(machine: &Arc<Vm>, output: Box<dyn Write + Send>) -> Arc<Shared> {
        Arc::new(Shared {
            machine: Arc::downgrade(machine),
            output: Output::new(output),
            tasks: Mutex::default(),
            numbers: Mutex::default(),
            opened: Mutex::default(),
            breakpoints: Mutex::default(),
            keeping: Mutex::default(),
            watchables: Mutex::default(),
            texts: Mutex::default(),
            listings: Mutex::default(),
            settings: Mutex::new(Settings {
                first_line: 1,
                first_column: 1,
                stops_on_entry: false,
                stops_all: false,
                shows_progress: false,
            }),
            phase: Mutex::new(Phase::Configuring),
            changed: Condvar::new(),
            replay: OnceLock::new(),
        })
    }

    /// The client is further, or gone.
    pub fn change_phase(&self, next: Phase) {
        *self.phase.lock() = next;
        self.changed.notify_all();
    }

    /// Waits until the program may run, or the client is gone.
    pub fn wait_for_phase(&self) -> Phase {
        let mut phase = self.phase.lock();
        while *phase == Phase::Configuring {
            phase = self.changed.wait(phase);
        }
        *phase
    }

    /// Does something with a thread of the machine, where no task stands still.
    pub fn with_thread<R>(&self, work: impl FnOnce(&mut Thread) -> R) -> Result<R, String> {
        let vm = self.machine.upgrade().ok_or("the program has ended")?;
        let thread = vm.attach();
        let mut thread = thread.map_err(|error| error.to_string())?;
        Ok(work(&mut thread))
    }

    /// Whether this is the stop at the beginning that the client wishes.
    pub fn take_entry(&self) -> bool {
        std::mem::take(&mut self.settings.lock().stops_on_entry)
    }

    /// A line as the client counts.
    pub fn line_for_client(&self, line: u32) -> i64 {
        i64::from(line) - 1 + self.settings.lock().first_line
    }

    /// A column as the client counts.
    pub fn column_for_client(&self, column: u32) -> i64 {
        i64::from(column) - 1 + self.settings.lock().first_column
    }

    /// A line of the client, counted from one.
    pub fn line_of_client(&self, line: &Json) -> Option<u32> {
        let line = line.as_i64()? + 1 - self.settings.lock().first_line;
        u32::try_from(line.max(1)).ok()
    }

    /// The number of a text that is no file.
    pub fn number_of_source(&self, name: &str) -> i64 {
        let mut texts = self.texts.lock();
        let known = texts.iter().position(|known| known == name);
        let index = known.unwrap_or_else(|| {
            texts.push(name.to_owned());
            texts.len() - 1
        });
        1 + index as i64
    }

    /// The text of such a number.
    pub fn name_of_source(&self, number: i64) -> Option<String> {
        let index = usize::try_from(number - 1).ok()?;
        self.texts.lock().get(index).cloned()
    }

    /// The code of a function of a guest in the place of its source.
    pub fn source_of_listing(&self, code: CodeText) -> Json {
        let number = self.number_of_source(&code.key);
        self.listings.lock().insert(code.key, code.text);
        json!({
            "name": code.name,
            "origin": "the code of a guest",
            "sourceReference": number,
        })
    }

    /// The texts of the program and of libraries, by name, and code of guests.
    pub fn source_text(&self, name: &str) -> Option<String> {
        if let Some(listing) = self.listings.lock().get(name) {
            return Some(listing.clone());
        }
        let vm = self.machine.upgrade()?;
        Evaluation::of(&vm).source_text(name)
    }
}
