//! The standard ports.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use canny_io::port::EncodeOptions;
use canny_io::{
    Buffering, DecodeOptions, Handle, IoError, SharedPort, TextInput, TextOutput, Wait, flush_all,
};
use canny_vm::{Raise, Thread};

use super::flag;
use super::table::{HostPort, make_port};

/// The outputs are shared by all machines of the process, as the process has only one of each.
struct StandardOutputs {
    output: Arc<SharedPort<TextOutput>>,
    error: Arc<SharedPort<TextOutput>>,
}

fn standard_outputs() -> &'static StandardOutputs {
    static OUTPUTS: OnceLock<StandardOutputs> = OnceLock::new();
    OUTPUTS.get_or_init(|| {
        let output = TextOutput::new(Handle::standard_output(), EncodeOptions::default());
        let mut error = TextOutput::new(Handle::standard_error(), EncodeOptions::default());
        error.set_buffering(Buffering::None);
        StandardOutputs {
            output: output.share(),
            error: error.share(),
        }
    })
}

/// Makes the standard ports the default ports of a thread. Waiting for standard input flushes standard
/// output first.
pub fn open_standard_ports(thread: &mut Thread) -> Result<(), Raise> {
    let outputs = standard_outputs();
    let mut input = TextInput::new(Handle::standard_input(), DecodeOptions::default());
    input.tie_output(&outputs.output);
    let reads = flag::TEXTUAL | flag::INPUT;
    let writes = flag::TEXTUAL | flag::OUTPUT;
    let port = make_port(thread, HostPort::text_input(input), reads, "standard input")?;
    thread.set_default_port(0, port);
    let output = HostPort::TextOutput(outputs.output.clone());
    let port = make_port(thread, output, writes, "standard output")?;
    thread.set_default_port(1, port);
    let error = HostPort::TextOutput(outputs.error.clone());
    let port = make_port(thread, error, writes, "standard error")?;
    thread.set_default_port(2, port);
    Ok(())
}

/// Writes out everything that output ports hold back. Every way out of the process leads through here.
/// What could not be written is told on standard error, by the first call that meets it, and an exit
/// code of success becomes that of an input or output error.
pub fn finish_output(code: i32) -> i32 {
    const INPUT_OUTPUT_ERROR: i32 = 74;
    static WAS_TOLD: AtomicBool = AtomicBool::new(false);
    let errors: Vec<IoError> = flush_all(Wait::Blocking);
    if !errors.is_empty() && !WAS_TOLD.swap(true, Ordering::Relaxed) {
        for error in &errors {
            eprintln!("canny: {error}");
        }
    }
    if code == 0 && !errors.is_empty() {
        INPUT_OUTPUT_ERROR
    } else {
        code
    }
}
