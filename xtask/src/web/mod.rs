//! `cargo xtask web`: the web server beside others, under the load of `wrk`, interleaved.
//!
//! All servers run at once and are idle but for the one that is asked. The figure is requests per
//! second of the server's processor time, which all processes of a server have used according to
//! `/proc`; it depends less on what else the machine does than requests per second.

mod clients;
mod cost;
mod load;
mod processors;
mod servers;
mod soak;
mod trials;

use clients::{Load, Sample, Transport};
use servers::{Choice, Server, has_page, peak_megabytes};

use crate::arguments::Arguments;
use crate::workspace::{self, Profile};

const HELP: &str = "\
usage: cargo xtask web [OPTION…]

Serves the pages of benches/web by canny, Node, Guile, Racket and nginx (those that are installed), and asks \
for them with wrk.

  --rounds N       rounds to take the median of (3)
  --seconds N      seconds for each server and page in a round (5)
  --connections N  connections at once (100)
  --close          without keep-alive
  --pages A,B      only these: hello, page, headers, rows; hello over TLS, HTTP/2 (ten requests at once on a \
  connection), single (one)
  --only A,B       only these servers; ratios are to the first one
  --modules PATH   where Node finds better-sqlite3, for the page of rows
  --server-cores N the servers have these processors for themselves, and the load has the others
  --soak SECONDS   one after the other (canny without --only), under a steady load, with the quantiles of \
  the times
  --load N         hundredths of what goes through at most, for --soak (80)
  --misbehaving N  clients that do what they should not, for --soak (8)
  --trial NAME     canny alone, under --heap-limit 64M: memory (each tenth request uses up the heap), \
  fairness (handlers that compute), streams (events that are read slowly)
  --cost           canny alone: instructions, processor time by stage and allocated bytes of a request, as \
  tables, for the pages of --pages (hello); needs valgrind
  --functions N    for --cost, list so many functions by their instructions, too (0)
  --sampled BYTES  allocated bytes between two sampled objects, for --cost (16384)
  --requests N     requests for --trial memory (20000), and for callgrind with --cost (20000)
  --clients N      clients at once for --trial memory (16)
  --canny PATH     the binary to measure; without it, cargo builds a release binary
";

/// Pages, and how they are asked for.
const PAGES: [(&str, &str, Transport); 7] = [
    ("hello", "/", Transport::Clear),
    ("page", "/page", Transport::Clear),
    ("headers", "/headers", Transport::Clear),
    ("rows", "/rows?from=500", Transport::Clear),
    ("TLS", "/", Transport::Tls),
    ("HTTP/2", "/", Transport::Http2 { streams: 10 }),
    ("single", "/", Transport::Http2 { streams: 1 }),
];

pub fn run(arguments: &mut Arguments) -> Result<(), String> {
    if arguments.flag("--help") {
        print!("{HELP}");
        return Ok(());
    }
    if let Some(trial) = arguments.option("--trial")? {
        return run_trial(&trial, arguments);
    }
    if arguments.flag("--cost") {
        return run_cost(arguments);
    }
    let rounds = arguments.number("--rounds", 3)?.max(1) as usize;
    let seconds = arguments.number("--seconds", 5)?.max(1);
    let connections = arguments.number("--connections", 100)?.max(1);
    let closes = arguments.flag("--close");
    let pages = arguments.option("--pages")?;
    let only = arguments.option("--only")?;
    let modules = arguments.path("--modules")?;
    let soak = arguments.number("--soak", 0)?;
    let load = arguments.number("--load", 80)?.clamp(1, 200);
    let misbehaving = arguments.number("--misbehaving", 8)? as usize;
    let canny = workspace::canny(arguments, Profile::Release)?;
    let own = arguments.number("--server-cores", 0)? as usize;
    arguments.finish()?;
    let processors = processors::Processors::split(own)?;
    let place = workspace::scratch_directory("web")?;
    let statistics = place.join("statistics");
    let servers = Choice {
        canny,
        statistics: (soak > 0).then(|| statistics.clone()),
        modules,
        only: match (only, soak) {
            // One server after the other is asked, not all in turns.
            (None, 1..) => Some("canny".to_owned()),
            (only, _) => only,
        },
    };
    check_pages(pages.as_deref())?;
    processors.take_servers()?;
    let mut servers = servers.start(&place)?;
    processors.take_load()?;
    if soak > 0 {
        for server in &mut servers {
            println!("{}", server.name);
            let outcome = soak::run(
                soak::Plan {
                    port: server.port,
                    seconds: soak,
                    load,
                    connections: connections.min(1000) as usize,
                    misbehaving,
                },
                server.child.id(),
            );
            server.end_in_order();
            if let Ok(text) = std::fs::read_to_string(&statistics) {
                print!("{text}");
                let _ = std::fs::remove_file(&statistics);
            }
            outcome?;
        }
        return Ok(());
    }
    if !workspace::installed("wrk") {
        return Err("wrk is not installed".to_owned());
    }
    let load = Load {
        requests: connections,
        closes,
    };
    for (page, path, transport) in PAGES {
        let is_wanted = |pages: &String| pages.split(',').any(|one| one == page);
        let is_http2 = matches!(transport, Transport::Http2 { .. });
        if !pages.as_ref().is_none_or(is_wanted)
            || is_http2 && (closes || !workspace::installed("h2load"))
        {
            continue;
        }
        let asked: Vec<&Server> = servers
            .iter()
            .filter(|server| transport == Transport::Clear || server.secure_port.is_some())
            .filter(|server| has_page(server, path))
            .collect();
        if asked.is_empty() {
            continue;
        }
        let mut samples = vec![Vec::new(); asked.len()];
        for server in &asked {
            // Code is compiled before anything is counted.
            load.ask(server, transport, path, 2)?;
        }
        for _ in 0..rounds {
            for (server, samples) in asked.iter().zip(&mut samples) {
                samples.push(load.ask(server, transport, path, seconds)?);
            }
        }
        tell(page, &asked, &samples);
    }
    Ok(())
}

/// Takes a request apart.
fn run_cost(arguments: &mut Arguments) -> Result<(), String> {
    let pages = arguments.option("--pages")?;
    let pages = pages.unwrap_or_else(|| "hello".to_owned());
    check_pages(Some(&pages))?;
    let is_wanted = |name: &str| pages.split(',').any(|one| one == name);
    let wanted = PAGES.iter().filter(|(page, ..)| is_wanted(page));
    let clear = wanted.filter(|(.., transport)| *transport == Transport::Clear);
    let plan = cost::Plan {
        pages: clear.map(|(page, path, _)| (*page, *path)).collect(),
        requests: arguments.number("--requests", 20_000)?.max(10),
        seconds: arguments.number("--seconds", 5)?.max(1),
        connections: arguments.number("--connections", 100)?.max(1),
        allocation_interval: arguments.number("--sampled", 16384)?.max(1),
        functions: arguments.number("--functions", 0)? as usize,
        canny: workspace::canny(arguments, Profile::Release)?,
    };
    arguments.finish()?;
    if plan.pages.is_empty() {
        return Err("--cost: pages over HTTP/1.1 in the clear only".to_owned());
    }
    cost::run(&plan, &workspace::scratch_directory("web")?)
}

/// Refuses names of pages that there are not.
fn check_pages(pages: Option<&str>) -> Result<(), String> {
    let is_unknown = |name: &&str| PAGES.iter().all(|(page, ..)| page != name);
    match pages.and_then(|pages| pages.split(',').find(is_unknown)) {
        Some(name) => Err(format!("--pages: there is no page {name}")),
        None => Ok(()),
    }
}

/// Runs a trial against a server of its own.
fn run_trial(trial: &str, arguments: &mut Arguments) -> Result<(), String> {
    let plan = trials::Plan {
        requests: arguments.number("--requests", 20_000)?,
        clients: arguments.number("--clients", 16)?.max(1),
    };
    let own = arguments.number("--server-cores", 0)? as usize;
    let canny = workspace::canny(arguments, Profile::Release)?;
    arguments.finish()?;
    let processors = processors::Processors::split(own)?;
    let statistics = workspace::scratch_directory("web")?.join("statistics");
    if !trials::TRIALS.contains(&trial) {
        return Err(format!("--trial: one of {}", trials::TRIALS.join(", ")));
    }
    processors.take_servers()?;
    let mut server = servers::start_trials(&canny, &statistics)?;
    processors.take_load()?;
    let outcome = trials::run(trial, plan, &server);
    server.end_in_order();
    if let Ok(text) = std::fs::read_to_string(&statistics) {
        print!("{text}");
    }
    outcome
}

fn median(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> f64 {
    let mut values: Vec<f64> = samples.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The median of a quantile in milliseconds; a dash where there is none.
fn quantile(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> String {
    match median(samples, of) {
        milliseconds if milliseconds.is_nan() => "-".to_owned(),
        milliseconds => format!("{milliseconds:.2}"),
    }
}

fn tell(page: &str, servers: &[&Server], samples: &[Vec<Sample>]) {
    println!(
        "{page:8} {:>14} {:>7} {:>11} {:>8} {:>8} {:>8} {:>6} {:>7}",
        "per CPU second", "ratio", "per second", "50% ms", "99% ms", "max ms", "MB", "failed"
    );
    let rate = |sample: &Sample| sample.requests / sample.cpu.max(0.01);
    let own = median(&samples[0], rate);
    for (server, samples) in servers.iter().zip(samples) {
        let cpu = median(samples, rate);
        println!(
            "{:8} {cpu:14.0} {:7.2} {:11.0} {:>8} {:>8} {:8.1} {:6.1} {:7.0}",
            server.name,
            own / cpu,
            median(samples, |sample| sample.per_second),
            quantile(samples, |sample| sample.half_ms),
            quantile(samples, |sample| sample.most_ms),
            median(samples, |sample| sample.longest_ms),
            peak_megabytes(server),
            samples.iter().map(|sample| sample.failed).sum::<f64>(),
        );
    }
    println!();
}
