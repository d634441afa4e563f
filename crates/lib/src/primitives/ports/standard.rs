//! The standard ports, the ports that take their place at a prompt, and what happens to output at
//! exit.
//!
//! Standard output and error belong to the process and are shared by all machines. Reading standard
//! input flushes standard output first. Every regular end of the process goes through
//! [`finish_output`], which flushes all ports and reports what could not be written.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use canny_io::port::EncodeOptions;
use canny_io::process::end_companions;
use canny_io::{
    Access, Buffering, ByteDevice, DecodeOptions, Handle, IoError, SharedPort, TextInput,
    TextOutput, Wait, finish_all, flush_all,
};
use canny_vm::{Raise, Thread};

use super::super::file_system::delete_temporary_files;
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

/// One of the standard outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandardOutput {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

impl StandardOutput {
    fn port(self) -> &'static SharedPort<TextOutput> {
        match self {
            StandardOutput::Output => &standard_outputs().output,
            StandardOutput::Error => &standard_outputs().error,
        }
    }
}

/// Whether what was written to a standard output so far ends with a line end, or nothing was written.
pub fn is_at_line_start(output: StandardOutput) -> bool {
    output.port().lock().column() == 0
}

/// Ends the line that was begun on a standard output, and writes out what it holds.
pub fn end_line(output: StandardOutput) {
    let _ = output.port().lock().fresh_line(Wait::Blocking);
    let _ = flush_all(Wait::Blocking);
}

/// Says that the line which was begun on a standard output was ended by other ways than the port.
pub fn note_line_start(output: StandardOutput) {
    output.port().lock().note_line_start();
}

/// Writes out what standard output holds, before somebody else writes there.
pub(crate) fn flush_standard_output() {
    let _ = standard_outputs().output.lock().flush(Wait::Blocking);
}

/// An output port of a host's own that can take the place of the standard ones.
pub struct HostOutput {
    output: Arc<SharedPort<TextOutput>>,
}

/// The root with the port object.
const HOST_OUTPUT: &str = "host output";
/// Roots that hold the ports in whose place it is.
const REPLACED: [(usize, &str); 2] = [(1, "replaced output"), (2, "replaced error")];

impl HostOutput {
    /// Makes a port that writes to a device.
    pub fn new(thread: &mut Thread, device: Box<dyn ByteDevice>) -> Result<HostOutput, Raise> {
        let handle = Handle::from_device(device, "client", Access::Write);
        let mut text = TextOutput::new(handle, EncodeOptions::default());
        text.set_buffering(Buffering::Line);
        let output = text.share();
        let shared = HostPort::TextOutput(output.clone());
        let port = make_port(thread, shared, flag::TEXTUAL | flag::OUTPUT, "client")?;
        thread.vm().set_root(HOST_OUTPUT, port);
        Ok(HostOutput { output })
    }

    /// Makes it the current output and error port.
    pub fn enter(&self, thread: &mut Thread) {
        let Some(port) = thread.vm().root(HOST_OUTPUT) else {
            return;
        };
        for (key, root) in REPLACED {
            let before = thread.current_port(key);
            thread.vm().set_root(root, before);
            thread.set_default_port(key, port);
        }
    }

    /// Writes out what it holds and puts the ports before it back.
    pub fn leave(&self, thread: &mut Thread) {
        // The other end may be gone.
        let _ = self.output.lock().flush(Wait::Blocking);
        for (key, root) in REPLACED {
            if let Some(port) = thread.vm().root(root) {
                thread.set_default_port(key, port);
            }
        }
    }
}

/// Writes out everything that output ports hold back, ends programs that are being run,
/// and deletes temporary files. Every way out of the process leads through here.
/// Data that could not be written is reported on standard error, by the first call that meets it, and an exit
/// code of success becomes that of an input or output error.
pub fn finish_output(code: i32) -> i32 {
    const INPUT_OUTPUT_ERROR: i32 = 74;
    static WAS_TOLD: AtomicBool = AtomicBool::new(false);
    let errors: Vec<IoError> = finish_all(Wait::Blocking);
    end_companions();
    delete_temporary_files();
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
