//! Runs of guest code: entering it, and what it returns to the runtime for.
//!
//! A run has an activation, which handlers read, and memory for its frames. A store keeps its runs,
//! one begun inside of the other, and continues the newest. A run is left when its slice is used
//! up, when it calls a function outside of the store, when a function of the host waits, and when it
//! waits for an address of a shared memory.

use std::sync::LazyLock;
use std::time::Instant;

use canny_tables::guest::{Opcode, Plain, Reason, Runtime};

use crate::activation::{Activation, Event, Limits, Outcome, Run, RunId, Stack};
use crate::code::{self, Code};
use crate::code_memory;
use crate::collect::OPERAND_SLOTS;
use crate::definitions;
use crate::error::Trap;
use crate::exceptions::Exception;
use crate::frames::{self, Found};
use crate::handlers;
use crate::native;
use crate::notifications::{self, Step};
use crate::operations;
use crate::sampling::{self, InProgress};
use crate::store::{Function, HostBody, Store};
use crate::switch;
use crate::types::FunctionType;

/// Jumps and calls between two visits of the embedder.
const SLICE: i64 = 100_000;

/// Turns of a loop that machine code makes at once.
const TURNS_MAX: u64 = 4;

/// Most runs inside of each other, through functions of the host.
const DEPTH_MAX: usize = 200;

/// Runs that have ended, whose stacks others use again.
const SPARE_RUNS: usize = 2;

impl Store {
    /// Calls a function with the bits of arguments; gives those of its results. A vector has two words. A
    /// guest that waits for an address blocks the thread.
    pub fn call(&mut self, function: Function, arguments: &[u64]) -> Result<Vec<u64>, Trap> {
        let id = self.begin(function, arguments)?;
        loop {
            match self.proceed(id)? {
                Event::Finished => return Ok(self.results().to_vec()),
                Event::Pause | Event::Wait => {}
                Event::WaitFor(waiter) => waiter.block(),
                Event::Call(_) => {
                    self.abandon(id);
                    let text = "a function of the host cannot be called here";
                    return Err(Trap::Host(text.into()));
                }
            }
        }
    }

    /// The same within limits.
    pub fn call_within(
        &mut self,
        function: Function,
        arguments: &[u64],
        limits: Limits,
    ) -> Result<Vec<u64>, Trap> {
        self.stack_bytes = limits.stack_bytes;
        self.fuel = limits.fuel;
        self.call(function, arguments)
    }

    /// Begins a run; nothing of its function has happened yet.
    pub fn begin(&mut self, function: Function, arguments: &[u64]) -> Result<RunId, Trap> {
        if self.depth == DEPTH_MAX {
            return Err(Trap::Reason(Reason::StackExhausted));
        }
        handlers::watch_faults();
        let record = &self.functions[function.0];
        if arguments.len() != record.parameters as usize {
            let text = format!(
                "a function {} was given {} arguments",
                record.signature.text(),
                arguments.len()
            );
            return Err(Trap::Host(text));
        }
        let link = record.parameters.max(record.results) as usize;
        let (entry, instance, kind) = (record.code, record.instance, record.signature);
        let results = record.results;
        let mut run = self.take_run()?;
        let frame = run.stack.base;
        // SAFETY: the stack has room for arguments and link behind its limit.
        unsafe {
            std::ptr::copy_nonoverlapping(arguments.as_ptr(), frame, arguments.len());
            frame.add(link).write(FINISH.as_ptr() as u64);
            frame.add(link + 1).write(frame as u64);
        }
        let id = RunId(self.next_run);
        self.next_run += 1;
        self.depth += 1;
        run.id = id;
        run.activation.pc = entry;
        run.activation.frame = frame;
        run.activation.instance = instance;
        run.activation.top = frame;
        // SAFETY: the stack of machine code has its first words there, and nothing is on it.
        run.activation.native_stack = unsafe { switch::prepare(run.stack.top()) };
        run.activation.transition = std::ptr::null();
        run.activation.is_fault = false;
        run.is_outside = false;
        run.first = function.0;
        run.signature = kind;
        run.results = results;
        self.runs.push(run);
        Ok(id)
    }

    /// A run whose stack has the right size.
    fn take_run(&mut self) -> Result<Box<Run>, Trap> {
        while let Some(run) = self.spare_runs.pop() {
            if run.stack.bytes == Stack::bytes_for(self.stack_bytes) {
                return Ok(run);
            }
        }
        let no_memory = || Trap::Host("the system gives no memory for a stack".into());
        let stack = Stack::new(self.stack_bytes).ok_or_else(no_memory)?;
        Ok(Box::new(Run::new(stack)))
    }

    /// Continues the newest run. With an error it has ended.
    pub fn proceed(&mut self, id: RunId) -> Result<Event, Trap> {
        let Some(mut run) = self.runs.pop_if(|run| run.id == id && !run.is_outside) else {
            return Err(Trap::Host("the call of a guest has ended already".into()));
        };
        let outer = std::mem::replace(&mut self.running, id);
        let in_progress = InProgress::new(&raw mut run.activation);
        let outcome = self.go_on(&mut run.activation);
        drop(in_progress);
        self.running = outer;
        if sampling::is_asked() {
            self.answer_sample(&run, matches!(outcome, Ok(Event::Finished)));
        }
        let rest = std::mem::take(&mut run.activation.budget);
        let (unspent, owed) = (rest.max(0), rest.min(0));
        if !matches!(outcome, Ok(Event::Pause)) {
            // The next run has the rest, so that short ones are looked at too.
            self.stretch = unspent;
        }
        if let Some(fuel) = &mut self.fuel {
            *fuel += unspent as u64;
        }
        self.pay(owed);
        match outcome {
            Ok(Event::Finished) => {
                self.exchange.clear();
                // SAFETY: the function has left its results where its frame began.
                let results =
                    unsafe { std::slice::from_raw_parts(run.stack.base, run.results as usize) };
                self.exchange.extend_from_slice(results);
                self.finished = run.signature;
                self.end(run);
                Ok(Event::Finished)
            }
            Ok(event) => {
                run.is_outside = matches!(event, Event::Call(_));
                run.inner = self.inner.take();
                self.runs.push(run);
                Ok(event)
            }
            Err(trap) => {
                if !matches!(trap, Trap::Exit(_)) {
                    self.note_backtrace(&run.activation);
                }
                if self.heap.bytes() > 0 {
                    run.activation.forget_words(OPERAND_SLOTS);
                }
                self.end(run);
                Err(trap)
            }
        }
    }

    /// Tells a profiler what a run was doing that has been left just now.
    #[cold]
    fn answer_sample(&self, run: &Run, has_finished: bool) {
        let record = &self.functions[run.first];
        // SAFETY: instances live as long as their store.
        let module = unsafe { &(*record.instance).module };
        let first = module.as_ref().map(|module| (module.clone(), record.index));
        if has_finished {
            sampling::answer(None, first);
        } else {
            sampling::answer(Some(&run.activation), None);
        }
    }

    fn end(&mut self, mut run: Box<Run>) {
        self.depth -= 1;
        run.activation.waiting = None;
        if self.spare_runs.len() < SPARE_RUNS {
            self.spare_runs.push(run);
        }
    }

    /// Whether a run was begun and has not ended.
    pub fn has_run(&self, id: RunId) -> bool {
        self.runs.iter().any(|run| run.id == id)
    }

    /// Ends a run and all that were begun inside of it. If it has ended, later ones are not its own.
    pub fn abandon(&mut self, id: RunId) {
        if !self.has_run(id) {
            return;
        }
        while let Some(run) = self.runs.pop_if(|run| run.id >= id) {
            self.end(run);
        }
    }

    /// The newest run that has not ended.
    pub fn newest_run(&self) -> Option<RunId> {
        self.runs.last().map(|run| run.id)
    }

    /// The run that has called the function of the host that asks.
    pub fn current_run(&self) -> RunId {
        self.running
    }

    /// The place of the newest run, if it has that number, or of the run inside of it that waits for an
    /// answer in its place.
    fn waiting_run(&self, id: RunId) -> Option<usize> {
        let mut place = self.runs.len().checked_sub(1)?;
        if self.runs[place].id != id {
            return None;
        }
        while let Some(inner) = self.runs[place].inner {
            place = self.runs.iter().position(|run| run.id == inner)?;
        }
        self.runs[place].is_outside.then_some(place)
    }

    /// Lets runs go on that have waited for the answer of a run inside of them.
    fn let_go_on(&mut self, id: RunId) {
        let mut next = Some(id);
        while let Some(id) = next {
            let run = self.runs.iter_mut().find(|run| run.id == id);
            next = run.and_then(|run| {
                run.is_outside = false;
                run.inner.take()
            });
        }
    }

    /// Results of the run that has finished just now.
    pub fn results(&self) -> &[u64] {
        &self.exchange
    }

    /// The type of the function whose run has finished just now.
    pub fn results_type(&self) -> &'static FunctionType {
        self.finished
    }

    /// The type of the function of the host that the newest run has called and that has not been answered.
    pub fn called_type(&self) -> Option<&'static FunctionType> {
        let place = self.waiting_run(self.newest_run()?)?;
        called_type(&self.runs[place].activation)
    }

    /// Arguments of the call that the newest run has met just now.
    pub fn arguments(&self) -> &[u64] {
        &self.exchange
    }

    /// Returns the bits of results from the call that a run has met.
    pub fn answer(&mut self, id: RunId, results: &[u64]) -> Result<(), Trap> {
        let ended = || Trap::Host("the call of a guest has ended already".into());
        let place = self.waiting_run(id).ok_or_else(ended)?;
        let activation = &mut self.runs[place].activation;
        let kind = called_type(activation).ok_or_else(ended)?;
        if results.len() != kind.result_slots() {
            return Err(Trap::Host(format!(
                "a function {} has given {} results",
                kind.text(),
                results.len()
            )));
        }
        return_from_host(activation, kind, results);
        self.let_go_on(id);
        Ok(())
    }

    /// Raises an exception from the call that a run has met. With an error the run has ended.
    pub fn raise(&mut self, id: RunId, exception: Exception) -> Result<(), Trap> {
        let ended = || Trap::Host("the call of a guest has ended already".into());
        let place = self.waiting_run(id).ok_or_else(ended)?;
        self.let_go_on(id);
        let mut run = self.runs.remove(place);
        let raised = match called_type(&run.activation) {
            Some(kind) => self.throw_from_host(&mut run.activation, kind.link(), exception),
            None => Err(ended()),
        };
        match raised {
            Ok(()) => self.runs.insert(place, run),
            Err(_) => {
                self.note_backtrace(&run.activation);
                self.end(run);
                self.abandon(id);
            }
        }
        raised
    }

    fn go_on(&mut self, activation: &mut Activation) -> Result<Event, Trap> {
        let mut left = SLICE;
        let mut looked = None;
        activation.budget = self.take_stretch(self.stretch)?;
        // The interpreter comes to the instruction again by itself, machine code does not.
        if activation.waiting.is_some()
            && let Found::Native(..) = frames::start(activation)
            && let Some(event) = self.operation(activation)?
        {
            return Ok(event);
        }
        loop {
            if sampling::is_asked() {
                sampling::answer(Some(activation), None);
            }
            match self.enter(activation) {
                Reason::Finished => return Ok(Event::Finished),
                // It was left for a sample only.
                Reason::Budget if activation.budget >= 0 => pay_back(activation),
                Reason::Budget => {
                    let unpaid = activation.budget.min(0);
                    activation.budget = 0;
                    // The interpreter comes to the jump again, machine code does not.
                    if let Found::Native(..) = frames::start(activation) {
                        self.pay(unpaid);
                    }
                    let now = Instant::now();
                    let since = looked.map(|looked| now.duration_since(looked));
                    looked = Some(now);
                    self.stretch = native::sample(activation, since).unwrap_or(SLICE);
                    left -= self.stretch - unpaid;
                    if left <= 0 {
                        return Ok(Event::Pause);
                    }
                    activation.budget = self.take_stretch(self.stretch)?;
                }
                Reason::Operation => {
                    if let Some(event) = self.operation(activation)? {
                        return Ok(event);
                    }
                }
                Reason::Fault => {
                    // The rest of the budget was in a register.
                    activation.budget = 0;
                    activation.is_fault = true;
                    return Err(Trap::Reason(fault(activation)));
                }
                trap => return Err(Trap::Reason(trap)),
            }
        }
    }

    /// Takes a budget from the fuel.
    fn take_stretch(&mut self, wanted: i64) -> Result<i64, Trap> {
        let Some(fuel) = &mut self.fuel else {
            return Ok(wanted);
        };
        if *fuel == 0 {
            return Err(Trap::OutOfFuel);
        }
        let taken = (*fuel).min(wanted as u64);
        *fuel -= taken;
        Ok(taken as i64)
    }

    /// Takes a negative rest of a budget from the fuel: machine code makes a few turns of a loop at once.
    fn pay(&mut self, owed: i64) {
        if let Some(fuel) = &mut self.fuel {
            // More than that was a search for objects, which has paid.
            *fuel = fuel.saturating_sub(owed.unsigned_abs().min(TURNS_MAX));
        }
    }

    /// Runs until the code returns to the runtime.
    fn enter(&mut self, activation: &mut Activation) -> Reason {
        // SAFETY: the code was translated from a validated module or is an instruction of the runtime, and
        // its records belong to this store, which is borrowed.
        let reason = unsafe { enter((&raw mut *activation).cast()) };
        activation.budget = sampling::unmarked(activation.budget);
        let reasons = Reason::ALL.iter().copied();
        let mut found = reasons.filter(|known| *known as u64 == reason);
        found.next().unwrap_or(Reason::Unreachable)
    }

    /// Does what the instruction at which the code was left is for; gives what the run has come to, if it
    /// does not go on.
    fn operation(&mut self, activation: &mut Activation) -> Result<Option<Event>, Trap> {
        // SAFETY: the activation has the address of an instruction of the runtime, which has three words.
        let words = unsafe { std::slice::from_raw_parts(activation.pc, 3) };
        let Some(operation) = handlers::runtime_operation(words[0]) else {
            return Err(Trap::Reason(Reason::Unreachable));
        };
        match operation {
            Runtime::Translate => {
                self.translate(activation, code::read32(words, 8))?;
                Ok(None)
            }
            Runtime::Host => self.host(activation, code::read32(words, 8), code::read32(words, 16)),
            Runtime::Throw | Runtime::ThrowReference => {
                self.throw(activation, operation, words)?;
                Ok(charge_catch(activation))
            }
            operation => {
                if self.aggregate(activation, operation, words)? {
                    // SAFETY: another instruction follows.
                    activation.pc = unsafe { activation.pc.add(3) };
                    return Ok(None);
                }
                let mut operands = [0; 3];
                let frame = activation.frame;
                for (index, operand) in operands.iter_mut().enumerate() {
                    let slot = code::read16(words, 10 + 2 * index) as usize;
                    // SAFETY: translated code names slots of its frame only; others are slot 0.
                    *operand = unsafe { frame.add(slot).read() };
                }
                let numbers = [code::read32(words, 16), code::read32(words, 20)];
                let result = match operation {
                    Runtime::MemoryNotify | Runtime::MemoryWait32 | Runtime::MemoryWait64 => {
                        match notifications::run(self, activation, operation, operands, numbers)? {
                            Step::Done(result) => Some(result),
                            Step::Wait(waiter) => return Ok(Some(Event::WaitFor(waiter))),
                        }
                    }
                    _ => {
                        // SAFETY: the instance belongs to this store.
                        let instance = unsafe { &mut *activation.instance.cast_mut() };
                        operations::run(self, instance, operation, operands, numbers)?
                    }
                };
                if let Some(result) = result {
                    let slot = code::read16(words, 8) as usize;
                    // SAFETY: as above.
                    unsafe { frame.add(slot).write(result) };
                }
                // SAFETY: another instruction follows.
                activation.pc = unsafe { activation.pc.add(3) };
                Ok(None)
            }
        }
    }

    fn translate(&mut self, activation: &mut Activation, own_index: u32) -> Result<(), Trap> {
        // SAFETY: the instance belongs to this store.
        let instance = unsafe { &*activation.instance };
        let Some(module) = &instance.module else {
            return Err(Trap::Reason(Reason::Unreachable));
        };
        let code = native::code(module, own_index);
        let code = code.map_err(|error| Trap::Host(error.to_string()))?;
        let imported = module.parts().imported_functions;
        let number = instance.functions[imported + own_index as usize];
        self.functions[number].code = code;
        activation.pc = code;
        Ok(())
    }

    /// Calls a function of the host, and returns from its frame.
    fn host(
        &mut self,
        activation: &mut Activation,
        index: u32,
        kind: u32,
    ) -> Result<Option<Event>, Trap> {
        let kind = definitions::function_type(kind);
        let frame = activation.frame;
        let mut exchange = std::mem::take(&mut self.exchange);
        exchange.clear();
        // SAFETY: the caller has written arguments and link.
        exchange.extend((0..kind.parameter_slots()).map(|slot| unsafe { frame.add(slot).read() }));
        let mut body = match &mut self.hosts[index as usize].body {
            HostBody::Outside(number) => {
                self.exchange = exchange;
                return Ok(Some(Event::Call(*number)));
            }
            HostBody::Here(body) => match body.take() {
                Some(body) => body,
                None => return Err(Trap::Host("a function of the host called itself".into())),
            },
        };
        let count = exchange.len();
        exchange.resize(count + kind.result_slots(), 0);
        let (arguments, results) = exchange.split_at_mut(count);
        let outcome = body(self, arguments, results);
        self.hosts[index as usize].body = HostBody::Here(Some(body));
        match outcome {
            Ok(Outcome::Wait) => return Ok(Some(Event::Wait)),
            Ok(Outcome::Pause) => return Ok(Some(Event::Pause)),
            Ok(Outcome::Call(inner, number)) => {
                self.inner = Some(inner);
                return Ok(Some(Event::Call(number)));
            }
            Err(Trap::Exception(exception)) => {
                self.throw_from_host(activation, kind.link(), exception)?;
                return Ok(charge_catch(activation));
            }
            outcome => outcome?,
        };
        return_from_host(activation, kind, results);
        self.exchange = exchange;
        Ok(None)
    }
}

#[cfg(not(target_arch = "x86_64"))]
use crate::handlers::enter;
#[cfg(target_arch = "x86_64")]
use crate::switch::enter;

/// The trap of machine code.
fn fault(activation: &Activation) -> Reason {
    let trap = match frames::start(activation) {
        Found::Native(address, _) => code_memory::trap_at(address),
        Found::Interpreted(_) => None,
    };
    // Each instruction that can trap is known by its address.
    trap.unwrap_or(Reason::Unreachable)
}

/// Puts one back to a budget that was not used up, if the instruction is going to take that again.
fn pay_back(activation: &mut Activation) {
    if let Found::Interpreted(frame) = frames::start(activation)
        // SAFETY: a run that was left has the address of an instruction, of which this is the first word.
        && let Some(Opcode::Plain(Plain::Enter)) = handlers::opcode(unsafe { frame.pc.read() })
    {
        activation.budget += 1;
    }
}

/// Takes one off the budget, since an exception was caught: a loop may have no other jump.
fn charge_catch(activation: &mut Activation) -> Option<Event> {
    activation.budget -= 1;
    if activation.budget >= 0 {
        return None;
    }
    activation.budget = 0;
    Some(Event::Pause)
}

/// The type of the function of the host at whose call a run was left.
fn called_type(activation: &Activation) -> Option<&'static FunctionType> {
    // SAFETY: a run that was left has the address of an instruction, of which this is the first word.
    let word = unsafe { activation.pc.read() };
    if !handlers::is_host(word) {
        return None;
    }
    // SAFETY: that instruction has three words.
    let words = unsafe { std::slice::from_raw_parts(activation.pc, 3) };
    Some(definitions::function_type(code::read32(words, 16)))
}

/// Returns from the frame of a function of the host.
fn return_from_host(activation: &mut Activation, kind: &FunctionType, results: &[u64]) {
    let frame = activation.frame;
    // SAFETY: results lie where the frame begins, and the link behind both.
    unsafe {
        for (slot, result) in results.iter().enumerate() {
            frame.add(slot).write(*result);
        }
        let link = frame.add(kind.link());
        activation.pc = link.read() as *const u64;
        activation.frame = link.add(1).read() as *mut u64;
    }
}

/// The instruction to which the first function of a run returns.
static FINISH: LazyLock<Box<[u64]>> = LazyLock::new(|| {
    let mut finish = Code::default();
    finish.put(Opcode::Plain(Plain::Finish));
    finish.finish()
});
