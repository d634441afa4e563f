//! Ports as a program sees them.

use canny_value::Value;
use canny_vm::strings::string_text;
use canny_vm::{InPlace, Thread};

use crate::testing::{call, failure, machine, stressed_machine};

fn text(value: Value) -> String {
    string_text(value).expect("a string")
}

fn bytes(value: Value) -> Vec<u8> {
    value
        .as_object()
        .expect("a bytevector")
        .with_bytes(<[u8]>::to_vec)
}

/// A file in a directory of its own, removed in the end.
struct Scratch {
    path: std::path::PathBuf,
}

impl Scratch {
    fn new(name: &str) -> Scratch {
        let unique = format!("canny-ports-{}-{name}", std::process::id());
        Scratch {
            path: std::env::temp_dir().join(unique),
        }
    }

    fn name(&self, thread: &mut Thread) -> Value {
        thread.string(&self.path.to_string_lossy())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[test]
fn string_ports_read_by_character_line_and_count() {
    for mut thread in [machine(), stressed_machine()] {
        let source = thread.string("λb\nsecond line\r\nabc\n");
        let port = call(&mut thread, "open-input-string", [source]);
        assert_eq!(
            call(&mut thread, "peek-char", [port]),
            Value::character('λ')
        );
        assert_eq!(
            call(&mut thread, "read-char", [port]),
            Value::character('λ')
        );
        let line = call(&mut thread, "read-line", [port]);
        assert_eq!(text(line), "b");
        let line = call(&mut thread, "read-line", [port]);
        assert_eq!(text(line), "second line");
        assert_eq!(call(&mut thread, "port-line", [port]), Value::fixnum(3));
        let some = call(&mut thread, "read-string", [Value::fixnum(2), port]);
        assert_eq!(text(some), "ab");
        assert_eq!(call(&mut thread, "port-column", [port]), Value::fixnum(3));
        let none = call(&mut thread, "read-string", [Value::fixnum(0), port]);
        assert_eq!(text(none), "");
        assert_eq!(call(&mut thread, "char-ready?", [port]), Value::TRUE);
        let rest = call(&mut thread, "read-string", [Value::fixnum(1 << 50), port]);
        assert_eq!(text(rest), "c\n");
        assert_eq!(call(&mut thread, "read-char", [port]), Value::EOF);
        assert_eq!(call(&mut thread, "read-line", [port]), Value::EOF);
        assert_eq!(
            call(&mut thread, "read-string", [Value::fixnum(3), port]),
            Value::EOF
        );
    }
}

#[test]
fn string_ports_collect() {
    for mut thread in [machine(), stressed_machine()] {
        let port = call(&mut thread, "open-output-string", []);
        let wide = thread.string("x→y");
        let narrow = thread.string("[é]");
        call(&mut thread, "write-string", [wide, port]);
        call(
            &mut thread,
            "write-string",
            [narrow, port, Value::fixnum(1), Value::fixnum(2)],
        );
        call(&mut thread, "fresh-line", [port]);
        call(&mut thread, "fresh-line", [port]);
        call(&mut thread, "write", [narrow, port]);
        call(&mut thread, "write-char", [Value::character('!'), port]);
        call(&mut thread, "display", [Value::fixnum(-5), port]);
        call(&mut thread, "newline", [port]);
        let result = call(&mut thread, "get-output-string", [port]);
        assert_eq!(text(result), "x→yé\n\"[é]\"!-5\n");
        let again = call(&mut thread, "get-output-string", [port]);
        assert_eq!(text(again), text(result));
    }
}

#[test]
fn binary_ports() {
    for mut thread in [machine(), stressed_machine()] {
        let port = call(&mut thread, "open-output-bytevector", []);
        call(&mut thread, "write-u8", [Value::fixnum(200), port]);
        let data = thread.bytevector(&[1, 2, 3, 4]).expect("room");
        call(
            &mut thread,
            "write-bytevector",
            [data, port, Value::fixnum(1), Value::fixnum(3)],
        );
        let result = call(&mut thread, "get-output-bytevector", [port]);
        assert_eq!(bytes(result), [200, 2, 3]);
        let input = call(&mut thread, "open-input-bytevector", [result]);
        assert_eq!(call(&mut thread, "peek-u8", [input]), Value::fixnum(200));
        assert_eq!(call(&mut thread, "read-u8", [input]), Value::fixnum(200));
        assert_eq!(call(&mut thread, "u8-ready?", [input]), Value::TRUE);
        let count = call(
            &mut thread,
            "read-bytevector!",
            [data, input, Value::fixnum(2)],
        );
        assert_eq!(count, Value::fixnum(2));
        assert_eq!(bytes(data), [1, 2, 2, 3]);
        assert_eq!(
            call(&mut thread, "read-bytevector!", [data, input]),
            Value::EOF
        );
        assert_eq!(
            call(&mut thread, "read-bytevector", [Value::fixnum(1), input]),
            Value::EOF
        );
    }
}

#[test]
fn files_are_written_appended_read_and_deleted() {
    let mut thread = machine();
    let scratch = Scratch::new("files");
    let name = scratch.name(&mut thread);
    let port = call(&mut thread, "open-output-file", [name]);
    let line = thread.string("first\n");
    call(&mut thread, "write-string", [line, port]);
    call(&mut thread, "close-port", [port]);
    call(&mut thread, "close-port", [port]);
    let port = call(&mut thread, "open-append-file", [name]);
    call(&mut thread, "write-char", [Value::character('2'), port]);
    call(&mut thread, "close-output-port", [port]);
    assert_eq!(
        std::fs::read_to_string(&scratch.path).expect("written"),
        "first\n2"
    );
    let port = call(&mut thread, "open-input-file", [name]);
    let whole = call(&mut thread, "read-string", [Value::fixnum(100), port]);
    assert_eq!(text(whole), "first\n2");
    assert_eq!(call(&mut thread, "input-port-open?", [port]), Value::TRUE);
    call(&mut thread, "close-input-port", [port]);
    assert_eq!(call(&mut thread, "input-port-open?", [port]), Value::FALSE);
    assert_eq!(call(&mut thread, "file-exists?", [name]), Value::TRUE);
    call(&mut thread, "delete-file", [name]);
    assert_eq!(call(&mut thread, "file-exists?", [name]), Value::FALSE);
}

#[test]
fn a_dead_port_is_closed_and_what_was_written_is_not_lost() {
    let mut thread = machine();
    let scratch = Scratch::new("dead");
    {
        let name = scratch.name(&mut thread);
        let port = call(&mut thread, "open-output-file", [name]);
        let line = thread.string("not lost");
        call(&mut thread, "write-string", [line, port]);
    }
    // The port may still be pinned by a stale word of the native stack; many frames deeper it is not.
    fn collect(thread: &mut Thread, depth: usize) -> usize {
        let room = std::hint::black_box([0usize; 64]);
        if depth == 0 {
            call(thread, "collect-garbage", []);
            return room[0];
        }
        collect(thread, depth - 1) + room[1]
    }
    for _ in 0..3 {
        collect(&mut thread, 50);
    }
    let written = std::fs::read_to_string(&scratch.path).expect("the file exists");
    assert!(written.is_empty() || written == "not lost");
    canny_io::flush_all(canny_io::Wait::Blocking);
    let written = std::fs::read_to_string(&scratch.path).expect("the file exists");
    assert_eq!(written, "not lost");
}

#[test]
fn wrong_ports_are_refused() {
    let mut thread = machine();
    let source = thread.string("abc");
    let input = call(&mut thread, "open-input-string", [source]);
    let output = call(&mut thread, "open-output-bytevector", []);
    let message = failure(&mut thread, "read-char", [output]);
    assert_eq!(
        message,
        "type read-char: argument 1 is not a textual input port"
    );
    let message = failure(&mut thread, "write-char", [Value::character('a'), input]);
    assert_eq!(
        message,
        "type write-char: argument 2 is not a textual output port"
    );
    let message = failure(&mut thread, "read-u8", [Value::fixnum(3)]);
    assert_eq!(
        message,
        "type read-u8: argument 1 is not a binary input port"
    );
    let message = failure(&mut thread, "get-output-string", [output]);
    assert_eq!(
        message,
        "type get-output-string: argument 1 is not a string output port"
    );
    let message = failure(&mut thread, "close-output-port", [input]);
    assert_eq!(
        message,
        "type close-output-port: argument 1 is not an output port"
    );
    call(&mut thread, "close-port", [input]);
    let message = failure(&mut thread, "read-char", [input]);
    assert_eq!(message, "type read-char: the port is closed");
    let message = failure(&mut thread, "read-line", [input]);
    assert_eq!(message, "type read-line: the port is closed");
}

#[test]
fn the_system_refuses() {
    let mut thread = machine();
    let name = thread.string("/nonexistent/file");
    let message = failure(&mut thread, "open-input-file", [name]);
    assert_eq!(
        message,
        "file open-input-file: cannot open file: No such file or directory"
    );
    let message = failure(&mut thread, "delete-file", [name]);
    assert_eq!(
        message,
        "file delete-file: cannot delete file: No such file or directory"
    );
    let directory = thread.string("/");
    let message = failure(&mut thread, "open-output-file", [directory]);
    assert!(
        message.starts_with("file open-output-file: cannot open file"),
        "{message}"
    );
}

#[test]
fn many_dropped_ports_do_not_run_out_of_descriptors() {
    let mut thread = machine();
    let scratch = Scratch::new("many");
    std::fs::write(&scratch.path, "x").expect("a writable directory");
    for _ in 0..3000 {
        let name = scratch.name(&mut thread);
        let port = call(&mut thread, "open-input-file", [name]);
        assert_eq!(
            call(&mut thread, "read-char", [port]),
            Value::character('x')
        );
    }
}

#[test]
fn an_interrupt_ends_a_wait() {
    let mut thread = machine();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let handle = canny_io::Handle::from_descriptor(std::os::fd::OwnedFd::from(reader), "pipe");
    let input = canny_io::TextInput::new(handle, canny_io::DecodeOptions::default());
    let port = super::table::HostPort::text_input(input);
    let flags = super::flag::TEXTUAL | super::flag::INPUT;
    let port = super::table::make_port(&mut thread, port, flags, "pipe").expect("room");
    assert_eq!(call(&mut thread, "char-ready?", [port]), Value::FALSE);
    let interrupts = thread.interrupts();
    let interrupter = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        interrupts.interrupt();
    });
    let message = failure(&mut thread, "read-char", [port]);
    assert_eq!(message, "interrupt read-char: interrupted");
    interrupter.join().expect("no panic");
    use std::io::Write;
    (&writer).write_all("é".as_bytes()).expect("a reader");
    assert_eq!(
        call(&mut thread, "read-char", [port]),
        Value::character('é')
    );
}

/// Whether the text of a port is in the Scheme heap.
fn has_heap_text(port: Value) -> bool {
    let port = port.as_object().expect("a port");
    port.field(canny_tables::layout::port::TEXT)
        .is_kind(canny_tables::kinds::Kind::Bytevector)
}

#[test]
fn string_ports_begin_in_the_heap_and_settle_when_they_must() {
    for mut thread in [machine(), stressed_machine()] {
        let thread = &mut *thread;
        let open = |thread: &mut Thread| {
            let port = call(thread, "open-output-string", []);
            let word = thread.string("ab");
            call(thread, "write-string", [word, port]);
            assert!(has_heap_text(port));
            port
        };
        let is = |thread: &mut Thread, port, expected: &str| {
            let result = call(thread, "get-output-string", [port]);
            assert_eq!(text(result), expected);
        };
        let port = open(thread);
        call(thread, "collect-garbage", []);
        call(thread, "newline", [port]);
        is(thread, port, "ab\n");
        assert!(has_heap_text(port));
        // Characters beyond ASCII.
        let port = open(thread);
        call(thread, "write-char", [Value::character('é'), port]);
        is(thread, port, "abé");
        call(thread, "write-char", [Value::character('λ'), port]);
        assert!(has_heap_text(port));
        call(thread, "write-char", [Value::character('!'), port]);
        is(thread, port, "abéλ!");
        call(thread, "fresh-line", [port]);
        assert!(!has_heap_text(port));
        is(thread, port, "abéλ!\n");
        // A long text, in small pieces and in a large one.
        let port = open(thread);
        for _ in 0..3000 {
            let word = thread.string("cd");
            call(thread, "write-string", [word, port]);
        }
        assert!(!has_heap_text(port));
        is(thread, port, &format!("ab{}", "cd".repeat(3000)));
        let port = open(thread);
        let long = thread.string(&"x".repeat(10_000));
        call(thread, "write-string", [long, port]);
        is(thread, port, &format!("ab{}", "x".repeat(10_000)));
        // The column, and the end.
        let port = open(thread);
        call(thread, "fresh-line", [port]);
        call(thread, "fresh-line", [port]);
        is(thread, port, "ab\n");
        let port = open(thread);
        assert_eq!(call(thread, "output-port-open?", [port]), Value::TRUE);
        call(thread, "close-port", [port]);
        let message = failure(thread, "write-char", [Value::character('a'), port]);
        assert_eq!(message, "type write-char: the port is closed");
        is(thread, port, "ab");
        let port = open(thread);
        assert_eq!(text(call(thread, "port-name", [port])), "string");
        assert_eq!(crate::testing::written(thread, port), "#<port \"string\">");
    }
}

#[test]
fn another_thread_may_use_a_string_port() {
    let mut thread = machine();
    let thread = &mut *thread;
    let port = call(thread, "open-output-string", []);
    call(thread, "write-char", [Value::character('a'), port]);
    assert!(has_heap_text(port));
    thread.vm().set_root("port of two threads", port);
    let vm = thread.vm().clone();
    let other = std::thread::spawn(move || {
        let mut thread = vm.attach().expect("a stack");
        let port = thread.vm().root("port of two threads").expect("a port");
        call(&mut thread, "write-char", [Value::character('b'), port]);
        assert!(!has_heap_text(port));
        let result = call(&mut thread, "get-output-string", [port]);
        text(result)
    });
    // The other thread resumes when this one stands.
    while !other.is_finished() {
        thread.safepoint();
        std::thread::yield_now();
    }
    assert_eq!(other.join().expect("no panic"), "ab");
    call(thread, "write-char", [Value::character('c'), port]);
    let result = call(thread, "get-output-string", [port]);
    assert_eq!(text(result), "abc");
}

#[test]
fn leaf_functions_write_what_the_primitives_write() {
    let mut thread = machine();
    let thread = &mut *thread;
    let leaf = |name: &str, arguments: usize| {
        let id = canny_tables::leaves::lookup(name, arguments).expect(name);
        crate::leaf_table()[usize::from(id.0)]
    };
    let none = Value::ZERO;
    let port = leaf("open-output-string", 0)(InPlace::of(thread), none, none, none);
    // Past the length at which the port settles, which the primitive does.
    let mut expected = String::new();
    for number in 0..2000i64 {
        let (word, symbol) = (thread.string("item"), thread.symbol("ab-1"));
        let objects = [
            ("write-string", word),
            ("write", Value::fixnum(-number)),
            ("display", symbol),
            ("write", symbol),
            ("display", Value::character(';')),
            ("write-char", Value::character('\n')),
        ];
        expected.push_str(&format!("item{}ab-1ab-1;\n", -number));
        for (name, object) in objects {
            let done = leaf(name, 2)(InPlace::of(thread), object, port, none);
            if done == Value::DECLINED {
                call(thread, name, [object, port]);
            }
        }
    }
    let result = call(thread, "get-output-string", [port]);
    assert_eq!(text(result), expected);
    // Objects that the leaf functions decline.
    let (bars, wide) = (thread.symbol("a b"), thread.string("é"));
    for (name, object) in [("write", bars), ("write", wide)] {
        let done = leaf(name, 2)(InPlace::of(thread), object, port, none);
        assert_eq!(done, Value::DECLINED, "{name}");
    }
    call(thread, "close-port", [port]);
    let done = leaf("write-string", 2)(InPlace::of(thread), bars, port, none);
    assert_eq!(done, Value::DECLINED);
    let done = leaf("newline", 1)(InPlace::of(thread), port, none, none);
    assert_eq!(done, Value::DECLINED);
}
