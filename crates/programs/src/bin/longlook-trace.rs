//! `longlook-trace`: records, decodes and infers from traces (crates/tcptrace, crates/trace, crates/infer).

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(version, about = "Records and decodes traces of transport protocols, and infers state machines from them")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Turn a trace into a table of events
    Decode(longlook_trace::cli::Options),
    /// Write a file that is packed with gzip or zstd as it is when unpacked
    Unpack(longlook_trace::cli::UnpackOptions),
    /// Infer the smallest state machine that keeps all temporal invariants of a log
    Infer(longlook_infer::cli::Options),
    /// Record what the kernel's TCP does, until SIGTERM
    RecordTcp(longlook_tcptrace::cli::Options),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Decode(options) => longlook_trace::cli::run(&options),
        Command::Unpack(options) => longlook_trace::cli::unpack(&options),
        Command::Infer(options) => longlook_infer::cli::run(&options),
        Command::RecordTcp(options) => longlook_tcptrace::cli::run(&options),
    };
    longlook_support::failure::end("longlook-trace", done)
}
