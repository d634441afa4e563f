//! `cargo xtask web`: the web server beside others, under the load of `wrk`, interleaved.
//!
//! All servers run at once and are idle but for the one that is asked. The figure is requests per second of the server's
//! processor time, which all processes of a server have used according to `/proc`; it depends less on what else the machine
//! does than requests per second.

mod load;
mod processors;
mod soak;

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::arguments::Arguments;
use crate::workspace::{self, Profile};

const HELP: &str = "\
usage: cargo xtask web [OPTION…]

Serves the pages of benches/web by canny, Node, Guile, Racket and nginx (those that are installed), and asks for them with wrk.

  --rounds N       rounds to take the median of (3)
  --seconds N      seconds for each server and page in a round (5)
  --connections N  connections at once (100)
  --close          without keep-alive
  --only A,B       only these servers; ratios are to the first one
  --modules PATH   where Node finds better-sqlite3, for the page of rows
  --server-cores N the servers have these processors for themselves, and the load has the others
  --soak SECONDS   one after the other (canny without --only), under a steady load, with the quantiles of the times
  --load N         hundredths of what goes through at most, for --soak (80)
  --misbehaving N  clients that do what they should not, for --soak (8)
  --canny PATH     the binary to measure; without it, cargo builds a release binary
";

/// Pages, and who has them.
const PAGES: [(&str, &str); 4] = [
    ("hello", "/"),
    ("page", "/page"),
    ("headers", "/headers"),
    ("rows", "/rows?from=500"),
];

struct Server {
    name: &'static str,
    port: u16,
    child: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        // A master that is killed leaves its workers behind.
        for process in family(self.child.id()).into_iter().skip(1) {
            if let Some(process) = Pid::from_raw(process.cast_signed()) {
                let _ = kill_process(process, Signal::KILL);
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a round gave.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    requests: f64,
    per_second: f64,
    cpu: f64,
    half_ms: f64,
    most_ms: f64,
    longest_ms: f64,
    failed: f64,
}

pub fn run(arguments: &mut Arguments) -> Result<(), String> {
    if arguments.flag("--help") {
        print!("{HELP}");
        return Ok(());
    }
    let rounds = arguments.number("--rounds", 3)?.max(1) as usize;
    let seconds = arguments.number("--seconds", 5)?.max(1);
    let connections = arguments.number("--connections", 100)?.max(1);
    let closes = arguments.flag("--close");
    let only = arguments.option("--only")?;
    let modules = arguments.path("--modules")?;
    let soak = arguments.number("--soak", 0)?;
    let load = arguments.number("--load", 80)?.clamp(1, 200);
    let misbehaving = arguments.number("--misbehaving", 8)? as usize;
    let canny = workspace::canny(arguments, Profile::Release)?;
    let own = arguments.number("--server-cores", 0)? as usize;
    arguments.finish()?;
    let processors = processors::Processors::split(own)?;
    let servers = Choice {
        canny,
        modules,
        only: match (only, soak) {
            // One server after the other is asked, not all in turns.
            (None, 1..) => Some("canny".to_owned()),
            (only, _) => only,
        },
    };
    processors.take_servers()?;
    let place = workspace::scratch_directory("web")?;
    let servers = servers.start(&place)?;
    processors.take_load()?;
    for server in &servers {
        wait_for(server)?;
    }
    if soak > 0 {
        for server in &servers {
            println!("{}", server.name);
            soak::run(
                soak::Plan {
                    port: server.port,
                    seconds: soak,
                    load,
                    connections: connections.min(1000) as usize,
                    misbehaving,
                },
                server.child.id(),
            )?;
        }
        return Ok(());
    }
    if !workspace::installed("wrk") {
        return Err("wrk is not installed".to_owned());
    }
    let load = Load {
        connections,
        closes,
    };
    let mut report = String::new();
    for (page, path) in PAGES {
        let asked: Vec<&Server> = servers
            .iter()
            .filter(|server| has_page(server, path))
            .collect();
        let mut samples = vec![Vec::new(); asked.len()];
        for server in &asked {
            // Code is compiled before anything is counted.
            load.ask(server, path, 2)?;
        }
        for _ in 0..rounds {
            for (server, samples) in asked.iter().zip(&mut samples) {
                samples.push(load.ask(server, path, seconds)?);
            }
        }
        tell(&mut report, page, &asked, &samples);
    }
    print!("{report}");
    Ok(())
}

/// Which servers are asked, and what they are started with.
struct Choice {
    canny: PathBuf,
    /// Where Node finds its packages.
    modules: Option<PathBuf>,
    /// Their names with commas between; without it all that are installed.
    only: Option<String>,
}

impl Choice {
    fn wanted(&self, name: &str) -> bool {
        let only = self.only.as_deref();
        only.is_none_or(|only| only.split(',').any(|one| one == name))
    }

    /// Starts them; canny, if it is among them, is the first one.
    fn start(&self, place: &Path) -> Result<Vec<Server>, String> {
        let modules = self.modules.as_deref();
        let mut servers = Vec::new();
        if self.wanted("canny") {
            let canny = self.canny.as_os_str().into();
            servers.push(start("canny", canny, &["canny.scm"], modules)?);
        }
        for (name, program, words) in [
            ("node", "node", &["node.js"][..]),
            ("guile", "guile", &["--no-auto-compile", "guile.scm"][..]),
            ("racket", "racket", &["racket.rkt"][..]),
        ] {
            if self.wanted(name) && workspace::installed(program) {
                servers.push(start(name, program.into(), words, modules)?);
            }
        }
        if self.wanted("nginx") && Path::new("/usr/sbin/nginx").exists() {
            servers.push(start_nginx(place)?);
        }
        match servers.is_empty() {
            true => Err("none of these servers is installed".to_owned()),
            false => Ok(servers),
        }
    }
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    Ok(address.port())
}

fn start(
    name: &'static str,
    program: PathBuf,
    words: &[&str],
    modules: Option<&Path>,
) -> Result<Server, String> {
    let port = free_port()?;
    let mut command = Command::new(&program);
    if let Some(modules) = modules {
        command.env("NODE_PATH", modules);
    }
    let child = command
        .args(words)
        .arg(port.to_string())
        .current_dir(workspace::root().join("benches/web"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    Ok(Server { name, port, child })
}

fn start_nginx(place: &Path) -> Result<Server, String> {
    let port = free_port()?;
    let text = workspace::read(&workspace::root().join("benches/web/nginx.conf"))?;
    let text = text
        .replace("PORT", &port.to_string())
        .replace("DIRECTORY", &place.to_string_lossy());
    let file = place.join("nginx.conf");
    workspace::write(&file, text)?;
    let child = Command::new("/usr/sbin/nginx")
        .arg("-c")
        .arg(&file)
        .arg("-p")
        .arg(place)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("nginx: {error}"))?;
    Ok(Server {
        name: "nginx",
        port,
        child,
    })
}

fn wait_for(server: &Server) -> Result<(), String> {
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", server.port)).is_err() {
        if begun.elapsed() > Duration::from_secs(30) {
            return Err(format!("{} does not listen", server.name));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Whether a server answers such a request with what was asked for: some answer anything with 200.
fn has_page(server: &Server, path: &str) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let text = String::from_utf8_lossy(&answer);
        let is_right = match path.starts_with("/rows") {
            true => text.contains(r#""id":509"#),
            false => true,
        };
        Ok(is_right
            && text
                .lines()
                .next()
                .is_some_and(|line| line.contains(" 200")))
    };
    ask().unwrap_or(false)
}

/// The process and those that it has started.
fn family(root: u32) -> Vec<u32> {
    let mut family = vec![root];
    let mut at = 0;
    while at < family.len() {
        let children = format!("/proc/{0}/task/{0}/children", family[at]);
        let children = std::fs::read_to_string(children).unwrap_or_default();
        family.extend(
            children
                .split_whitespace()
                .filter_map(|id| id.parse::<u32>().ok()),
        );
        at += 1;
    }
    family
}

/// Processor time that a server has used, in seconds.
fn processor_time(server: &Server) -> f64 {
    const TICKS: f64 = 100.0;
    let ticks = |id: u32| {
        let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name, in parens, may have blanks.
        let rest = text.rsplit_once(')')?.1;
        let mut fields = rest.split_whitespace().skip(11);
        let user: f64 = fields.next()?.parse().ok()?;
        let system: f64 = fields.next()?.parse().ok()?;
        Some(user + system)
    };
    let sum: f64 = family(server.child.id())
        .into_iter()
        .filter_map(ticks)
        .sum();
    sum / TICKS
}

/// The most memory that a server had at once, in megabytes.
fn peak_megabytes(server: &Server) -> f64 {
    let kilobytes = |id: u32| {
        let text = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
        line.split_whitespace().nth(1)?.parse::<f64>().ok()
    };
    let sum: f64 = family(server.child.id())
        .into_iter()
        .filter_map(kilobytes)
        .sum();
    sum / 1024.0
}

struct Load {
    connections: u64,
    closes: bool,
}

impl Load {
    fn ask(&self, server: &Server, path: &str, seconds: u64) -> Result<Sample, String> {
        let before = processor_time(server);
        let mut command = Command::new("wrk");
        command
            .args(["-t1", "--latency"])
            .arg(format!("-c{}", self.connections))
            .arg(format!("-d{seconds}"));
        if self.closes {
            command.args(["-H", "Connection: close"]);
        }
        let outcome = command
            .arg(format!("http://127.0.0.1:{}{path}", server.port))
            .output()
            .map_err(|error| format!("wrk: {error}"))?;
        let cpu = processor_time(server) - before;
        let text = String::from_utf8_lossy(&outcome.stdout);
        let mut sample =
            read_report(&text).ok_or_else(|| format!("{}: wrk said {text}", server.name))?;
        sample.cpu = cpu;
        Ok(sample)
    }
}

/// What `wrk` tells.
fn read_report(text: &str) -> Option<Sample> {
    let mut sample = Sample::default();
    let mut is_whole = false;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["Latency", _, _, longest, ..] => sample.longest_ms = milliseconds(longest)?,
            ["50%", time] => sample.half_ms = milliseconds(time)?,
            ["99%", time] => sample.most_ms = milliseconds(time)?,
            [count, "requests", "in", ..] => {
                sample.requests = count.parse().ok()?;
                is_whole = true;
            }
            ["Requests/sec:", rate] => sample.per_second = rate.parse().ok()?,
            ["Non-2xx", ..] => sample.failed += words.last()?.parse::<f64>().ok()?,
            ["Socket", "errors:", ..] => {
                let numbers = words
                    .iter()
                    .filter_map(|word| word.trim_end_matches(',').parse::<f64>().ok());
                sample.failed += numbers.sum::<f64>();
            }
            _ => {}
        }
    }
    is_whole.then_some(sample)
}

fn milliseconds(text: &str) -> Option<f64> {
    for (unit, factor) in [("us", 0.001), ("ms", 1.0), ("s", 1000.0), ("m", 60_000.0)] {
        if let Some(number) = text.strip_suffix(unit) {
            return Some(number.parse::<f64>().ok()? * factor);
        }
    }
    None
}

fn median(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> f64 {
    let mut values: Vec<f64> = samples.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn tell(report: &mut String, page: &str, servers: &[&Server], samples: &[Vec<Sample>]) {
    let _ = writeln!(
        report,
        "{page:8} {:>14} {:>7} {:>11} {:>8} {:>8} {:>8} {:>6} {:>7}",
        "per CPU second", "ratio", "per second", "50% ms", "99% ms", "max ms", "MB", "failed"
    );
    let rate = |sample: &Sample| sample.requests / sample.cpu.max(0.01);
    let own = median(&samples[0], rate);
    for (server, samples) in servers.iter().zip(samples) {
        let cpu = median(samples, rate);
        let _ = writeln!(
            report,
            "{:8} {cpu:14.0} {:7.2} {:11.0} {:8.2} {:8.2} {:8.1} {:6.1} {:7.0}",
            server.name,
            own / cpu,
            median(samples, |sample| sample.per_second),
            median(samples, |sample| sample.half_ms),
            median(samples, |sample| sample.most_ms),
            median(samples, |sample| sample.longest_ms),
            peak_megabytes(server),
            samples.iter().map(|sample| sample.failed).sum::<f64>(),
        );
    }
    report.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_wrk_are_read() {
        let text = "Running 5s test @ http://127.0.0.1:1/\n  1 threads and 100 connections\n  \
            Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   691.13us  610.80us  14.69ms   95.00%\n  \
            Latency Distribution\n     50%  593.00us\n     75%  723.00us\n     90%    0.91ms\n     99%    2.83ms\n  \
            752431 requests in 5.01s, 93.28MB read\n  Socket errors: connect 0, read 2, write 0, timeout 1\n\
            Requests/sec: 150186.91\nTransfer/sec:     18.62MB\n";
        let sample = read_report(text).expect("a report");
        assert_eq!(sample.requests, 752_431.0);
        assert_eq!(sample.half_ms, 0.593);
        assert_eq!(sample.most_ms, 2.83);
        assert_eq!(sample.longest_ms, 14.69);
        assert_eq!(sample.failed, 3.0);
        assert!(read_report("unable to connect").is_none());
    }
}
