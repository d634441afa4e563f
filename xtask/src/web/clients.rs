//! The load generators, `wrk` and `h2load`: starts them and parses their reports.
//!
//! A sample has the same fields for both; a figure that a tool does not report is NaN. A report
//! that cannot be parsed is an error, never a zero.

use std::process::Command;

use super::servers::{Server, processor_time};

/// How a page is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Clear,
    Tls,
    /// HTTP/2 inside of TLS, with so many requests at once on each connection.
    Http2 {
        streams: u64,
    },
}

/// The result of a round.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    pub requests: f64,
    pub per_second: f64,
    pub cpu: f64,
    pub half_ms: f64,
    pub most_ms: f64,
    pub longest_ms: f64,
    pub failed: f64,
}

/// The requests of a round: how many at once, and how.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Requests at once.
    pub requests: u64,
    /// Without keep-alive.
    pub closes: bool,
}

impl Load {
    /// Asks for a page for so long.
    pub fn ask(
        &self,
        server: &Server,
        transport: Transport,
        path: &str,
        seconds: u64,
    ) -> Result<Sample, String> {
        let port = match transport {
            Transport::Clear => Some(server.port),
            _ => server.secure_port,
        };
        let port = port.ok_or_else(|| format!("{} does not speak TLS", server.name))?;
        let mut command = match transport {
            Transport::Http2 { streams } => {
                let mut command = Command::new("h2load");
                command
                    .arg(format!("-c{}", (self.requests / streams).max(1)))
                    .arg(format!("-m{streams}"))
                    .arg(format!("-D{seconds}"))
                    .arg(format!("https://127.0.0.1:{port}{path}"));
                command
            }
            _ => {
                let scheme = match transport {
                    Transport::Clear => "http",
                    _ => "https",
                };
                let mut command = Command::new("wrk");
                command
                    .args(["-t1", "--latency"])
                    .arg(format!("-c{}", self.requests))
                    .arg(format!("-d{seconds}"));
                if self.closes {
                    command.args(["-H", "Connection: close"]);
                }
                command.arg(format!("{scheme}://127.0.0.1:{port}{path}"));
                command
            }
        };
        let before = processor_time(server);
        let outcome = command
            .output()
            .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
        let cpu = processor_time(server) - before;
        let text = String::from_utf8_lossy(&outcome.stdout);
        let sample = match transport {
            Transport::Http2 { .. } => read_report_of_h2load(&text),
            _ => read_report_of_wrk(&text),
        };
        let mut sample = sample.ok_or_else(|| {
            let program = command.get_program().display();
            format!("{}: {program} said {text}", server.name)
        })?;
        sample.cpu = cpu;
        Ok(sample)
    }
}

/// Reads the report of `wrk`.
fn read_report_of_wrk(text: &str) -> Option<Sample> {
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

/// Reads the report of `h2load`, which has no quantiles.
fn read_report_of_h2load(text: &str) -> Option<Sample> {
    let mut sample = Sample {
        half_ms: f64::NAN,
        most_ms: f64::NAN,
        ..Sample::default()
    };
    let mut is_whole = false;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["finished", "in", _, rate, ..] => sample.per_second = rate.parse().ok()?,
            ["requests:", ..] => {
                let count = |name: &str| {
                    let at = words
                        .iter()
                        .position(|word| word.trim_end_matches(',') == name)?;
                    words[at - 1].parse::<f64>().ok()
                };
                sample.requests = count("succeeded")?;
                sample.failed = count("failed")?;
                is_whole = true;
            }
            ["time", "for", "request:", _, longest, ..] => {
                sample.longest_ms = milliseconds(longest)?
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_wrk_are_read() {
        let text = "Running 5s test @ http://127.0.0.1:1/\n  1 threads and 100 connections\n  \
            Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   691.13us  610.80us  14.69ms   \
            95.00%\n  \
            Latency Distribution\n     50%  593.00us\n     75%  723.00us\n     90%    0.91ms\n     99%    \
            2.83ms\n  \
            752431 requests in 5.01s, 93.28MB read\n  Socket errors: connect 0, read 2, write 0, timeout 1\n\
            Requests/sec: 150186.91\nTransfer/sec:     18.62MB\n";
        let sample = read_report_of_wrk(text).expect("a report");
        assert_eq!(sample.requests, 752_431.0);
        assert_eq!(sample.half_ms, 0.593);
        assert_eq!(sample.most_ms, 2.83);
        assert_eq!(sample.longest_ms, 14.69);
        assert_eq!(sample.failed, 3.0);
        assert!(read_report_of_wrk("unable to connect").is_none());
    }

    #[test]
    fn reports_of_h2load_are_read() {
        let text = "finished in 2.01s, 52341.50 req/s, 2.10MB/s\n\
            requests: 104683 total, 104783 started, 104683 done, 104600 succeeded, 83 failed, 83 errored, 0 \
            timeout\n\
            status codes: 104683 2xx, 0 3xx, 0 4xx, 0 5xx\n\
            time for request:       87us     12.30ms      1.85ms       421us    81.20%\n";
        let sample = read_report_of_h2load(text).expect("a report");
        assert_eq!(sample.requests, 104_600.0);
        assert_eq!(sample.per_second, 52_341.5);
        assert_eq!(sample.longest_ms, 12.3);
        assert_eq!(sample.failed, 83.0);
        assert!(read_report_of_h2load("could not connect").is_none());
    }
}
