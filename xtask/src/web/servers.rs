//! The web servers that are measured: starts, checks and ends them, and reads what they used.
//!
//! Each listens on a free port of loopback and serves the same pages. A server belongs to its
//! [`Server`] value: dropping it ends the process and its children. Usage counts all processes of a
//! server.

use std::io::{Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::workspace;

#[derive(Debug)]
pub struct Server {
    pub name: &'static str,
    pub port: u16,
    /// The port at which it speaks TLS, with HTTP/2 for clients that ask for it, if it does.
    pub secure_port: Option<u16>,
    pub child: Child,
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

impl Server {
    /// Asks it to end, and waits until it has; no longer than a while.
    pub fn end_in_order(&mut self) {
        if let Some(process) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = kill_process(process, Signal::TERM);
        }
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(30) && matches!(self.child.try_wait(), Ok(None))
        {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The servers to be measured, and the settings of their start.
#[derive(Debug)]
pub struct Choice {
    pub canny: PathBuf,
    /// Where Node finds its packages.
    pub modules: Option<PathBuf>,
    /// Their names with commas between; without it all that are installed.
    pub only: Option<String>,
    /// Where canny writes what its collections took, when it ends in order.
    pub statistics: Option<PathBuf>,
}

impl Choice {
    fn wanted(&self, name: &str) -> bool {
        let only = self.only.as_deref();
        only.is_none_or(|only| only.split(',').any(|one| one == name))
    }

    /// Starts them, with files of theirs in a directory; canny, if it is among them, is the first one.
    pub fn start(&self, place: &Path) -> Result<Vec<Server>, String> {
        let identity = Identity::make(place)?;
        let mut servers = Vec::new();
        let programs: [(&'static str, PathBuf, &[&str], bool); 4] = [
            ("canny", self.canny.clone(), &["canny.scm"], true),
            ("node", "node".into(), &["node.js"], true),
            (
                "guile",
                "guile".into(),
                &["--no-auto-compile", "guile.scm"],
                false,
            ),
            ("racket", "racket".into(), &["racket.rkt"], false),
        ];
        for (name, program, words, speaks_tls) in programs {
            if !self.wanted(name) || (name != "canny" && !workspace::installed(name)) {
                continue;
            }
            let mut command = Command::new(&program);
            if let Some(modules) = &self.modules {
                command.env("NODE_PATH", modules);
            }
            if let Some(statistics) = &self.statistics {
                command.env("CANNY_STATISTICS", statistics);
            }
            let port = free_port()?;
            command.args(words).arg(port.to_string());
            let identity = identity.as_ref().filter(|_| speaks_tls);
            let secure_port = match identity {
                None => None,
                Some(identity) => {
                    let port = free_port()?;
                    command.arg(port.to_string());
                    command.args([&identity.certificate, &identity.key]);
                    Some(port)
                }
            };
            servers.push(spawn(name, command, port, secure_port)?);
        }
        if self.wanted("nginx") && Path::new("/usr/sbin/nginx").exists() {
            servers.push(start_nginx(place, identity.as_ref())?);
        }
        for server in &servers {
            wait_for(server)?;
        }
        if servers.is_empty() {
            Err("none of these servers is installed".to_owned())
        } else {
            Ok(servers)
        }
    }
}

/// A certificate that vouches for itself, and its key.
#[derive(Debug)]
struct Identity {
    certificate: PathBuf,
    key: PathBuf,
}

impl Identity {
    /// None if `openssl` is not installed.
    fn make(place: &Path) -> Result<Option<Identity>, String> {
        if !workspace::installed("openssl") {
            return Ok(None);
        }
        let identity = Identity {
            certificate: place.join("certificate.pem"),
            key: place.join("key.pem"),
        };
        let outcome = Command::new("openssl")
            .args(["req", "-x509", "-nodes", "-days", "30"])
            .args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
            .args(["-subj", "/CN=localhost"])
            .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
            .arg("-out")
            .arg(&identity.certificate)
            .arg("-keyout")
            .arg(&identity.key)
            .output()
            .map_err(|error| format!("openssl: {error}"))?;
        if outcome.status.success() {
            Ok(Some(identity))
        } else {
            Err(format!(
                "openssl: {}",
                String::from_utf8_lossy(&outcome.stderr)
            ))
        }
    }
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    Ok(address.port())
}

fn spawn(
    name: &'static str,
    mut command: Command,
    port: u16,
    secure_port: Option<u16>,
) -> Result<Server, String> {
    let child = command
        .current_dir(workspace::root().join("benches/web"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{name}: {error}"))?;
    Ok(Server {
        name,
        port,
        secure_port,
        child,
    })
}

/// Starts the server of the trials, with little memory.
pub fn start_trials(canny: &Path, statistics: &Path) -> Result<Server, String> {
    let port = free_port()?;
    let mut command = Command::new(canny);
    command
        .env("CANNY_STATISTICS", statistics)
        .args(["--heap-limit", "64M", "trials.scm"])
        .arg(port.to_string());
    let server = spawn("canny", command, port, None)?;
    wait_for(&server)?;
    Ok(server)
}

/// Starts the server of the pages by a command that ends with the binary, and waits so long at most.
pub fn start_alone(mut command: Command, patience: Duration) -> Result<Server, String> {
    let port = free_port()?;
    command.arg("canny.scm").arg(port.to_string());
    let server = spawn("canny", command, port, None)?;
    wait_at_most(&server, patience)?;
    Ok(server)
}

fn start_nginx(place: &Path, identity: Option<&Identity>) -> Result<Server, String> {
    let port = free_port()?;
    let mut text = workspace::read(&workspace::root().join("benches/web/nginx.conf"))?
        .replace("PORT", &port.to_string())
        .replace("DIRECTORY", &place.to_string_lossy());
    let mut secure_port = None;
    if let Some(identity) = identity {
        let port = free_port()?;
        let listen = format!(
            "listen 127.0.0.1:{port} ssl http2 backlog=4096;\n        ssl_certificate {};\n        \
             ssl_certificate_key {};",
            identity.certificate.display(),
            identity.key.display()
        );
        text = text.replace("# TLS", &listen);
        secure_port = Some(port);
    }
    let file = place.join("nginx.conf");
    workspace::write(&file, text)?;
    let mut command = Command::new("/usr/sbin/nginx");
    command.arg("-c").arg(&file).arg("-p").arg(place);
    spawn("nginx", command, port, secure_port)
}

fn wait_for(server: &Server) -> Result<(), String> {
    wait_at_most(server, Duration::from_secs(30))
}

fn wait_at_most(server: &Server, patience: Duration) -> Result<(), String> {
    let begun = Instant::now();
    for port in [Some(server.port), server.secure_port]
        .into_iter()
        .flatten()
    {
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if begun.elapsed() > patience {
                return Err(format!("{} does not listen", server.name));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    Ok(())
}

/// Whether a server answers such a request with what was asked for: some answer anything with 200.
pub fn has_page(server: &Server, path: &str) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = Vec::new();
        // Guile does not always close, so the answer is all bytes until no more come.
        let _ = stream.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer);
        let is_right = if path.starts_with("/rows") {
            text.contains(r#""id":509"#)
        } else {
            true
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
pub fn processor_time(server: &Server) -> f64 {
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
pub fn peak_megabytes(server: &Server) -> f64 {
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
