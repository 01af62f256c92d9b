//! The subcommand `record-tcp`.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::path::PathBuf;

use clap::Args;
use longlook_support::clock::Anchor;
use longlook_support::failure::{Failure, print_line};
use nix::sched::{CloneFlags, setns};
use nix::sys::utsname::uname;
use serde_json::json;

use crate::diag::{SocketDiag, Wanted};
use crate::file::{Header, Unavailable};
use crate::output::Output;
use crate::recorder::{Recorder, Side};
use crate::tracefs::Instance;

const SHORTEST_MS: u64 = 1;

/// Its options.
#[derive(Args)]
pub struct Options {
    /// The server's port; connections with it are recorded
    #[arg(long)]
    port: u16,
    /// Record the server's sockets to this file
    #[arg(long, value_name = "FILE", required_unless_present = "client")]
    server: Option<PathBuf>,
    /// Record the clients' sockets to this file
    #[arg(long, value_name = "FILE")]
    client: Option<PathBuf>,
    /// Inherited descriptor of the server's network namespace; without it: this one
    #[arg(long, value_name = "N")]
    server_namespace_fd: Option<RawFd>,
    /// Inherited descriptor of the clients' network namespace; without it: this one
    #[arg(long, value_name = "N")]
    client_namespace_fd: Option<RawFd>,
    /// Milliseconds between two samples of a socket
    #[arg(long, value_name = "MS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(SHORTEST_MS..=10_000))]
    period_ms: u64,
    /// Record no tracepoints: only what anyone may see of their own sockets
    #[arg(long)]
    no_tracepoints: bool,
}

/// Records until SIGTERM; prints `ready` with the sources that it cannot record, and a `summary` at the end.
pub fn run(options: &Options) -> Result<(), Failure> {
    let mut unavailable = Vec::new();
    let instance = open_instance(options, &mut unavailable);
    let anchor = Anchor::read();
    let mut sides = Vec::new();
    for (at_server, path, namespace) in
        [(false, &options.client, options.client_namespace_fd), (true, &options.server, options.server_namespace_fd)]
    {
        let Some(path) = path else { continue };
        let diag = open_diag(Wanted { port: options.port, at_server }, namespace)?;
        sides.push((at_server, path, diag));
    }
    if let Some(why) = sides.iter().find_map(|(_, _, diag)| diag.as_ref().err()) {
        unavailable.push(Unavailable { what: "sock_diag".into(), why: why.clone() });
    }
    if instance.is_none() && sides.iter().all(|(_, _, diag)| diag.is_err()) {
        let whys: Vec<&str> = unavailable.iter().map(|lacking| lacking.why.as_str()).collect();
        return Err(Failure::machine(format!("the kernel's TCP cannot be recorded here: {}", whys.join("; "))));
    }
    let mut opened = Vec::new();
    for (at_server, path, diag) in sides {
        let diag = diag.ok();
        let header = header(options, at_server, anchor, instance.as_ref(), diag.is_some(), &unavailable);
        opened.push(Side { at_server, output: Output::create(path, &header)?, diag });
    }
    let sampled = opened.iter().all(|side| side.diag.is_some());
    let names: Vec<&str> = instance.iter().flat_map(|instance| &instance.tracepoints).map(|point| point.name).collect();
    let mut recorder = Recorder::new(options.port, options.period_ms * 1_000_000, opened, instance);
    let ready = json!({"event": "ready", "tracepoints": names, "sock_diag": sampled, "unavailable": unavailable});
    let mut summary = recorder.run(|| print_line(&ready))?;
    summary["event"] = "summary".into();
    print_line(&summary)
}

fn open_instance(options: &Options, unavailable: &mut Vec<Unavailable>) -> Option<Instance> {
    let opened = if options.no_tracepoints {
        Err("they were not asked for".into())
    } else {
        Instance::open(options.port, unavailable)
    };
    opened.map_err(|why| unavailable.push(Unavailable { what: "tracepoints".into(), why })).ok()
}

/// Opens the questions in a namespace; Err(why) where the kernel does not answer them.
fn open_diag(wanted: Wanted, namespace: Option<RawFd>) -> Result<Result<SocketDiag, String>, Failure> {
    let open = || SocketDiag::open(wanted).map_err(|error| format!("the kernel does not report its sockets: {error}"));
    let Some(descriptor) = namespace else { return Ok(open()) };
    let unusable = |error: &dyn std::fmt::Display| Failure::usage(format!("namespace {descriptor}: {error}"));
    let home = File::open("/proc/self/ns/net").map_err(|error| unusable(&error))?;
    // SAFETY: the caller of the program vouches for the descriptor; if it is closed, setns reports it.
    let there = unsafe { BorrowedFd::borrow_raw(descriptor) };
    setns(there, CloneFlags::CLONE_NEWNET).map_err(|error| unusable(&error))?;
    let diag = open();
    setns(home.as_fd(), CloneFlags::CLONE_NEWNET).map_err(|error| unusable(&error))?;
    Ok(diag)
}

fn header(
    options: &Options,
    at_server: bool,
    anchor: Anchor,
    instance: Option<&Instance>,
    sock_diag: bool,
    unavailable: &[Unavailable],
) -> Header {
    let tracepoints = instance.iter().flat_map(|instance| &instance.tracepoints);
    Header {
        schema_version: 1,
        vantage: if at_server { "server" } else { "client" }.into(),
        port: options.port,
        kernel: uname().map_or_else(|_| "unknown".into(), |name| name.release().to_string_lossy().into_owned()),
        monotonic_ns: anchor.monotonic_ns,
        unix_ns: anchor.unix_ns,
        period_ns: options.period_ms * 1_000_000,
        tracepoints: tracepoints.map(|point| (point.name.to_owned(), point.text.clone())).collect(),
        sock_diag,
        unavailable: unavailable.to_vec(),
    }
}
