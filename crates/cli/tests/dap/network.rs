//! Programs on other machines: an adapter listens there, and wants to see a token.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::client::Client;
use super::{SUMS, program};

/// An adapter that listens for other machines.
struct Listening {
    process: Child,
    port: String,
    token: String,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Listening {
    fn begin(token: Option<&str>) -> Listening {
        let mut command = Command::new(env!("CARGO_BIN_EXE_canny"));
        command.args(["dap", "--listen", "0.0.0.0:0"]);
        command.env_remove("CANNY_DAP_TOKEN").stderr(Stdio::piped());
        if let Some(token) = token {
            command.env("CANNY_DAP_TOKEN", token);
        }
        let mut process = command.spawn().expect("the adapter starts");
        let mut lines = BufReader::new(process.stderr.take().expect("its messages")).lines();
        let mut next = || lines.next().expect("a line").expect("text");
        let port = next();
        let port = port.rsplit_once(':').expect("an address").1.to_owned();
        let token = match token {
            Some(token) => token.to_owned(),
            None => next().rsplit_once(' ').expect("a token").1.to_owned(),
        };
        // Its later messages are read, too.
        std::thread::spawn(move || lines.for_each(drop));
        Listening {
            process,
            port,
            token,
        }
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

#[test]
fn a_program_of_another_machine_is_debugged() {
    let file = program(SUMS);
    for token in [None, Some("open sesame")] {
        let other = Listening::begin(token);
        let mut client = Client::new();
        let wish = json!({
            "program": file,
            "address": other.address(),
            "token": other.token,
            "console": "integratedTerminal",
        });
        client.ask("launch", wish);
        client.event("initialized");
        client.set(&file, json!([{"line": 4, "condition": "(= x 2)"}]));
        client.ask("configurationDone", json!({}));
        let (reason, thread) = client.stop();
        assert_eq!(reason, "breakpoint");
        let frame = client.frame(thread);
        assert_eq!(client.evaluate(frame, "(+ sum 100)")["result"], "103");
        assert_eq!(client.run_to_end(thread), 0);
        assert_eq!(client.output("stdout"), "30\n");
    }
}

#[test]
fn a_token_is_wanted() {
    let file = program(SUMS);
    let other = Listening::begin(None);
    assert_eq!(other.token.len(), 32);
    for token in [json!("wrong"), json!(null)] {
        let mut client = Client::new();
        let wish = json!({"program": file, "address": other.address(), "token": token});
        let message = client.refused("launch", wish);
        assert!(message.contains("the token may be wrong"), "{message}");
    }
    // An editor that speaks the protocol itself has no way to show one.
    let mut client = Client::new();
    let wish = json!({"pid": 1, "address": "127.0.0.1:1", "token": "x"});
    let message = client.refused("attach", wish);
    assert!(message.contains("cannot reach 127.0.0.1:1"), "{message}");
}
