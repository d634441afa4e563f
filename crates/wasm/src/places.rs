//! Where functions of guests are at some moment: offsets in the bytes of their modules.
//!
//! Register code has no offsets. A function that is asked for is translated again, and what is found is
//! kept. Machine code has a table of them.

use std::sync::Arc;

use crate::code_memory::Piece;
use crate::dwarf::SourceFrame;
use crate::error::GuestFrame;
use crate::module::Module;
use crate::translate;

/// One of a module's own functions, and where it is.
#[derive(Clone, Debug)]
pub struct Located {
    pub module: Module,
    pub own_index: u32,
    pub spot: Spot,
}

/// A place in the code of a function.
#[derive(Clone, Debug)]
pub enum Spot {
    /// A word of its register code.
    Word(u32),
    /// A byte of its machine code.
    Byte(Arc<Piece>, u32),
}

impl Located {
    /// The function's index in its module.
    pub fn function(&self) -> u32 {
        self.module.parts().imported_functions as u32 + self.own_index
    }

    /// The offset of its instruction in the module's bytes.
    pub fn offset(&self) -> Option<u32> {
        match &self.spot {
            Spot::Word(word) => {
                let find = || translate::origins(&self.module, self.own_index).ok();
                self.module.origins(self.own_index, find)?.of_word(*word)
            }
            Spot::Byte(piece, byte) => piece.origins.of_byte(*byte),
        }
    }

    pub fn is_machine_code(&self) -> bool {
        matches!(self.spot, Spot::Byte(..))
    }

    /// The frames that are shown for it: those of functions that were inlined when the module was made,
    /// the innermost first, and that of the function.
    pub fn frames(&self) -> Vec<GuestFrame> {
        let function = self.function();
        let offset = self.offset();
        let sources = offset.map(|offset| self.module.source_frames(offset));
        let sources = sources.as_deref().unwrap_or_default();
        let own_name = self.module.function_name(function).map(demangled);
        let frame = |name: Option<String>, source: Option<&SourceFrame>, is_inlined| GuestFrame {
            function,
            name,
            module: self.module.name().map(str::to_owned),
            offset,
            is_machine_code: self.is_machine_code(),
            is_inlined,
            place: source.and_then(|source| source.place.clone()),
        };
        let name_of = |source: &SourceFrame| source.function.as_deref().map(demangled);
        let Some((own, inlined)) = sources.split_last() else {
            return vec![frame(own_name, None, false)];
        };
        let mut frames: Vec<_> = inlined
            .iter()
            .map(|source| frame(name_of(source), Some(source), true))
            .collect();
        frames.push(frame(own_name.or_else(|| name_of(own)), Some(own), false));
        frames
    }
}

/// A name without what compilers of Rust add for linkers.
pub fn demangled(name: &str) -> String {
    match rustc_demangle::try_demangle(name) {
        Ok(name) => format!("{name:#}"),
        Err(_) => name.to_owned(),
    }
}
