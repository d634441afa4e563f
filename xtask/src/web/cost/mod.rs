//! `cargo xtask web --cost`: one request taken apart, as three tables.
//!
//! Instructions by group of functions come from callgrind, which begins to count when the code is compiled.
//! Processor time by stage and allocated bytes by procedure come from one profile of the server, which
//! `canny profile --attach` takes under the load of `wrk`. All requests of the load are within the
//! profile, so that its sums can be divided by their number.

mod allocation;
mod callgrind;
mod instructions;
mod stages;
mod table;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::clients::{Load, Transport};
use super::load::connect;
use super::servers::{self, Server};
use super::trials::read_answer;
use crate::workspace;

/// The things to measure, and how much of each.
#[derive(Debug)]
pub struct Plan {
    pub canny: PathBuf,
    /// The names and paths of the pages.
    pub pages: Vec<(&'static str, &'static str)>,
    /// Requests for `/` that callgrind counts, after as many to warm up; a tenth of them for other pages.
    pub requests: u64,
    /// Seconds of load for the profile.
    pub seconds: u64,
    pub connections: u64,
    /// Allocated bytes between two sampled objects.
    pub allocation_interval: u64,
    /// Functions to list by their instructions.
    pub functions: usize,
}

/// How long a server may take to start or to end under callgrind.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long a profile may take; then it ends by itself.
const PROFILE_SECONDS_MAX: u64 = 600;

/// Measures and prints the tables.
pub fn run(plan: &Plan, place: &Path) -> Result<(), String> {
    for tool in ["valgrind", "wrk"] {
        if !workspace::installed(tool) {
            return Err(format!("{tool} is not installed"));
        }
    }
    for (page, path) in &plan.pages {
        println!("## {page}: `{path}`\n");
        let profile = count(plan, page, path, place)?;
        println!("{}", instructions::table(profile.clone()));
        if plan.functions > 0 {
            println!("{}", instructions::hottest(profile, plan.functions));
        }
        let profiled = profile_under_load(plan, page, path, place)?;
        println!("{}", stages::table(&profiled.profile, profiled.requests));
        println!(
            "{}",
            allocation::table(&profiled.profile, profiled.requests)
        );
        println!(
            "{:.0} requests, {} samples, {} sampled objects, {} lost; {:.2} µs of processor time for a \
             request by /proc\n",
            profiled.requests,
            profiled.profile.rows.samples.len(),
            profiled.profile.rows.allocations.len(),
            profiled.profile.lost,
            profiled.cpu * 1e6 / profiled.requests,
        );
    }
    Ok(())
}

/// The instructions of one request.
fn count(plan: &Plan, page: &str, path: &str, place: &Path) -> Result<callgrind::Profile, String> {
    let requests = match path {
        "/" => plan.requests,
        _ => plan.requests.div_ceil(10),
    };
    let out = place.join(format!("{page}.callgrind"));
    let mut command = Command::new("valgrind");
    command
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(&plan.canny)
        // The profile that a run before has kept would change which code is compiled when.
        .arg("--no-profiles")
        // Else that would depend on what else the machine does.
        .env("CANNY_SPESH_BLOCKING", "1");
    let mut server = servers::start_alone(command, PATIENCE)?;
    // Start and compilation are not counted.
    ask_in_turns(&server, path, requests)?;
    control_callgrind("--zero", &server)?;
    ask_in_turns(&server, path, requests)?;
    control_callgrind("--dump", &server)?;
    server.end_in_order();
    // The first dump; the file without a number has what came after it.
    let dump = out.with_extension("callgrind.1");
    let profile = callgrind::Profile::parse(&workspace::read(&dump)?)?;
    Ok(profile.divided(requests as f64))
}

/// Sends a command to a server under callgrind.
fn control_callgrind(command: &str, server: &Server) -> Result<(), String> {
    let outcome = Command::new("callgrind_control")
        .arg(command)
        .arg(server.child.id().to_string())
        .output()
        .map_err(|error| format!("callgrind_control: {error}"))?;
    let said = String::from_utf8_lossy(&outcome.stdout);
    if said.contains("OK") {
        Ok(())
    } else {
        Err(format!("callgrind_control {command}: {said}"))
    }
}

/// Asks by ten connections in turns, one request at a time.
fn ask_in_turns(server: &Server, path: &str, requests: u64) -> Result<(), String> {
    use std::io::Write as _;
    let connections: Result<Vec<_>, String> = (0..10).map(|_| connect(server.port)).collect();
    let mut connections = connections?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let count = connections.len();
    for turn in 0..requests as usize {
        let stream = &mut connections[turn % count];
        let written = stream.write_all(request.as_bytes());
        written.map_err(|error| format!("{path}: {error}"))?;
        let (status, _) = read_answer(stream).map_err(|error| format!("{path}: {error}"))?;
        if status != 200 {
            return Err(format!("{path}: status {status}"));
        }
    }
    Ok(())
}

/// A profile, and the load that it has seen.
struct Profiled {
    profile: canny_profile::model::Profile,
    requests: f64,
    /// Seconds of processor time.
    cpu: f64,
}

fn profile_under_load(
    plan: &Plan,
    page: &str,
    path: &str,
    place: &Path,
) -> Result<Profiled, String> {
    let mut server = servers::start_alone(Command::new(&plan.canny), PATIENCE)?;
    let load = Load {
        requests: plan.connections,
        closes: false,
    };
    load.ask(&server, Transport::Clear, path, 2)?;
    let file = place.join(format!("{page}.profile"));
    let mut profiler = attach(plan, &server, &file)?;
    let sample = load.ask(&server, Transport::Clear, path, plan.seconds)?;
    profiler.end()?;
    server.end_in_order();
    let bytes = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let profile = canny_profile::file::read(&bytes);
    let profile = profile.map_err(|error| format!("{}: {error}", file.display()))?;
    if sample.failed > 0.0 || sample.requests < 1.0 {
        return Err(format!(
            "{path}: {} of {} requests failed",
            sample.failed, sample.requests
        ));
    }
    Ok(Profiled {
        profile,
        requests: sample.requests,
        cpu: sample.cpu,
    })
}

/// A process that takes a profile of another one; it ends when it is dropped.
struct Profiler(Child);

/// Begins a profile of a server; returns when it has begun.
fn attach(plan: &Plan, server: &Server, file: &Path) -> Result<Profiler, String> {
    let child = Command::new(&plan.canny)
        .args(["profile", "--native", "--interval", "1000"])
        .arg("--allocation-interval")
        .arg(plan.allocation_interval.to_string())
        .arg("--attach")
        .arg(server.child.id().to_string())
        .arg("--seconds")
        .arg(PROFILE_SECONDS_MAX.to_string())
        .arg("-o")
        .arg(file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("canny profile: {error}"))?;
    let mut profiler = Profiler(child);
    let begun = Instant::now();
    while !file.metadata().is_ok_and(|data| data.len() > 0) {
        if let Ok(Some(status)) = profiler.0.try_wait() {
            return Err(format!("canny profile: {status}"));
        }
        if begun.elapsed() > PATIENCE {
            return Err("canny profile: no profile has begun".to_owned());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(profiler)
}

impl Profiler {
    /// Ends the profile as Ctrl-C does, and waits until it is written.
    fn end(&mut self) -> Result<(), String> {
        if let Some(process) = Pid::from_raw(self.0.id().cast_signed()) {
            let _ = kill_process(process, Signal::INT);
        }
        let begun = Instant::now();
        loop {
            match self.0.try_wait() {
                Ok(Some(_)) => return Ok(()),
                Ok(None) if begun.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                _ => return Err("canny profile does not end".to_owned()),
            }
        }
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
