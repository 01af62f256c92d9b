//! `longlook-link`: the router between client and server. It moves packets, shapes them and logs the fate of each.
//!
//! Standard output carries JSON lines only (docs/reference/link-formats.md); what is for people goes to standard error.

mod configuration;
mod counters;
mod datapath;
mod edit;
mod flows;
mod framing;
mod headers;
mod icmp;
mod log;
mod logfile;
mod nat;
pub mod pcapng;
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
mod virtio;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    /// Check a configuration and do nothing else
    Check(configuration::Options),
    /// Print the stages with their parameters, units and bounds as JSON
    Describe,
    /// Turn a packet log into a capture file for Wireshark and its like
    Pcapng(pcapng::Options),
    /// Measure a link from outside
    #[command(subcommand, hide = true)]
    Probe(probe::Command),
}

/// The program: reads its arguments, does its job, and returns its exit code.
#[must_use]
pub fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Run(options) => run::run(&options),
        Command::Check(options) => configuration::check(&options),
        Command::Describe => longlook_support::failure::print_line(&longlook_link_core::describe()),
        Command::Pcapng(options) => pcapng::run(&options),
        Command::Probe(command) => probe::run(&command),
    };
    longlook_support::failure::end("longlook-link", done)
}
