//! `longlook-link`: the router between client and server. It moves packets, shapes them and logs the fate of each.
//!
//! Standard output carries JSON lines only (docs/link-formats.md); what is for people goes to standard error.

mod clock;
mod counters;
mod edit;
mod failure;
mod flows;
mod headers;
mod icmp;
mod lane;
mod log;
mod logfile;
mod nat;
mod pcapng;
mod pool;
mod ports;
mod probe;
mod quic;
mod record;
mod router;
mod run;
mod signals;
mod spin;
mod sys;
mod translator;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

#[derive(Parser)]
#[command(version, about = "Emulates a network path between two interfaces and logs every packet's fate")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Move packets between two interfaces until SIGTERM, or until silence after SIGUSR1
    Run(run::Options),
    /// Print the stages with their parameters, units and bounds as JSON
    Describe,
    /// Turn a packet log into a capture file for Wireshark and its like
    Pcapng(pcapng::Options),
    /// Measure a link from outside
    #[command(subcommand, hide = true)]
    Probe(probe::Command),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Run(options) => run::run(&options),
        Command::Describe => say(&link_core::describe()),
        Command::Pcapng(options) => pcapng::run(&options),
        Command::Probe(command) => probe::run(&command),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("longlook-link: {failure}");
            // Nobody may be left to read it; the exit code still tells.
            let _ = say(&failure.to_json());
            ExitCode::from(failure.exit_code)
        }
    }
}

/// Writes one line to standard output at once.
fn say(line: &serde_json::Value) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| Failure::new(format!("standard output cannot be written: {error}")))
}
