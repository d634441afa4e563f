//! The choice of what is compiled, and the thread that compiles it.
//!
//! A function is a candidate when a run has used up its slice there. Its machine code is put in force by
//! one store to the first word of an instruction, so that any thread may do it while runs go on.

use std::collections::HashSet;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};
use std::sync::{LazyLock, mpsc};

use canny_locks::Mutex;

use super::bridges::{self, Callee};
use super::compile::{self, Refusal, Surroundings};
use super::region::{self, Code, Purpose};
use super::walk::{Found, start};
use crate::activation::Activation;
use crate::definitions;
use crate::module::Module;

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
    /// Times that it was found running, up to [`HOT`].
    pub const HOT: u8 = 2;
    /// It was given to the compiler, and is compiled or not fit.
    pub const REQUESTED: u8 = 255;
}

/// Machine code of a module's own functions.
#[derive(Debug)]
pub struct MachineCode {
    /// Addresses of code, or 0.
    natives: Box<[AtomicPtr<u8>]>,
    /// Addresses for calls by other machine code, or 0: those of stubs until there is code.
    cells: Box<[AtomicUsize]>,
    states: Box<[AtomicU8]>,
    kept: Mutex<Kept>,
}

#[derive(Default, Debug)]
struct Kept {
    codes: Vec<Code>,
    words: Vec<Box<[u64]>>,
    /// Loops that were given to the compiler: their functions and offsets.
    loops: HashSet<(u32, u64)>,
    /// Why functions were not compiled.
    refusals: Vec<(u32, Refusal)>,
}

impl MachineCode {
    pub fn of_functions(count: usize) -> MachineCode {
        MachineCode {
            natives: (0..count).map(|_| AtomicPtr::default()).collect(),
            cells: (0..count).map(|_| AtomicUsize::new(0)).collect(),
            states: (0..count).map(|_| AtomicU8::new(0)).collect(),
            kept: Mutex::default(),
        }
    }

    /// Where the addresses of code are.
    pub fn natives(&self) -> *const AtomicPtr<u8> {
        self.natives.as_ptr()
    }

    /// Bytes of code.
    pub fn bytes(&self) -> usize {
        self.kept.lock().codes.iter().map(Code::bytes).sum()
    }

    /// How many functions have code, and why others do not that were given to the compiler.
    pub fn outcome(&self) -> (usize, Vec<(u32, Refusal)>) {
        let natives = self.natives.iter();
        let compiled = natives.filter(|native| !native.load(Ordering::Relaxed).is_null());
        (compiled.count(), self.kept.lock().refusals.clone())
    }
}

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

/// What is to be compiled.
#[derive(Clone, Debug)]
struct Request {
    module: Module,
    own_index: u32,
    /// The offset of the loop at which the code begins, if it is not the whole function.
    from: Option<u64>,
}

impl Request {
    /// Compiles and puts the code in force.
    fn carry_out(&self) {
        let all = self.module.machine_code();
        if let Err(refusal) = self.try_out() {
            all.kept.lock().refusals.push((self.own_index, refusal));
        }
    }

    fn try_out(&self) -> Result<(), Refusal> {
        let (module, own_index) = (&self.module, self.own_index);
        let missing = || Refusal::Failed("the function was not translated".into());
        let found = module.with_code(own_index, |body| match self.from {
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
        let parts = module.parts();
        let number = parts.functions[parts.imported_functions + own_index as usize];
        let kind = definitions::function_type(number);
        let bridge = bridges::from_interpreter(kind, code.address(), from.is_some())?;
        let bridge = bridges::install(bridge, Purpose::FromInterpreter)?;
        let place = from.as_ref().map_or(0, |known| known.place as usize);
        let (native, handler) = (code.address(), bridge.address());
        let all = module.machine_code();
        {
            let mut kept = all.kept.lock();
            kept.codes.extend([code, bridge]);
            kept.words.extend(words);
        }
        if from.is_none() {
            all.natives[own_index as usize].store(native as *mut u8, Ordering::Release);
            all.cells[own_index as usize].store(native, Ordering::Release);
        }
        module.with_code(own_index, |body| {
            body.words[place].store(handler as u64, Ordering::Release);
        });
        Ok(())
    }
}

/// Requests for the thread of the compiler.
static REQUESTS: LazyLock<Option<Mutex<mpsc::Sender<Request>>>> = LazyLock::new(|| {
    let (sender, receiver) = mpsc::channel::<Request>();
    let thread = std::thread::Builder::new().name("guest-compiler".into());
    let thread = without_signals(|| {
        thread.spawn(move || {
            while let Ok(request) = receiver.recv() {
                request.carry_out();
            }
        })
    });
    thread.is_ok().then(|| Mutex::new(sender))
});

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
    cfg!(all(target_arch = "x86_64", target_os = "linux")) && region::is_ready()
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
    let seen = &all.states[own_index as usize];
    let count = seen.load(Ordering::Relaxed);
    if count < state::HOT {
        seen.store(count + 1, Ordering::Relaxed);
        if count + 1 < state::HOT {
            return true;
        }
    }
    if let Some(offset) = around
        && all.kept.lock().loops.insert((own_index, offset))
    {
        request(module, own_index, Some(offset));
    }
    if seen.swap(state::REQUESTED, Ordering::Relaxed) != state::REQUESTED {
        request(module, own_index, None);
    }
    true
}

fn request(module: &Module, own_index: u32, from: Option<u64>) {
    if !is_supported() {
        return;
    }
    let request = Request {
        module: module.clone(),
        own_index,
        from,
    };
    if let Some(sender) = &*REQUESTS {
        // Without the thread, functions stay interpreted.
        let _ = sender.lock().send(request);
    }
}

/// Compiles a function that was just translated, if the policy wants that.
pub fn translated(module: &Module, own_index: u32) {
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
