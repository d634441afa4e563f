//! Ctrl-C in tools that run other processes: a flag, so that the tool can end in order.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::exit_code;

/// A flag that SIGINT or SIGTERM sets. A second signal ends the process in any case.
pub fn stop_flag() -> Result<Arc<AtomicBool>, String> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let twice = signal_hook::flag::register_conditional_shutdown(
            signal,
            i32::from(exit_code::INTERRUPTED),
            stop.clone(),
        );
        let once = signal_hook::flag::register(signal, stop.clone());
        if let Err(error) = twice.and(once) {
            return Err(format!("cannot wait for Ctrl-C: {error}"));
        }
    }
    Ok(stop)
}
