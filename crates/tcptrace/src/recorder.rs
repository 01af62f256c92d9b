//! The recording itself: wakes up by a timer, reads what happened, asks the sockets, until a signal stops it.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use longlook_support::failure::Failure;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::unistd::read;
use serde_json::json;

use crate::diag::SocketDiag;
use crate::file::Record;
use crate::format::Field;
use crate::output::Output;
use crate::tracefs::{Instance, Tracepoint};

const DRAIN_NS: u64 = 20_000_000;
const LOOK_NS: u64 = 100_000_000;
const PROBE_KEYS: [&str; 6] = ["snd_nxt", "snd_una", "snd_cwnd", "ssthresh", "snd_wnd", "srtt"];

/// One end of the connections: where its records go, and its sockets.
pub struct Side {
    pub at_server: bool,
    pub output: Output,
    pub diag: Option<SocketDiag>,
}

/// Everything that records.
pub struct Recorder {
    port: u16,
    period_ns: u64,
    sides: Vec<Side>,
    instance: Option<Instance>,
    layouts: BTreeMap<u16, Layout>,
    probes: BTreeMap<u64, LastProbe>,
    counts: Counts,
    next_look_ns: u64,
    next_drain_ns: u64,
}

#[derive(Default)]
struct Counts {
    events: u64,
    repeated: u64,
    lost: u64,
    samples: u64,
    late_ticks: u64,
}

/// Where the fields that the recorder itself needs lie in a tracepoint's events.
struct Layout {
    sport: Field,
    dport: Field,
    probe: Option<Probe>,
}

struct Probe {
    cookie: Field,
    keys: Vec<Field>,
}

/// The last `tcp_probe` of a socket, and its values.
struct LastProbe {
    time_ns: u64,
    values: Vec<u64>,
}

impl Recorder {
    pub fn new(port: u16, period_ns: u64, sides: Vec<Side>, instance: Option<Instance>) -> Self {
        let tracepoints = instance.as_ref().map(|instance| instance.tracepoints.as_slice()).unwrap_or_default();
        let layouts =
            tracepoints.iter().filter_map(|tracepoint| Some((tracepoint.format.id, layout(tracepoint)?))).collect();
        let (probes, counts) = (BTreeMap::new(), Counts::default());
        Self { port, period_ns, sides, instance, layouts, probes, counts, next_look_ns: 0, next_drain_ns: 0 }
    }

    /// Records until SIGTERM or SIGINT, and returns the counts. `ready` is called once it records.
    pub fn run(&mut self, ready: impl FnOnce() -> Result<(), Failure>) -> Result<serde_json::Value, Failure> {
        let signals = signals().map_err(|error| system("signals", error))?;
        let timer = self.timer().map_err(|error| system("the timer", error))?;
        ready()?;
        let mut stop = false;
        while !stop {
            let (heard, ticked);
            {
                let mut watched = vec![
                    PollFd::new(signals.as_fd(), PollFlags::POLLIN),
                    PollFd::new(timer.as_fd(), PollFlags::POLLIN),
                ];
                let diags = self.sides.iter().filter_map(|side| side.diag.as_ref());
                watched.extend(diags.map(|diag| PollFd::new(diag.destroyed(), PollFlags::POLLIN)));
                match poll(&mut watched, PollTimeout::NONE) {
                    Err(Errno::EINTR) => continue,
                    other => other.map_err(|error| system("the wait", error))?,
                };
                let happened = |fd: &PollFd| fd.any().unwrap_or(false);
                stop = happened(&watched[0]);
                ticked = happened(&watched[1]);
                heard = watched[2..].iter().any(happened);
            }
            if heard {
                self.hear()?;
            }
            if ticked {
                self.counts.late_ticks += expirations(&timer).saturating_sub(1);
            }
            if ticked || stop {
                self.tick(stop)?;
            }
        }
        self.hear()?;
        self.end()
    }

    /// The timer: full periods of the clock, and half of one, so that it does not fall on what begins at full ones.
    fn timer(&self) -> nix::Result<TimerFd> {
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        let first_ns =
            (longlook_support::clock::monotonic_ns() / self.period_ns + 1) * self.period_ns + self.period_ns / 2;
        let expiration = Expiration::IntervalDelayed(time_spec(first_ns), time_spec(self.period_ns));
        timer.set(expiration, TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
        Ok(timer)
    }

    fn tick(&mut self, last: bool) -> Result<(), Failure> {
        let now_ns = longlook_support::clock::monotonic_ns();
        if last || now_ns >= self.next_drain_ns {
            self.next_drain_ns = now_ns + DRAIN_NS - self.period_ns.min(DRAIN_NS) / 2;
            self.drain(now_ns)?;
            for side in &mut self.sides {
                side.output.settle(now_ns)?;
            }
        }
        let look = now_ns >= self.next_look_ns;
        if look {
            self.next_look_ns = now_ns + LOOK_NS;
        }
        for Side { diag, output, .. } in &mut self.sides {
            let Some(diag) = diag else { continue };
            let failed = |error| system("sock_diag", error);
            if look || diag.is_idle() {
                diag.look().map_err(failed)?;
            }
            let samples = &mut self.counts.samples;
            diag.sample(|time_ns, socket| {
                *samples += 1;
                output.take(time_ns, &Record::Sample { time_ns, socket });
            })
            .map_err(failed)?;
        }
        Ok(())
    }

    fn drain(&mut self, now_ns: u64) -> Result<(), Failure> {
        let Self { port, sides, instance, layouts, probes, counts, next_look_ns, .. } = self;
        let Some(instance) = instance else { return Ok(()) };
        let mut losses = Vec::new();
        let each = |time_ns: u64, raw: &[u8]| {
            let id = raw.first_chunk().map_or(0, |bytes| u16::from_ne_bytes(*bytes));
            let Some(layout) = layouts.get(&id) else { return };
            let at_server = layout.sport.number(raw) == Some(u64::from(*port));
            if !at_server && layout.dport.number(raw) != Some(u64::from(*port)) {
                return;
            }
            let Some(side) = sides.iter_mut().find(|side| side.at_server == at_server) else { return };
            let mut since_ns = 0;
            if let Some(probe) = &layout.probe {
                let cookie = probe.cookie.number(raw).unwrap_or(0);
                if side.diag.as_ref().is_some_and(|diag| !diag.knows(cookie)) {
                    *next_look_ns = 0;
                }
                let values: Vec<u64> = probe.keys.iter().map(|field| field.number(raw).unwrap_or(0)).collect();
                let before = probes.insert(cookie, LastProbe { time_ns, values });
                if let Some(before) = before {
                    since_ns = before.time_ns;
                    if probes.get(&cookie).is_some_and(|now| now.values == before.values) {
                        counts.repeated += 1;
                        return;
                    }
                }
            }
            counts.events += 1;
            side.output.take(time_ns, &Record::Event { time_ns, since_ns, raw });
        };
        instance.drain(each, |cpu, events| losses.push((cpu, events))).map_err(Failure::machine)?;
        for (cpu, events) in losses {
            self.counts.lost += events.max(1);
            for side in &mut self.sides {
                side.output.take(now_ns, &Record::Lost { time_ns: now_ns, cpu, events });
            }
        }
        Ok(())
    }

    fn hear(&mut self) -> Result<(), Failure> {
        for Side { diag, output, .. } in &mut self.sides {
            let Some(diag) = diag else { continue };
            diag.hear(|time_ns, socket| output.take(time_ns, &Record::Gone { time_ns, socket }))
                .map_err(|error| system("sock_diag", error))?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<serde_json::Value, Failure> {
        let Counts { events, repeated, lost, samples, late_ticks } = self.counts;
        let summary = json!({
            "events": events, "repeated": repeated, "lost": lost, "samples": samples, "late_ticks": late_ticks
        });
        for side in &mut self.sides {
            side.output.end(&summary)?;
        }
        Ok(summary)
    }
}

fn layout(tracepoint: &Tracepoint) -> Option<Layout> {
    let field = |name: &str| tracepoint.format.field(name);
    let probe = (tracepoint.name == "tcp_probe")
        .then(|| {
            Some(Probe {
                cookie: field("sock_cookie")?,
                keys: PROBE_KEYS.iter().filter_map(|key| field(key)).collect(),
            })
        })
        .flatten();
    Some(Layout { sport: field("sport")?, dport: field("dport")?, probe })
}

fn signals() -> nix::Result<SignalFd> {
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGTERM);
    mask.add(Signal::SIGINT);
    mask.thread_block()?;
    SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
}

/// How often the timer has run out since it was last asked.
fn expirations(timer: &TimerFd) -> u64 {
    let mut count = [0; 8];
    match read(timer.as_fd(), &mut count) {
        Ok(8) => u64::from_ne_bytes(count),
        _ => 0,
    }
}

fn time_spec(ns: u64) -> TimeSpec {
    TimeSpec::new((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as i64)
}

fn system(what: &str, error: Errno) -> Failure {
    Failure::machine(format!("{what}: {error}"))
}
