//! The choice of what is compiled, and the thread that compiles it.
//!
//! A function is a candidate when a run has used up its slice there. Its machine code is put in force by
//! one store to the first word of an instruction, so that any thread may do it while runs go on.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use canny_locks::{Condvar, Mutex};

use super::bridges::{self, Callee};
use super::compile::{self, Refusal, Surroundings};
use crate::activation::{Activation, FIRST_STRETCH, STRETCH};
use crate::code_memory::{self, Code, Purpose};
use crate::error::Error;
use crate::frames::{self, Found, Frame, start};
use crate::module::Module;
use crate::record::FunctionRecord;
use crate::translate;

/// When functions are compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Policy {
    /// Never.
    Never,
    /// Those that run often, by a thread of the compiler.
    Hot,
    /// All, before they run; for tests.
    Always,
    /// All loops, at which interpreted functions become machine code; for tests.
    Loops,
}

static POLICY: AtomicU8 = AtomicU8::new(Policy::Hot as u8);

/// When functions are compiled, in this process.
pub fn policy() -> Policy {
    let known = [Policy::Never, Policy::Hot, Policy::Always, Policy::Loops];
    let now = POLICY.load(Ordering::Relaxed);
    let mut found = known.into_iter().filter(|policy| *policy as u8 == now);
    found.next().unwrap_or(Policy::Hot)
}

/// Changes when functions are compiled; what was compiled stays.
pub fn set_policy(policy: Policy) {
    POLICY.store(policy as u8, Ordering::Relaxed);
}

/// A function's way to machine code, in tens of microseconds of its code.
mod state {
    /// The time of a short function before it is compiled.
    pub const HOT: u16 = 10;
    /// The same for each kilobyte of its bytes, which take long to compile.
    pub const HOT_FOR_KILOBYTE: usize = 4;
    /// The most that counts at once, since the thread may not have run.
    pub const MOST_AT_ONCE: u16 = 100;
    /// It was given to the compiler, and is compiled or not fit.
    pub const REQUESTED: u16 = u16::MAX;
}

/// So often in a row the same frame is found before its call counts as a long one.
const ROW: u32 = 8;

/// No function that machine code has called.
const NO_CALLEE: u64 = u64::MAX;

struct Around<'a> {
    module: &'a Module,
}

impl Surroundings for Around<'_> {
    fn native(&self, own_index: u32) -> Option<usize> {
        let natives = &self.module.machine_code().natives;
        let native = natives[own_index as usize].load(Ordering::Acquire);
        (!native.is_null()).then_some(native as usize)
    }

    fn cell(&self, own_index: u32) -> Result<usize, Refusal> {
        let all = self.module.machine_code();
        let cell = &all.cells[own_index as usize];
        if cell.load(Ordering::Acquire) == 0 {
            let parts = self.module.parts();
            let number = parts.functions[parts.imported_functions + own_index as usize];
            let adapter = bridges::adapter(number, Callee::Own)?;
            let stub = bridges::stub(own_index, adapter)?;
            let address = stub.address();
            all.kept.lock().codes.push(stub);
            // Another thread may have been faster, with a stub or with code.
            let _ = cell.compare_exchange(0, address, Ordering::AcqRel, Ordering::Acquire);
        }
        Ok(std::ptr::from_ref(cell) as usize)
    }

    fn adapter(&self, kind: u32) -> Result<usize, Refusal> {
        bridges::adapter(kind, Callee::Record)
    }
}

/// A function that is to be compiled.
#[derive(Clone, Debug)]
struct Request {
    module: Module,
    own_index: u32,
    /// The offset of the loop at which the code begins, if it is not the whole function.
    from: Option<u64>,
}

/// Code that is not in force yet.
struct Prepared {
    own_index: u32,
    code: Code,
    bridge: Code,
    words: Vec<Box<[u64]>>,
    /// The word of the register code that leads to it.
    place: usize,
    is_whole: bool,
}

/// Most functions that are compiled together, since they call each other in their places.
const GROUP_MAX: usize = 100;

impl Request {
    /// Compiles and puts the code in force.
    fn carry_out(&self) {
        let all = self.module.machine_code();
        match self.prepare_all() {
            Ok(prepared) => prepared.into_iter().for_each(|one| self.publish(one)),
            Err(refusal) => all.kept.lock().refusals.push((self.own_index, refusal)),
        }
        if self.from.is_some() {
            all.kept.lock().pending.remove(&self.own_index);
        }
    }

    /// Compiles the function, and those that are called in its place.
    fn prepare_all(&self) -> Result<Vec<Prepared>, Refusal> {
        let around = Around {
            module: &self.module,
        };
        let mut group = vec![self.own_index];
        let mut looked_at = 0;
        while let Some(member) = group.get(looked_at) {
            looked_at += 1;
            for callee in compile::tail_callees(&self.module, *member)? {
                if around.native(callee).is_none() && !group.contains(&callee) {
                    group.push(callee);
                }
            }
            if group.len() > GROUP_MAX {
                return Err(Refusal::Unfit(
                    "many functions call each other in their places",
                ));
            }
        }
        let mut prepared = Vec::new();
        if self.from.is_some() {
            prepared.push(self.prepare(self.own_index, self.from)?);
        }
        for (number, member) in group.into_iter().enumerate() {
            // The function of a loop is needed only by those that it calls.
            let is_needed = number > 0 || self.from.is_none() || looked_at > 1;
            if is_needed && around.native(member).is_none() {
                translate::code(&self.module, member)
                    .map_err(|error| Refusal::Failed(error.to_string()))?;
                prepared.push(self.prepare(member, None)?);
            }
        }
        Ok(prepared)
    }

    fn prepare(&self, own_index: u32, from: Option<u64>) -> Result<Prepared, Refusal> {
        let module = &self.module;
        let missing = || Refusal::Failed("the function was not translated".into());
        let found = module.with_code(own_index, |body| match from {
            None => Some(None),
            Some(offset) => {
                let mut loops = body.loops.iter();
                Some(Some(loops.find(|known| known.offset == offset)?.clone()))
            }
        });
        let from = found.flatten().ok_or_else(missing)?;
        let around = Around { module };
        let mut compiled = compile::function(module, own_index, from.as_ref(), &around)?;
        let words = std::mem::take(&mut compiled.words);
        let purpose = Purpose::Function(module.weak(), own_index);
        let code = bridges::install(compiled, purpose)?;
        let kind = compile::type_of(module, own_index);
        let bridge = bridges::from_interpreter(kind, code.address(), from.is_some())?;
        let bridge = bridges::install(bridge, Purpose::FromInterpreter)?;
        Ok(Prepared {
            own_index,
            code,
            bridge,
            words,
            place: from.as_ref().map_or(0, |known| known.place as usize),
            is_whole: from.is_none(),
        })
    }

    fn publish(&self, prepared: Prepared) {
        let (native, handler) = (prepared.code.address(), prepared.bridge.address());
        let all = self.module.machine_code();
        {
            let mut kept = all.kept.lock();
            kept.codes.extend([prepared.code, prepared.bridge]);
            kept.words.extend(prepared.words);
        }
        let index = prepared.own_index as usize;
        if prepared.is_whole {
            all.states[index].store(state::REQUESTED, Ordering::Relaxed);
            all.cells[index].store(native, Ordering::Release);
            all.natives[index].store(native as *mut u8, Ordering::Release);
        }
        self.module.with_code(prepared.own_index, |body| {
            body.words[prepared.place].store(handler as u64, Ordering::Release);
        });
    }

    /// Bytes of the function.
    fn size(&self) -> usize {
        self.module.parts().bodies[self.own_index as usize].len()
    }
}

/// Requests for the thread of the compiler.
struct Queue {
    requests: Mutex<Vec<Request>>,
    more: Condvar,
}

static QUEUE: LazyLock<Option<&'static Queue>> = LazyLock::new(|| {
    let queue: &'static Queue = Box::leak(Box::new(Queue {
        requests: Mutex::new(Vec::new()),
        more: Condvar::new(),
    }));
    let thread = std::thread::Builder::new().name("guest-compiler".into());
    let thread = without_signals(|| thread.spawn(move || queue.work()));
    thread.is_ok().then_some(queue)
});

impl Queue {
    fn add(&self, request: Request) {
        self.requests.lock().push(request);
        self.more.notify_one();
    }

    /// Carries requests out, those of short functions first.
    fn work(&self) {
        loop {
            let mut requests = self.requests.lock();
            let next = loop {
                let shortest = requests.iter().enumerate();
                let shortest = shortest.min_by_key(|(_, request)| request.size());
                match shortest.map(|(index, _)| index) {
                    Some(index) => break requests.swap_remove(index),
                    None => requests = self.more.wait(requests),
                }
            };
            drop(requests);
            next.carry_out();
        }
    }
}

/// Does something while signals to this thread wait; a thread that it starts gets none.
fn without_signals<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are complete before they are used.
    unsafe {
        let mut all = std::mem::zeroed();
        let mut old = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, &mut old);
        let result = work();
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut());
        result
    }
}

fn is_supported() -> bool {
    cfg!(all(target_arch = "x86_64", target_os = "linux")) && code_memory::is_ready()
}

/// Looks at where a run has used up its budget, some time after the last such look. Gives the budget until
/// the next one; none if nothing is interpreted there that may become machine code.
pub fn sample(activation: &mut Activation, since: Option<Duration>) -> Option<i64> {
    if policy() != Policy::Hot {
        return None;
    }
    let units = since.map_or(1, |since| (since.as_micros() / 10) as u64);
    let units = units.clamp(1, u64::from(state::MOST_AT_ONCE)) as u16;
    match start(activation) {
        Found::Interpreted(frame) => sample_interpreted(frame, units),
        Found::Native(address, _) => {
            let (module, own_index) = called(activation, address)?;
            let is_native = module.machine_code().has(own_index);
            let is_new = !is_native && count(&module, own_index, units);
            is_new.then_some(FIRST_STRETCH)
        }
    }
}

fn sample_interpreted(frame: Frame, units: u16) -> Option<i64> {
    // SAFETY: instances live as long as their store, whose run this is.
    let module = unsafe { (*frame.instance).module.as_ref() }?;
    let (own_index, around) = module.with_function_at(frame.pc, |own_index, body, word| {
        let loops = body.loops.iter().rev();
        let mut around = loops.filter(|known| known.place <= word);
        (own_index, around.next().map(|known| known.offset))
    })?;
    let all = module.machine_code();
    if !all.has(own_index) {
        let was_new = count(module, own_index, units);
        let is_long = is_found_in_row(module, own_index, frame);
        if was_new && is_requested(module, own_index) && is_long {
            // The call may be the only one.
            request_loop(module, own_index, around, state::REQUESTED);
        }
        return Some(if was_new { FIRST_STRETCH } else { STRETCH });
    }
    // This call was there before the code was.
    request_loop(module, own_index, around, units);
    Some(STRETCH)
}

fn wanted(module: &Module, own_index: u32) -> u16 {
    let bytes = module.parts().bodies[own_index as usize].len();
    let more = (state::HOT_FOR_KILOBYTE * bytes / 1000).min(400);
    state::HOT + more as u16
}

fn is_requested(module: &Module, own_index: u32) -> bool {
    let seen = &module.machine_code().states[own_index as usize];
    seen.load(Ordering::Relaxed) == state::REQUESTED
}

/// Counts that a function without machine code was found running; gives whether it was not requested yet.
fn count(module: &Module, own_index: u32, units: u16) -> bool {
    let seen = &module.machine_code().states[own_index as usize];
    let before = seen.load(Ordering::Relaxed);
    if before == state::REQUESTED {
        return false;
    }
    let now = before + units;
    if now < wanted(module, own_index) {
        seen.store(now, Ordering::Relaxed);
    } else {
        seen.store(state::REQUESTED, Ordering::Relaxed);
        request(module, own_index, None);
    }
    true
}

/// Whether the same frame was found some times, one after the other.
fn is_found_in_row(module: &Module, own_index: u32, frame: Frame) -> bool {
    let mut kept = module.machine_code().kept.lock();
    let (slots, index, count) = kept.newest;
    let is_same = (slots, index) == (frame.slots as usize, own_index);
    let count = if is_same { count.saturating_add(1) } else { 0 };
    kept.newest = (frame.slots as usize, own_index, count);
    count >= ROW
}

/// Counts that an interpreted call was found in a loop, which is compiled if that was long enough.
fn request_loop(module: &Module, own_index: u32, around: Option<u64>, units: u16) {
    let Some(offset) = around else { return };
    let mut kept = module.machine_code().kept.lock();
    let count = kept.loops.entry((own_index, offset)).or_insert(0);
    let is_done = *count == state::REQUESTED;
    *count = count.saturating_add(units);
    if !is_done && *count >= wanted(module, own_index) && !kept.pending.contains(&own_index) {
        kept.loops.insert((own_index, offset), state::REQUESTED);
        kept.pending.insert(own_index);
        request(module, own_index, Some(offset));
    }
}

/// The function that machine code has called last by an adapter or a record, if that is known. The newest
/// frame is at an address.
fn called(activation: &mut Activation, address: usize) -> Option<(Module, u32)> {
    let callee = std::mem::replace(&mut activation.callee, NO_CALLEE);
    if callee == NO_CALLEE {
        return None;
    }
    let (module, own_index) = match u32::try_from(callee) {
        // The address is a return address, which may be that of the next function.
        Ok(own_index) => (frames::function_at(address - 1)?.module, own_index),
        Err(_) => {
            // SAFETY: machine code has written the address of a record of the store.
            let record = unsafe { &*(callee as *const FunctionRecord) };
            // SAFETY: instances live as long as their store.
            let module = unsafe { (*record.instance).module.clone() }?;
            (module, record.index)
        }
    };
    ((own_index as usize) < module.parts().bodies.len()).then_some((module, own_index))
}

fn request(module: &Module, own_index: u32, from: Option<u64>) {
    if !is_supported() {
        return;
    }
    if let Some(queue) = *QUEUE {
        queue.add(Request {
            module: module.clone(),
            own_index,
            from,
        });
    }
}

/// The register code of one of the module's own functions, translated if that was not done before.
pub fn code(module: &Module, own_index: u32) -> Result<*const u64, Error> {
    if let Some(code) = module.code(own_index) {
        return Ok(code);
    }
    let code = translate::code(module, own_index)?;
    translated(module, own_index);
    Ok(code)
}

/// Translates all functions of a module; gives the bytes of their code.
pub fn translate_all(module: &Module) -> Result<usize, Error> {
    for index in 0..module.parts().bodies.len() as u32 {
        code(module, index)?;
    }
    Ok(module.code_bytes())
}

/// Compiles a function that was just translated, if the policy wants that.
fn translated(module: &Module, own_index: u32) {
    let now = policy();
    if !matches!(now, Policy::Always | Policy::Loops) || !is_supported() {
        return;
    }
    let request = |from| Request {
        module: module.clone(),
        own_index,
        from,
    };
    if now == Policy::Always {
        request(None).carry_out();
        return;
    }
    let offsets = module.with_code(own_index, |body| {
        body.loops
            .iter()
            .map(|known| known.offset)
            .collect::<Vec<_>>()
    });
    for offset in offsets.into_iter().flatten() {
        request(Some(offset)).carry_out();
    }
}
