//! The datapath: one thread takes packets, asks for their fate, and lets them go when they are due.

use std::io;
use std::time::Duration;

use longlook_link_core::{Config, DirectionName};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::signalfd::SignalFd;
use serde_json::{Value, json};

use crate::counters::Guard;
use crate::datapath::{Datapath, Shared};
use crate::flows::Flows;
use crate::log::{Log, WriterStopped};
use crate::pool::{Packet, Pool};
use crate::ports::Port;
use crate::signals::{self, Request};
use crate::spin::{Pauses, SpinBudget};
use crate::sys::{Events, epoll_wait};
use crate::translator::Translator;
use longlook_support::clock::monotonic_ns;
use longlook_support::failure::Failure;

/// Packets of one direction that are handled before the other has its turn.
const BURST: usize = 64;
const SIGNALS: u64 = 2;
/// How often a loop that never sleeps looks for signals and lost interfaces.
const POLL_NS: u64 = 10_000_000;
const CLOCK_NS: u64 = 1_000_000_000;
/// How long an interface without room is left alone.
const RETRY_NS: u64 = 50_000;

/// See the module. Port 0 is the client's and datapath 0 is `up`; datapath i receives on port i and sends on the other one.
pub struct Router {
    ports: [Box<dyn Port>; 2],
    datapaths: [Datapath; 2],
    shared: Shared,
    #[expect(clippy::vec_box, reason = "they come from the heap of waiting packets and go back to the pool")]
    leaving: Vec<Box<Packet>>,
    log: Log,
    epoll: Epoll,
    events: Events,
    signals: SignalFd,
    spin: SpinBudget,
    pauses: Pauses,
    pub guard: Guard,
    linger_ns: u64,
    phase_ns: u64,
    last_arrival_ns: u64,
    /// The strongest request so far.
    request: Option<Request>,
    spinning: bool,
    sleeping: bool,
    /// By when the loop should be back at its start; later is a gap.
    expected_ns: u64,
    polled_ns: u64,
    synchronised_ns: u64,
    /// Not before this time is anything sent again, after an interface had no room.
    retry_ns: u64,
}

impl Router {
    pub fn new(
        config: &Config,
        ports: [Box<dyn Port>; 2],
        signals: SignalFd,
        log: Log,
        spin: SpinBudget,
    ) -> Result<Self, Failure> {
        let epoll = watch(&ports, &signals).map_err(|error| Failure::new(format!("epoll failed: {error}")))?;
        let now_ns = monotonic_ns();
        let datapath = |name: DirectionName| Datapath::new(config, name, ports[name as usize].framing());
        Ok(Self {
            datapaths: [datapath(DirectionName::Up), datapath(DirectionName::Down)],
            ports,
            shared: Shared {
                pool: Pool::new(),
                flows: Flows::default(),
                translator: config.nat().map(Translator::new),
            },
            leaving: Vec::with_capacity(BURST),
            log,
            epoll,
            events: Events::new(),
            signals,
            spin,
            pauses: Pauses::default(),
            guard: Guard::default(),
            linger_ns: config.linger_ns,
            phase_ns: config.phase_ns,
            last_arrival_ns: now_ns,
            request: None,
            spinning: false,
            sleeping: false,
            expected_ns: now_ns,
            polled_ns: now_ns,
            synchronised_ns: now_ns,
            retry_ns: 0,
        })
    }

    /// Moves packets until a signal ends it.
    pub fn run(&mut self) -> Result<(), Failure> {
        self.expected_ns = monotonic_ns();
        while self.request != Some(Request::Stop) {
            let now_ns = monotonic_ns();
            if std::mem::take(&mut self.spinning) {
                self.spin.spent(now_ns - self.expected_ns);
            }
            if std::mem::take(&mut self.sleeping) {
                self.pauses.slept(now_ns - self.polled_ns);
            }
            self.guard.gap(now_ns.saturating_sub(self.expected_ns));
            self.expected_ns = now_ns;
            if let Some(pause_ns) = self.pauses.due_ns(now_ns).filter(|_| self.guard.fifo) {
                self.expected_ns += pause_ns;
                std::thread::sleep(Duration::from_nanos(pause_ns));
                continue;
            }
            if now_ns - self.synchronised_ns >= CLOCK_NS {
                self.ports.iter_mut().for_each(|port| port.synchronise_clock());
                self.synchronised_ns = now_ns;
            }
            let mut moved = 0;
            for index in 0..2 {
                moved += self.depart(index, now_ns)?;
            }
            for index in 0..2 {
                moved += self.collect(index, now_ns)?;
            }
            if moved == 0 {
                self.wait(now_ns)?;
            } else if now_ns - self.polled_ns >= POLL_NS {
                self.poll(now_ns, Some(0))?;
            }
        }
        Ok(())
    }

    /// Sends what is due in one direction; returns how many packets that were.
    fn depart(&mut self, index: usize, now_ns: u64) -> Result<usize, Failure> {
        if now_ns < self.retry_ns {
            return Ok(0);
        }
        let (datapath, port) = (&mut self.datapaths[index], &mut self.ports[1 - index]);
        datapath.advance(now_ns, &mut self.shared);
        let (mut room, at_once) = (true, port.sends_at_once());
        while room && self.leaving.len() < BURST {
            let Some(mut packet) = datapath.pop_due(now_ns, &self.shared) else { break };
            if at_once {
                packet.record.departure_ns = monotonic_ns();
            }
            room = port.send(packet.frame()).map_err(|error| lost(port.as_ref(), &error))?;
            if room {
                self.leaving.push(packet);
            } else {
                packet.record.departure_ns = 0;
                datapath.put_back(packet);
            }
        }
        let departure_ns = if self.leaving.is_empty() { now_ns } else { monotonic_ns() };
        room &= port.flush().map_err(|error| lost(port.as_ref(), &error))?;
        if !room {
            self.retry_ns = now_ns + RETRY_NS;
        }
        let count = self.leaving.len();
        for mut packet in self.leaving.drain(..) {
            let left_ns = if at_once { packet.record.departure_ns } else { departure_ns };
            let late_ns = datapath.departed(&mut packet, left_ns);
            self.guard.max_late_ns = self.guard.max_late_ns.max(late_ns);
            self.log.push(packet.record, now_ns).map_err(writer_stopped)?;
            self.shared.pool.give_back(packet);
        }
        self.log_dropped(index, now_ns)?;
        Ok(count)
    }

    /// Takes in what has arrived in one direction; returns how many frames that were.
    fn collect(&mut self, index: usize, now_ns: u64) -> Result<usize, Failure> {
        for count in 0..BURST {
            let mut packet = self.shared.pool.take();
            let port = &mut self.ports[index];
            let received = port.receive(&mut packet.bytes, now_ns).map_err(|error| lost(port.as_ref(), &error))?;
            let Some(received) = received else {
                self.shared.pool.give_back(packet);
                return Ok(count);
            };
            self.guard.gap(now_ns.saturating_sub(received.arrival_ns));
            if !port.is_ip(&packet.bytes[..received.length]) {
                packet.length = received.length;
                self.pass(index, &packet)?;
                self.shared.pool.give_back(packet);
                continue;
            }
            self.guard.unfinished_checksums += u64::from(received.unfinished_checksum);
            self.last_arrival_ns = self.last_arrival_ns.max(received.arrival_ns);
            let max_frame_bytes = self.ports[1 - index].max_frame_bytes();
            let origin_ns = received.arrival_ns.saturating_sub(self.phase_ns);
            self.datapaths.iter_mut().for_each(|datapath| datapath.begin(origin_ns));
            self.shared.translator.iter_mut().for_each(|translator| translator.begin(origin_ns));
            self.datapaths[index].admit(packet, &received, max_frame_bytes, &mut self.shared);
            self.log_dropped(index, now_ns)?;
        }
        Ok(BURST)
    }

    /// Logs dropped packets, and notifies senders of packets that were too big.
    fn log_dropped(&mut self, index: usize, now_ns: u64) -> Result<(), Failure> {
        let port = &mut self.ports[index];
        for reply in self.datapaths[index].replies.drain(..) {
            // One for which there is no room is lost, as ICMP may be.
            let sent = port.send(&reply).map_err(|error| lost(port.as_ref(), &error))?;
            self.datapaths[index].counters.icmp_sent += u64::from(sent);
            port.flush().map_err(|error| lost(port.as_ref(), &error))?;
        }
        for packet in self.datapaths[index].dropped.drain(..) {
            self.log.push(packet.record, now_ns).map_err(writer_stopped)?;
            self.shared.pool.give_back(packet);
        }
        Ok(())
    }

    /// Sends a frame that is not IP at once.
    fn pass(&mut self, index: usize, packet: &Packet) -> Result<(), Failure> {
        let port = &mut self.ports[1 - index];
        let counters = &mut self.datapaths[index].counters;
        let fits = packet.length <= port.max_frame_bytes();
        if fits && port.send(packet.frame()).map_err(|error| lost(port.as_ref(), &error))? {
            counters.other_passed += 1;
        } else {
            counters.other_dropped += 1;
        }
        port.flush().map_err(|error| lost(port.as_ref(), &error))?;
        Ok(())
    }

    /// Sleeps until a packet is due or arrives, or something else is to be done.
    fn wait(&mut self, mut now_ns: u64) -> Result<(), Failure> {
        if self.log.flush_due_ns().is_some_and(|due_ns| due_ns <= now_ns) {
            self.log.flush().map_err(writer_stopped)?;
            now_ns = monotonic_ns();
        }
        let next_due_ns = self.datapaths.iter().filter_map(Datapath::next_ns).min();
        let silent_ns = self.request.map(|_| self.last_arrival_ns + self.linger_ns);
        let empty = self.datapaths.iter().all(Datapath::is_empty);
        if empty && silent_ns.is_some_and(|silent_ns| silent_ns <= now_ns) {
            self.request = Some(Request::Stop);
            return Ok(());
        }
        let packet_ns = match next_due_ns.map(|due_ns| due_ns.max(self.retry_ns)) {
            Some(due_ns) => {
                let sleep_ns = self.spin.sleep_ns(now_ns, due_ns);
                if sleep_ns.is_none() {
                    self.spinning = due_ns > now_ns;
                    return Ok(());
                }
                sleep_ns
            }
            None if self.retry_ns > now_ns => Some(self.retry_ns - now_ns),
            None => None,
        };
        let until = |at_ns: u64| at_ns.saturating_sub(now_ns);
        let silence_ns = silent_ns.filter(|_| empty).map(until);
        let timeout_ns = [packet_ns, self.log.flush_due_ns().map(until), silence_ns].into_iter().flatten().min();
        self.poll(now_ns, timeout_ns)
    }

    /// Waits for descriptors and obeys signals.
    fn poll(&mut self, now_ns: u64, timeout_ns: Option<u64>) -> Result<(), Failure> {
        self.polled_ns = now_ns;
        self.expected_ns = timeout_ns.map_or(u64::MAX, |ns| now_ns + ns);
        self.sleeping = timeout_ns != Some(0);
        epoll_wait(&self.epoll.0, &mut self.events, timeout_ns)
            .map_err(|error| Failure::new(format!("waiting for packets failed: {error}")))?;
        let mut signalled = false;
        for (token, flags) in self.events.iter() {
            signalled |= token == SIGNALS;
            if token < SIGNALS && flags.intersects(EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP) {
                let port = &mut self.ports[token as usize];
                let error = port.take_error();
                return Err(lost(port.as_ref(), &error));
            }
        }
        if signalled {
            let request = signals::read(&self.signals);
            let request = request.map_err(|error| Failure::new(format!("signals cannot be read: {error}")))?;
            self.request = self.request.max(request);
        }
        Ok(())
    }

    /// Logs packets that are still in flight and adds everything up: summary, guard, packets unaccounted for, the open log.
    pub fn close(mut self) -> (Value, Guard, i64, Log) {
        let mut imbalance = 0;
        let summaries = self.datapaths.each_mut().map(|datapath| {
            let left = datapath.drain();
            let queued = left.len() as u64;
            for record in left {
                self.log.push_at_the_end(record);
            }
            imbalance += datapath.counters.imbalance(queued);
            datapath.summary(queued)
        });
        self.guard.ring_drops = self.ports.iter().filter_map(|port| port.kernel_drops().ok()).sum();
        let [up, down] = summaries;
        (json!({"up": up, "down": down}), self.guard, imbalance, self.log)
    }
}

fn watch(ports: &[Box<dyn Port>; 2], signals: &SignalFd) -> nix::Result<Epoll> {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    for (token, port) in (0..).zip(ports) {
        epoll.add(port.descriptor(), EpollEvent::new(EpollFlags::EPOLLIN, token))?;
    }
    epoll.add(signals, EpollEvent::new(EpollFlags::EPOLLIN, SIGNALS))?;
    Ok(epoll)
}

fn lost(port: &dyn Port, error: &io::Error) -> Failure {
    Failure::new(format!("{} failed while the router ran: {error}", port.name()))
        .hint("it was removed, set down, or its namespace is gone; start a new link")
}

fn writer_stopped(_: WriterStopped) -> Failure {
    Failure::new("the packet log could not be written")
}
