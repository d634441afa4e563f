//! The registry of what the library keeps for each machine outside of the Scheme heap.
//!
//! There are two lists. [`kinds!`] has a row for each kind of host object: something outside of the
//! heap that a Scheme object stands for. The row gives the kind a tag and its table a place; the kind's
//! module has the table and the sweeper, as [`HostKind`]. [`states!`] has a row for each other type of
//! which a machine has one value. The modules that own these types have the operations on them. A place
//! is a field, found when Canny is compiled, and made with the machine's first use of any of them.
//!
//! Invariants: nothing here holds a Scheme value. Ids that the collector reports are made by
//! [`register`] only, so each has the tag of a row. [`sweep_dead`] gives each id to the sweeper of its
//! row.

#[cfg(test)]
mod tests;

use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::{Thread, Vm};

use crate::failure::Failures;
use crate::macros::ConversationCell;
use crate::macros::identifiers::Identifiers;
use crate::primitives::evaluation::{Environments, Loader, SyntaxErrors};
use crate::primitives::guests::{
    GuestBodyReader, GuestBodyWriter, GuestComponent, GuestExchange, GuestInstance, GuestModule,
    GuestReference, GuestRequest, GuestResource, GuestStore, GuestSystem,
};
use crate::primitives::heap_files::HeapFile;
use crate::primitives::http::HttpServer;
use crate::primitives::json::EventReader;
use crate::primitives::numbers::random::RandomSource;
use crate::primitives::ports::table::HostPort;
use crate::primitives::processes::Process;
use crate::primitives::regexp::Expression;
use crate::primitives::signals::Signals;
use crate::primitives::snapshots::HeapNotes;
use crate::primitives::sockets::{Socket, TlsContext};
use crate::primitives::sqlite::{Cursor, Database};
use crate::primitives::system::{ChangedVariables, CommandLine};
use crate::primitives::tasks::SuspendedOperations;
use crate::primitives::watches::Watch;
use crate::primitives::websocket::WebSocketCodec;
use crate::snapshots::HeapWatch;
use crate::snapshots::jobs::HeapJobs;
use crate::uncaught::Reporter;

/// A kind of host object. Its module has the implementation, and [`kinds!`] the row.
pub(crate) trait HostKind {
    /// The kind of the Scheme objects that stand for host objects of this kind.
    const KIND: Kind = Kind::External;

    /// Where a machine has the objects of this kind, by their numbers.
    type Table: Default + Send + Sync;

    /// Drops the host objects with these numbers: the collector found their Scheme objects dead.
    fn sweep(thread: &mut Thread, dead: &[u64]);

    /// Bytes that the host object with this number holds, as far as that is known at once. It must take no
    /// lock but by trying: it is asked in copies of the process, where locks of other threads stay held.
    fn held_bytes(_table: &Self::Table, _number: u64) -> Option<u64> {
        None
    }

    /// Whether the sweeper has to run even if no further object is dead.
    fn has_more_to_sweep(_table: &Self::Table) -> bool {
        false
    }
}

/// The part of a kind that its row of [`kinds!`] gives.
pub(crate) trait Registered: HostKind {
    /// The bits that tell ids of this kind from others.
    const TAG: u64;

    /// The table of a machine.
    fn table(host: &Host) -> &Self::Table;
}

/// The part of a type that its row of [`states!`] gives.
pub(crate) trait State {
    /// The value of a machine.
    fn state(host: &Host) -> &Self;
}

/// Bits of an id below its tag: the number of the object.
const NUMBER_BITS: u32 = 56;
const NUMBER_MASK: u64 = (1 << NUMBER_BITS) - 1;

/// Makes of each row a tag, a place for the table, and a turn of the sweep.
macro_rules! kinds {
    ($($place:ident: $kind:ty;)*) => {
        /// In the order of the rows.
        #[repr(u8)]
        #[expect(non_camel_case_types)]
        enum Tag { $($place),* }

        #[derive(Default)]
        struct Tables { $($place: <$kind as HostKind>::Table),* }

        $(impl Registered for $kind {
            const TAG: u64 = (Tag::$place as u64) << NUMBER_BITS;

            #[inline(always)]
            fn table(host: &Host) -> &Self::Table {
                &host.tables.$place
            }
        })*

        fn has_more_to_sweep(host: &Host) -> bool {
            false $(|| <$kind>::has_more_to_sweep(&host.tables.$place))*
        }

        fn bytes_of_id(host: &Host, id: u64) -> Option<u64> {
            let number = id & NUMBER_MASK;
            $(if id & !NUMBER_MASK == <$kind as Registered>::TAG {
                return <$kind>::held_bytes(&host.tables.$place, number);
            })*
            None
        }

        /// Takes ids in the order of their tags.
        fn sweep_kinds(thread: &mut Thread, mut dead: &[u64]) {
            $(dead = sweep_kind::<$kind>(thread, dead);)*
            debug_assert!(dead.is_empty(), "each id has the tag of a row");
        }
    };
}

/// Makes of each row a place for the value.
macro_rules! states {
    ($($place:ident: $state:ty;)*) => {
        #[derive(Default)]
        struct States { $($place: $state),* }

        $(impl State for $state {
            #[inline(always)]
            fn state(host: &Host) -> &Self {
                &host.states.$place
            }
        })*
    };
}

kinds! {
    ports: HostPort;
    environments: Environments;
    loaders: Loader;
    sockets: Socket;
    processes: Process;
    watches: Watch;
    tls_contexts: TlsContext;
    json_readers: EventReader;
    regexes: Expression;
    databases: Database;
    cursors: Cursor;
    http_servers: HttpServer;
    websockets: WebSocketCodec;
    syntax_errors: SyntaxErrors;
    heap_files: HeapFile;
    guest_body_readers: GuestBodyReader;
    guest_body_writers: GuestBodyWriter;
    guest_components: GuestComponent;
    guest_exchanges: GuestExchange;
    guest_instances: GuestInstance;
    guest_modules: GuestModule;
    guest_references: GuestReference;
    guest_requests: GuestRequest;
    guest_resources: GuestResource;
    guest_stores: GuestStore;
    guest_systems: GuestSystem;
}

states! {
    random: RandomSource;
    identifiers: Identifiers;
    conversation: ConversationCell;
    signals: Signals;
    command_line: CommandLine;
    variables: ChangedVariables;
    reporter: Reporter;
    suspended: SuspendedOperations;
    failures: Failures;
    heap_watch: HeapWatch;
    heap_jobs: HeapJobs;
    heap_notes: HeapNotes;
}

/// The host data of a machine.
#[derive(Default)]
pub(crate) struct Host {
    tables: Tables,
    states: States,
}

/// The table of a kind, in the thread's machine.
#[inline]
pub(crate) fn table<K: Registered>(thread: &Thread) -> &K::Table {
    K::table(thread.vm().host(Host::default))
}

/// The table of a kind.
pub(crate) fn table_of_machine<K: Registered>(vm: &Vm) -> &K::Table {
    K::table(vm.host(Host::default))
}

/// A machine's value of a type.
#[inline]
pub(crate) fn state<S: State>(vm: &Vm) -> &S {
    S::state(vm.host(Host::default))
}

/// Has the collector report the death of an object that stands for the host object with this number.
pub(crate) fn register<K: Registered>(thread: &mut Thread, object: Value, number: u64) {
    debug_assert!(number <= NUMBER_MASK);
    thread.register_external(object, K::TAG | number);
}

/// Bytes that the host object behind a reported id holds, as far as that is known at once.
pub(crate) fn held_bytes(vm: &Vm, id: u64) -> Option<u64> {
    bytes_of_id(vm.host(Host::default), id)
}

/// Drops what belonged to Scheme objects that the collector found dead.
pub(crate) fn sweep_dead(thread: &mut Thread) {
    let mut dead = thread.vm().heap().take_dead_externals();
    if dead.is_empty() && !has_more_to_sweep(thread.vm().host(Host::default)) {
        return;
    }
    dead.sort_unstable();
    sweep_kinds(thread, &dead);
}

/// Has a kind sweep the ids at the beginning that are its own; gives the others.
fn sweep_kind<'a, K: Registered>(thread: &mut Thread, dead: &'a [u64]) -> &'a [u64] {
    let count = dead.partition_point(|id| id & !NUMBER_MASK <= K::TAG);
    let (own, others) = dead.split_at(count);
    if !own.is_empty() || K::has_more_to_sweep(table::<K>(thread)) {
        let numbers: Vec<u64> = own.iter().map(|id| id & NUMBER_MASK).collect();
        K::sweep(thread, &numbers);
    }
    others
}
