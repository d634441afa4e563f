//! The choice of what is compiled, and the thread that compiles it.
//!
//! A function is a candidate when a run has used up its slice there. Its machine code is put in force by
//! one store to the first word of an instruction, so that any thread may do it while runs go on.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};

use canny_locks::{Condvar, Mutex};

use super::bridges::{self, Callee};
use super::compile::{self, Refusal, Surroundings};
use crate::activation::Activation;
use crate::code_memory::{self, Code, Purpose};
use crate::error::Error;
use crate::frames::{Found, start};
use crate::module::Module;
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

/// A function's way to machine code.
mod state {
    /// Times that a short function is found running before.
    pub const HOT: u8 = 2;
    /// It was given to the compiler, and is compiled or not fit.
    pub const REQUESTED: u8 = 255;
}

/// So many bytes of a function let it be found running once more before it is compiled.
const BYTES_A_SAMPLE: usize = 1000;

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

/// Looks at where a run has used up its budget; gives whether that is an interpreted function which may
/// become machine code.
pub fn sample(activation: &Activation) -> bool {
    if policy() != Policy::Hot {
        return false;
    }
    let Found::Interpreted(frame) = start(activation) else {
        return false;
    };
    // SAFETY: instances live as long as their store, whose run this is.
    let Some(module) = (unsafe { &(*frame.instance).module }) else {
        return false;
    };
    let found = module.with_function_at(frame.pc, |own_index, body, word| {
        let loops = body.loops.iter().rev();
        let mut around = loops.filter(|known| known.place <= word);
        (own_index, around.next().map(|known| known.offset))
    });
    let Some((own_index, around)) = found else {
        return false;
    };
    let all = module.machine_code();
    let index = own_index as usize;
    // Long functions take long to compile, and have to be worth it.
    let wanted = state::HOT + (module.parts().bodies[index].len() / BYTES_A_SAMPLE).min(100) as u8;
    if all.natives[index].load(Ordering::Relaxed).is_null() {
        let seen = &all.states[index];
        let count = seen.load(Ordering::Relaxed);
        if count < wanted {
            seen.store(count + 1, Ordering::Relaxed);
        } else if count != state::REQUESTED {
            seen.store(state::REQUESTED, Ordering::Relaxed);
            request(module, own_index, None);
        }
    } else if let Some(offset) = around {
        // This call was there before the code was.
        let mut kept = all.kept.lock();
        let count = kept.loops.entry((own_index, offset)).or_insert(0);
        *count = count.saturating_add(1);
        if *count >= wanted && *count != u8::MAX && !kept.pending.contains(&own_index) {
            kept.loops.insert((own_index, offset), u8::MAX);
            kept.pending.insert(own_index);
            request(module, own_index, Some(offset));
        }
    }
    true
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
