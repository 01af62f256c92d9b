//! The `run` command: everything around the datapath.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::prctl::set_timerslack;
use serde_json::json;

use crate::counters::verdicts;
use crate::log::Log;
use crate::ports::{OffloadPort, PacketPort, Port, TunDevice, TunPort};
use crate::router::Router;
use crate::spin::SpinBudget;
use crate::{configuration, signals, sys};
use longlook_support::clock::{Anchor, process_cpu_ns};
use longlook_support::failure::{Failure, print_line};

const FIFO_PRIORITY: i32 = 50;

#[derive(Args)]
#[command(group(ArgGroup::new("backend").required(true).args(["client_if", "client_tun_fd"])))]
pub struct Options {
    /// Configuration of the link, JSON (docs/reference/link-formats.md)
    #[arg(long)]
    config: PathBuf,
    /// Where the packet log is written
    #[arg(long)]
    log: PathBuf,
    /// Interface towards the client, in this network namespace
    #[arg(long, requires = "server_if", conflicts_with = "server_tun_fd")]
    client_if: Option<String>,
    /// Interface towards the server
    #[arg(long, requires = "client_if")]
    server_if: Option<String>,
    /// Inherited descriptor of a TUN device towards the client
    #[arg(long, requires = "server_tun_fd")]
    client_tun_fd: Option<i32>,
    /// Inherited descriptor of a TUN device towards the server
    #[arg(long, requires = "client_tun_fd")]
    server_tun_fd: Option<i32>,
    /// Frames of 2048 bytes in each ring; four rings are made
    #[arg(long, default_value_t = 8192, value_parser = clap::value_parser!(u32).range(16..=65_536))]
    ring_frames: u32,
    /// Busy-wait for the last microseconds before a packet is due
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    spin_us: u32,
    /// For at most so much of the time
    #[arg(long, default_value_t = 80, value_parser = clap::value_parser!(u32).range(0..=80))]
    spin_percent: u32,
    /// Stay at normal priority even where real-time priority is allowed
    #[arg(long)]
    no_fifo: bool,
    /// Do not lock memory even where that is allowed
    #[arg(long)]
    no_memory_lock: bool,
}

/// Runs the router until a signal stops it.
pub fn run(options: &Options) -> Result<(), Failure> {
    let (config, raw_config) = configuration::read(Some(&options.config))?;
    // Before any thread starts: threads inherit the blocked signals.
    let signals = signals::open().map_err(|error| Failure::new(format!("signals cannot be awaited: {error}")))?;
    let ports = open_ports(options)?;
    let log = Log::create(&options.log, &raw_config, &verdicts(), Anchor::read())?;
    let spin = SpinBudget::new(u64::from(options.spin_us) * 1_000, options.spin_percent);
    let mut router = Router::new(&config, ports, signals, log, spin)?;
    prepare_thread(options, &mut router);
    print_line(&json!({"event": "ready", "guard": {
        "fifo": u8::from(router.guard.fifo), "locked_memory": u8::from(router.guard.locked_memory)}}))?;
    let stopped = router.run();
    conclude(router, stopped)
}

fn open_ports(options: &Options) -> Result<[Box<dyn Port>; 2], Failure> {
    let frames = options.ring_frames as usize;
    match (&options.client_if, &options.server_if, options.client_tun_fd, options.server_tun_fd) {
        (Some(client), Some(server), _, _) => {
            Ok([Box::new(PacketPort::open(client, frames)?), Box::new(PacketPort::open(server, frames)?)])
        }
        (_, _, Some(client), Some(server)) => Ok([open_tun("client", client)?, open_tun("server", server)?]),
        _ => Err(Failure::usage("give --client-if and --server-if, or --client-tun-fd and --server-tun-fd")),
    }
}

fn open_tun(role: &str, fd: i32) -> Result<Box<dyn Port>, Failure> {
    let device = TunDevice::take(role, fd)?;
    Ok(if device.offload { Box::new(OffloadPort::new(device)) } else { Box::new(TunPort::new(device)) })
}

/// After the writer was started, so that it keeps its normal priority.
fn prepare_thread(options: &Options, router: &mut Router) {
    // Without it the kernel may end a wait 50 µs late. Refused nowhere; without effect on real-time threads.
    let _ = set_timerslack(1);
    // Not what is mapped later: where locked memory is limited, growing would then kill the process.
    router.guard.locked_memory = !options.no_memory_lock && mlockall(MlockAllFlags::MCL_CURRENT).is_ok();
    router.guard.fifo = !options.no_fifo && sys::set_fifo_priority(FIFO_PRIORITY);
}

fn conclude(router: Router, stopped: Result<(), Failure>) -> Result<(), Failure> {
    let (mut summary, mut guard, imbalance, log) = router.close();
    let finished = log.finish();
    if let Ok(lost) = finished {
        guard.log_lost = lost;
    }
    guard.cpu_ns = process_cpu_ns();
    summary["event"] = json!("summary");
    summary["guard"] = guard.summary();
    print_line(&summary)?;
    // The log's own failure is the cause where the datapath stopped because of it.
    finished?;
    stopped?;
    if guard.log_lost > 0 {
        return Err(Failure::new(format!("the packet log lost {} records: the disk is too slow", guard.log_lost))
            .hint("put the run's folder on a faster file system"));
    }
    if imbalance != 0 {
        return Err(Failure::new(format!("{imbalance} packets are unaccounted for: this is a bug of the router")));
    }
    Ok(())
}
