//! The machine that code is made for: Cranelift's description of it, signatures, and one function's way
//! through the code generator.

use std::sync::OnceLock;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::types::{F64, I32, I64};
use cranelift_codegen::ir::{AbiParam, ExternalName, Function, Signature, UserFuncName};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{Final, FinalizedRelocTarget, MachSrcLoc, binemit::Reloc};

use crate::places::{PlaceNumbers, PlaceRange};
use crate::relocation::{Relocation, Target};
use crate::strip::{self, ExitRange};
use crate::{JitError, Processor};

/// Machine code of one function.
pub(crate) struct FunctionCode {
    pub(crate) bytes: Vec<u8>,
    /// Where the function begins; the code before it is dead.
    pub(crate) entry: usize,
    pub(crate) relocations: Vec<Relocation>,
    pub(crate) disassembly: Option<String>,
    pub(crate) has_frame: bool,
    /// Where code begins that was made for which place.
    pub(crate) places: Vec<PlaceRange>,
    /// Words by which the fp that it is entered with lies above its own.
    pub(crate) entered_above: i32,
}

impl FunctionCode {
    /// The same behind some instructions; for code without relocations.
    pub(crate) fn behind(mut self, first: &[u8]) -> FunctionCode {
        debug_assert!(self.relocations.is_empty());
        self.bytes.splice(..self.entry, first.iter().copied());
        self.entry = 0;
        self
    }
}

/// Signature of segments, handlers and stubs: pc, fp, thread block, dispatch table, first word.
pub(crate) fn segment_signature() -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    for kind in [I64, I64, I64, I64, I32] {
        signature.params.push(AbiParam::new(kind));
    }
    signature.returns.push(AbiParam::new(I64));
    signature
}

/// Signature of jumps into known code with so many arguments in registers, words and doubles: the first
/// word, fp, thread block, the other words, the doubles. Doubles are returned in the same way.
pub(crate) fn direct_signature(words: usize, doubles: usize) -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    let registers = 3 + words.saturating_sub(1);
    signature.params.resize(registers, AbiParam::new(I64));
    signature
        .params
        .resize(registers + doubles, AbiParam::new(F64));
    signature.returns.push(AbiParam::new(I64));
    signature
}

/// How much the code generator's own optimizer does. It finds equal computations and moves them out of
/// loops, which straight code seldom gains from, and takes a fifth of the time of generating.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    Little,
    Much,
}

/// The instructions of a processor, and how much effort is made to use them well.
pub(crate) fn target(
    processor: Processor,
    effort: Effort,
) -> Result<&'static OwnedTargetIsa, JitError> {
    static TARGETS: [[OnceLock<Result<OwnedTargetIsa, String>>; 2]; 2] =
        [const { [const { OnceLock::new() }; 2] }; 2];
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Err(JitError::Unsupported("only x86-64 Linux is known"));
    }
    let known = &TARGETS[processor as usize][effort as usize];
    match known.get_or_init(|| make_target(processor, effort)) {
        Ok(isa) => Ok(isa),
        Err(what) => Err(JitError::CodeGenerator(what.clone())),
    }
}

fn make_target(processor: Processor, effort: Effort) -> Result<OwnedTargetIsa, String> {
    let level = match effort {
        Effort::Little => "none",
        Effort::Much => "speed",
    };
    let mut flags = settings::builder();
    for (name, value) in [
        ("opt_level", level),
        ("is_pic", "false"),
        ("unwind_info", "false"),
        (
            "enable_verifier",
            if cfg!(debug_assertions) {
                "true"
            } else {
                "false"
            },
        ),
        // Tail calls require it; the frames are taken out afterwards.
        ("preserve_frame_pointers", "true"),
    ] {
        flags.set(name, value).map_err(|error| error.to_string())?;
    }
    let mut builder = cranelift_codegen::isa::lookup_by_name("x86_64-unknown-linux-gnu")
        .map_err(|error| error.to_string())?;
    let features = match processor {
        Processor::Host => host_features(),
        Processor::Baseline => vec![
            "has_sse3",
            "has_ssse3",
            "has_sse41",
            "has_sse42",
            "has_popcnt",
        ],
    };
    for feature in features {
        builder
            .enable(feature)
            .map_err(|error| format!("{feature}: {error}"))?;
    }
    builder
        .finish(settings::Flags::new(flags))
        .map_err(|error| error.to_string())
}

#[cfg(target_arch = "x86_64")]
fn host_features() -> Vec<&'static str> {
    let mut features = Vec::new();
    macro_rules! detect {
        ($($feature:tt => $setting:literal),*) => { $(
            if std::is_x86_feature_detected!($feature) {
                features.push($setting);
            }
        )* };
    }
    detect!("sse3" => "has_sse3", "ssse3" => "has_ssse3", "sse4.1" => "has_sse41", "sse4.2" => "has_sse42",
        "avx" => "has_avx", "avx2" => "has_avx2", "fma" => "has_fma", "bmi1" => "has_bmi1", "bmi2" =>
            "has_bmi2",
        "lzcnt" => "has_lzcnt", "popcnt" => "has_popcnt");
    features
}

#[cfg(not(target_arch = "x86_64"))]
fn host_features() -> Vec<&'static str> {
    Vec::new()
}

/// Compiles the function in a context; `exits` numbers the source locations of the instructions that
/// leave it, from one.
pub(crate) fn generate(
    context: &mut Context,
    exits: u32,
    isa: &OwnedTargetIsa,
    disassembles: bool,
) -> Result<FunctionCode, JitError> {
    context.set_disasm(disassembles);
    if let Err(error) = context.compile(&**isa, &mut ControlPlane::default()) {
        let what = format!("{:?}", error.inner);
        return Err(JitError::CodeGenerator(what));
    }
    let compiled = context
        .compiled_code()
        .ok_or_else(|| JitError::CodeGenerator("no code".into()))?;
    let mut bytes = compiled.buffer.data().to_vec();
    let ranges: Vec<ExitRange> = compiled
        .buffer
        .get_srclocs_sorted()
        .iter()
        .filter(|location| (1..=exits).contains(&location.loc.bits()))
        .map(|location| ExitRange {
            start: location.start as usize,
            end: location.end as usize,
        })
        .collect();
    let places = places_of(compiled.buffer.get_srclocs_sorted());
    let mut relocations = relocations(context)?;
    let entry = strip::strip_frame(&mut bytes, &ranges, &mut relocations);
    Ok(FunctionCode {
        bytes,
        entry: entry.unwrap_or(0),
        relocations,
        disassembly: compiled.vcode.clone(),
        has_frame: entry.is_none(),
        places,
        entered_above: 0,
    })
}

/// Where code begins that was made for another place than the code before; exits belong to the place
/// before them.
fn places_of(locations: &[MachSrcLoc<Final>]) -> Vec<PlaceRange> {
    let mut places: Vec<PlaceRange> = Vec::new();
    for location in locations {
        if let Some(number) = PlaceNumbers::number(location.loc.bits())
            && places.last().is_none_or(|(_, last)| *last != number)
        {
            places.push((location.start, number));
        }
    }
    places
}

fn relocations(context: &Context) -> Result<Vec<Relocation>, JitError> {
    let Some(compiled) = context.compiled_code() else {
        return Ok(Vec::new());
    };
    compiled
        .buffer
        .relocs()
        .iter()
        .map(|relocation| {
            let target = match &relocation.target {
                FinalizedRelocTarget::ExternalName(name) => resolve(&context.func, name),
                FinalizedRelocTarget::Func(_) => None,
            };
            match (relocation.kind, target) {
                (Reloc::X86PCRel4 | Reloc::X86CallPCRel4, Some(target)) => Ok(Relocation {
                    offset: relocation.offset as usize,
                    target,
                    addend: relocation.addend,
                }),
                (kind, _) => Err(JitError::CodeGenerator(format!(
                    "relocation {kind:?} of {:?}",
                    relocation.target
                ))),
            }
        })
        .collect()
}

fn resolve(function: &Function, name: &ExternalName) -> Option<Target> {
    let ExternalName::User(reference) = name else {
        return None;
    };
    let name = function.params.user_named_funcs().get(*reference)?;
    Target::from_name(name.namespace, name.index)
}

/// Prepares a context for the next function.
pub(crate) fn clear(context: &mut Context) {
    context.clear();
    context.func.signature = segment_signature();
    context.func.name = UserFuncName::user(0, 0);
}
