//! The machine's side of the pool: system threads that serve as workers.
//!
//! A worker is a thread of the machine with a native stack for the expander and the compiler, since
//! a task may evaluate code. The pool decides when workers start and stop; this module makes the
//! threads, runs the workers' procedure on them, and interrupts them. The program's end, asked for
//! by a task, is recorded here and taken by the main thread.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Weak};

use canny_locks::{Mutex, MutexGuard};
use canny_sched::{Host, WorkerId, WorkerKind};
use canny_value::Value;

use crate::Vm;
use crate::thread::Exit;
use crate::thread::interrupt::InterruptState;

/// Names of the roots with the default ports that workers begin with.
pub(crate) const DEFAULT_PORTS: [&str; 3] = [
    "workers' input port",
    "workers' output port",
    "workers' error port",
];

/// Name of the root with the procedure that workers run.
pub(crate) const SERVER: &str = "workers' procedure";

/// Starts and interrupts workers.
pub(crate) struct MachineHost {
    vm: Weak<Vm>,
    workers: Mutex<HashMap<WorkerId, Arc<InterruptState>>>,
    exit: Mutex<Option<Exit>>,
}

impl MachineHost {
    pub(crate) fn new(vm: &Arc<Vm>) -> MachineHost {
        MachineHost {
            vm: Arc::downgrade(vm),
            workers: Mutex::default(),
            exit: Mutex::default(),
        }
    }

    fn workers(&self) -> MutexGuard<'_, HashMap<WorkerId, Arc<InterruptState>>> {
        self.workers.lock()
    }

    /// A thread serves as a worker from now on.
    pub(crate) fn enter(&self, worker: WorkerId, interrupts: Arc<InterruptState>) {
        self.workers().insert(worker, interrupts);
    }

    /// Asks every worker's task to give way.
    pub(crate) fn preempt_all(&self) {
        self.workers().values().for_each(|worker| worker.preempt());
    }

    /// How a task has asked the program to end.
    pub(crate) fn exit(&self) -> Option<Exit> {
        self.exit.lock().clone()
    }

    fn ask_for_exit(&self, exit: Exit) {
        *self.exit.lock() = Some(exit);
        if let Some(main) = self.workers().get(&WorkerId::MAIN) {
            main.ask_to_leave();
        }
    }
}

/// A task may evaluate: the expander and the compiler recurse along the nesting of code. Of the stack,
/// only what is used takes memory.
const NATIVE_STACK_BYTES: usize = 256 << 20;

impl Host for MachineHost {
    fn start_worker(&self, worker: WorkerId, _kind: WorkerKind) -> io::Result<()> {
        let Some(vm) = self.vm.upgrade() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        std::thread::Builder::new()
            .name(format!("canny-worker-{}", worker.index()))
            .stack_size(NATIVE_STACK_BYTES)
            .spawn(move || serve(&vm, worker))
            .map(drop)
    }

    fn preempt(&self, worker: WorkerId) {
        if let Some(interrupts) = self.workers().get(&worker) {
            interrupts.preempt();
        }
    }
}

/// The life of a worker.
fn serve(vm: &Arc<Vm>, worker: WorkerId) {
    let Some(tasks) = vm.tasks.get().cloned() else {
        return;
    };
    let Ok(mut thread) = vm.attach() else {
        tasks.pool.leave(worker);
        return;
    };
    thread.tasks.worker = Some(worker);
    for (key, name) in DEFAULT_PORTS.iter().enumerate() {
        let port = vm.root(name).unwrap_or(Value::FALSE);
        thread.set_default_port(key, port);
    }
    tasks.host.enter(worker, thread.interrupts());
    let server = vm.root(SERVER).unwrap_or(Value::FALSE);
    let outcome = thread.run(server);
    if !thread.tasks.retires {
        // It returns if a task has continued with the continuation of the program, and the program has
        // come to its end there.
        let exit = outcome.err().unwrap_or(Exit::Code(0));
        tasks.host.ask_for_exit(exit);
    }
    tasks.host.workers().remove(&worker);
}
