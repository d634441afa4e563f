//! Functions of components: exported ones, those of the host, and the way between them.
//!
//! A module imports a function of the host for each imported function of its component. That lifts the
//! arguments out of the memory of the caller, calls, and lowers the result into it. If the callee is
//! in another instance, its run is begun inside of the caller's and is continued with it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use canny_locks::Mutex;
use canny_wasm::{Body, Event, Outcome, RunId, Store, Trap};

use crate::host::{Answer, HostFunction};
use crate::lift::{Lift, trap};
use crate::lower::Lower;
use crate::options::Options;
use crate::resource::{Borrows, Maker, Resource, State};
use crate::types::FunctionType;
use crate::value::Value;

/// A function with values of interface types.
#[derive(Clone)]
pub struct Function(pub(crate) Source);

#[derive(Clone)]
pub enum Source {
    /// Of an instance.
    Lifted(Arc<Lifted>),
    /// Of the host, in Rust.
    Host(Arc<Host>),
    /// Of the embedder, who carries calls out when a run is left for them.
    Outside(Arc<Outside>),
}

pub struct Lifted {
    pub kind: Arc<FunctionType>,
    pub function: canny_wasm::Function,
    pub options: Options,
    pub state: Arc<State>,
}

pub struct Host {
    pub kind: Arc<FunctionType>,
    pub body: Mutex<HostFunction>,
}

pub struct Outside {
    pub kind: Arc<FunctionType>,
    /// The interface and the name of the import.
    pub names: (String, String),
}

/// A call of an exported function that was begun.
pub struct Call {
    borrows: Borrows,
}

impl Function {
    pub(crate) fn host(kind: Arc<FunctionType>, body: HostFunction) -> Function {
        let body = Mutex::new(body);
        Function(Source::Host(Arc::new(Host { kind, body })))
    }

    /// Its type.
    pub fn kind(&self) -> &Arc<FunctionType> {
        match &self.0 {
            Source::Lifted(it) => &it.kind,
            Source::Host(it) => &it.kind,
            Source::Outside(it) => &it.kind,
        }
    }

    /// Calls an exported function.
    pub fn call(&self, store: &mut Store, values: &[Value]) -> Result<Option<Value>, Trap> {
        let (function, words, call) = self.begin(store, values)?;
        let words = guarded(store.call(function, &words))?;
        self.finish(store, &call, &words)
    }

    /// Lowers the arguments of a call of an exported function; gives the function of the module that is
    /// to be called next with these words.
    pub fn begin(
        &self,
        store: &mut Store,
        values: &[Value],
    ) -> Result<(canny_wasm::Function, Vec<u64>, Call), Trap> {
        match &self.0 {
            Source::Lifted(lifted) => {
                let (words, call) = lifted.begin(store, values, None)?;
                Ok((lifted.function, words, call))
            }
            _ => trap("a function that is only passed through is not called from outside"),
        }
    }

    /// Lifts the result of a call out of the words that the module's function has returned.
    pub fn finish(
        &self,
        store: &mut Store,
        call: &Call,
        words: &[u64],
    ) -> Result<Option<Value>, Trap> {
        match &self.0 {
            Source::Lifted(lifted) => lifted.finish(store, call, words, None),
            _ => Ok(None),
        }
    }
}

/// Exceptions of modules do not leave their component.
fn guarded<T>(outcome: Result<T, Trap>) -> Result<T, Trap> {
    match outcome {
        Err(Trap::Exception(_)) => trap("an exception was not caught in its component"),
        outcome => outcome,
    }
}

impl Lifted {
    fn begin(
        &self,
        store: &mut Store,
        values: &[Value],
        caller: Option<&Arc<State>>,
    ) -> Result<(Vec<u64>, Call), Trap> {
        if let Some(caller) = caller {
            self.state.check_apart(caller)?;
        }
        self.state.enter(caller)?;
        let mut lower = Lower::new(store, &self.options, &self.state);
        match lower.arguments(&self.kind, values) {
            Ok(words) => {
                let borrows = lower.borrows;
                Ok((words, Call { borrows }))
            }
            Err(reason) => {
                // Arguments of a wrong type have not come to the guest.
                if self.options.realloc.is_none() {
                    self.state.exit(caller);
                }
                Err(reason)
            }
        }
    }

    fn finish(
        &self,
        store: &mut Store,
        call: &Call,
        words: &[u64],
        caller: Option<&Arc<State>>,
    ) -> Result<Option<Value>, Trap> {
        let result = Lift::new(store, &self.options, &self.state).result(&self.kind, words)?;
        if call.borrows.load(Ordering::Relaxed) > 0 {
            return trap("borrow handles still remain at the end of the call");
        }
        if let Some(function) = self.options.post_return {
            self.state.set_may_leave(false);
            guarded(store.call(function, words))?;
            self.state.set_may_leave(true);
        }
        self.state.exit(caller);
        Ok(result)
    }
}

/// A call that was put off.
enum Pending {
    Host {
        values: Vec<Value>,
        lent: Vec<u32>,
    },
    Guest {
        run: RunId,
        call: Call,
        lent: Vec<u32>,
    },
}

/// A function that a module imports in place of a function of its component.
pub struct Lowered {
    pub(crate) callee: Function,
    pub(crate) options: Options,
    pub(crate) state: Arc<State>,
}

impl Lowered {
    /// The interface and the name of an imported function of the embedder.
    pub fn names(&self) -> (&str, &str) {
        match &self.callee.0 {
            Source::Outside(outside) => (&outside.names.0, &outside.names.1),
            _ => ("", ""),
        }
    }

    /// The type of the function.
    pub fn kind(&self) -> &Arc<FunctionType> {
        self.callee.kind()
    }

    /// The function for modules in a store.
    pub(crate) fn function(self, store: &mut Store) -> canny_wasm::Function {
        let kind = self.callee.kind().lowered();
        let mut pending: Option<(RunId, Pending)> = None;
        let body: Body = Box::new(move |store, arguments, results| {
            let run = store.current_run();
            // A call that was abandoned may have left something, which is of no use to another.
            let before = pending.take().filter(|(owner, _)| *owner == run);
            let begun = match before {
                Some((_, begun)) => begun,
                None => self.begin(store, arguments)?,
            };
            match self.go_on(store, begun, arguments)? {
                Done::Results(words) => {
                    for (result, word) in results.iter_mut().zip(words) {
                        *result = word;
                    }
                    Ok(Outcome::Done)
                }
                Done::Not(left, outcome) => {
                    pending = Some((run, left));
                    Ok(outcome)
                }
            }
        });
        store.host_function(kind, body)
    }

    fn begin(&self, store: &mut Store, arguments: &[u64]) -> Result<Pending, Trap> {
        let (values, lent) = self.lift_arguments(store, arguments)?;
        match &self.callee.0 {
            Source::Lifted(lifted) => {
                let (words, call) = lifted.begin(store, &values, Some(&self.state))?;
                let run = store.begin(lifted.function, &words)?;
                Ok(Pending::Guest { run, call, lent })
            }
            _ => Ok(Pending::Host { values, lent }),
        }
    }

    /// The arguments of a call, and the handles that are lent to it.
    pub fn lift_arguments(
        &self,
        store: &Store,
        arguments: &[u64],
    ) -> Result<(Vec<Value>, Vec<u32>), Trap> {
        self.state.check_may_leave()?;
        let mut lift = Lift::new(store, &self.options, &self.state);
        let values = lift.arguments(self.callee.kind(), arguments)?;
        Ok((values, lift.lent))
    }

    /// The words of the result of a call, which ends with this.
    pub fn lower_result(
        &self,
        store: &mut Store,
        value: Option<&Value>,
        arguments: &[u64],
        lent: &[u32],
    ) -> Result<Vec<u64>, Trap> {
        let mut lower = Lower::new(store, &self.options, &self.state);
        let words = lower.result(self.callee.kind(), value, arguments)?;
        self.state.handles.lock().take_back(lent);
        Ok(words)
    }

    fn go_on(&self, store: &mut Store, begun: Pending, arguments: &[u64]) -> Result<Done, Trap> {
        let (value, lent) = match (begun, &self.callee.0) {
            (Pending::Host { values, lent }, Source::Host(host)) => {
                match (host.body.lock())(store, &values)? {
                    Answer::Done(value) => (value, lent),
                    Answer::Wait => {
                        return Ok(Done::Not(Pending::Host { values, lent }, Outcome::Wait));
                    }
                }
            }
            (Pending::Guest { run, call, lent }, Source::Lifted(lifted)) => {
                let left = match guarded(store.proceed(run))? {
                    Event::Finished => None,
                    Event::Pause => Some(Outcome::Pause),
                    Event::Wait => Some(Outcome::Wait),
                    Event::WaitFor(waiter) => {
                        waiter.block();
                        Some(Outcome::Pause)
                    }
                    Event::Call(number) => Some(Outcome::Call(run, number)),
                };
                if let Some(outcome) = left {
                    return Ok(Done::Not(Pending::Guest { run, call, lent }, outcome));
                }
                let words = store.results().to_vec();
                let value = lifted.finish(store, &call, &words, Some(&self.state))?;
                (value, lent)
            }
            _ => return trap("a function of the embedder was called in Rust"),
        };
        let words = self.lower_result(store, value.as_ref(), arguments, &lent)?;
        Ok(Done::Results(words))
    }
}

enum Done {
    Results(Vec<u64>),
    Not(Pending, Outcome),
}

/// Ends a resource that a handle has owned.
pub fn destroy(
    store: &mut Store,
    resource: &Resource,
    representation: u32,
    caller: Option<&Arc<State>>,
) -> Result<(), Trap> {
    match resource.maker() {
        Maker::Host { destructor, .. } => (destructor.lock())(store, representation),
        Maker::Guest { state, destructor } => {
            state.enter(caller)?;
            if let Some(function) = destructor {
                guarded(store.call(*function, &[u64::from(representation)]))?;
            }
            state.exit(caller);
            Ok(())
        }
    }
}

/// Operations of modules on resources of a type.
#[derive(Clone, Copy)]
pub enum Operation {
    New,
    Drop,
    Representation,
}

/// The function by which modules do something with resources of a type.
pub fn resource_function(
    store: &mut Store,
    resource: Resource,
    state: Arc<State>,
    operation: Operation,
) -> canny_wasm::Function {
    use canny_wasm::ValueType::I32;
    let kind = canny_wasm::FunctionType {
        parameters: vec![I32],
        results: match operation {
            Operation::Drop => Vec::new(),
            _ => vec![I32],
        },
    };
    let body: Body = Box::new(move |store, arguments, results| {
        let number = arguments[0] as u32;
        let result = match operation {
            Operation::New => {
                state.check_may_leave()?;
                Some(state.handles.lock().own(&resource, number)?)
            }
            Operation::Representation => {
                Some(state.handles.lock().representation(number, &resource)?)
            }
            Operation::Drop => {
                state.check_may_leave()?;
                let dropped = state.handles.lock().end(number, &resource)?;
                if let Some(representation) = dropped {
                    destroy(store, &resource, representation, Some(&state))?;
                }
                None
            }
        };
        if let (Some(place), Some(result)) = (results.first_mut(), result) {
            *place = u64::from(result);
        }
        Ok(Outcome::Done)
    });
    store.host_function(kind, body)
}
