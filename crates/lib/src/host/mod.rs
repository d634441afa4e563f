//! The boundary between a machine and the host program: what the program sets and asks, and the
//! [`registry`] of what the library keeps for each machine outside of the Scheme heap.
//!
//! [`registry`] has the lists of kinds and of states; [`objects`] has tables of host objects and the
//! Scheme objects that stand for them. The module that owns a kind or a state has everything else of
//! it.

mod objects;
mod registry;

pub use crate::primitives::guests::take_part as take_guests_into_profiles;
pub use crate::primitives::ports::standard::{
    HostOutput, StandardOutput, end_line, finish_output, is_at_line_start, note_line_start,
    open_standard_ports,
};
pub use crate::primitives::ports::table::report_open_ports;
pub use crate::primitives::signals::{
    handle_asks, handle_heap_signal, handle_interrupts, run_beside, take_shutdown_procedure,
};
pub use crate::primitives::system::{
    command_line_words, set_command_line, set_served_value, take_exit_hook,
};
pub use crate::primitives::tasks::take_failure_procedure;
pub use crate::public_names::blame_public_procedures;
pub use crate::uncaught::{BlamedProcedure, Report, Uncaught, set_report};

pub(crate) use self::objects::{
    HostTable, bare_object, find, keep, kept_in_table, number_of_object, number_of_value,
    object_with_number, take,
};
pub(crate) use self::registry::{
    HostKind, held_bytes, register, state, sweep_dead, table, table_of_machine,
};
