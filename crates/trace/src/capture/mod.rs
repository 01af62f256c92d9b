//! Captures of packets (pcap, pcapng) → rows, as the end at which they were taken sees its connections.
//!
//! A file is read twice. The first pass finds its connections and where each was seen from ([`survey`]), the second
//! makes rows ([`tcp`], [`quic`]). Memory holds what is in flight, and a little for each connection.

mod container;
mod flows;
mod packet;
mod quic;
mod rows;
mod survey;
mod tcp;

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::Path;
use std::rc::Rc;

use longlook_support::failure::Failure;

use self::container::Reader;
pub use self::container::is_capture;
use self::flows::{Flows, Member};
use self::packet::{Packet, Refusal, Transport};
use self::quic::header::Long;
use self::quic::keys::KeyLog;
use self::rows::{Now, Place};
use self::survey::{Decision, Facts};
use self::tcp::segment::Segment;
use crate::account::{self, Account};
use crate::event::Vantage;
use crate::writer::{self, EventWriter, Halt};

const UDP_HEADER_BYTES: usize = 8;
/// A clock that goes back by less has its packets in a slightly other order, as several queues of a card give them.
const LEAST_STEP_NS: i64 = 10_000_000;

/// What decoding a capture needs.
pub struct Task<'a> {
    /// Opens the unpacked capture; it is read twice.
    pub open: &'a dyn Fn() -> Result<Box<dyn Read>, Failure>,
    /// What it is called.
    pub name: &'a Path,
    /// The table to write.
    pub output: &'a Path,
    /// The end at which it was taken, if the user names it.
    pub vantage: Vantage,
    /// Secrets of TLS, in the format of NSS's key log; those in the capture count too.
    pub keys: &'a [u8],
}

/// A file's clock, which never goes back.
#[derive(Default)]
struct Clock {
    first_ns: Option<i64>,
    last_ns: i64,
    shift_ns: i64,
    steps: Vec<(u64, i64)>,
    step_count: u64,
}

impl Clock {
    /// The time of a frame since the first one. After a step back the clock goes on from where it was.
    fn time_ns(&mut self, unix_ns: i64, number: u64) -> i64 {
        let first_ns = *self.first_ns.get_or_insert(unix_ns);
        let time_ns = unix_ns.saturating_sub(first_ns).saturating_add(self.shift_ns);
        let back_ns = self.last_ns.saturating_sub(time_ns);
        if back_ns > LEAST_STEP_NS {
            self.shift_ns = self.shift_ns.saturating_add(back_ns);
            self.step_count += 1;
            if self.steps.len() < 3 {
                self.steps.push((number, back_ns));
            }
        }
        self.last_ns = self.last_ns.max(time_ns);
        self.last_ns
    }
}

/// Whatever may follow the header of a packet's transport.
enum Content<'a> {
    Tcp(Segment<'a>),
    Udp(Option<Long<'a>>),
}

/// A packet of a connection, as it was seen.
struct Seen<'a> {
    packet: &'a Packet<'a>,
    member: Member,
    frame: u64,
    interface: u32,
    time_ns: i64,
}

/// One pass over the file: the packets of its connections, one after the other.
struct Pass {
    reader: Reader,
    clock: Clock,
    flows: Flows,
    ignored: BTreeMap<&'static str, u64>,
    skipped: BTreeMap<&'static str, u64>,
}

impl Pass {
    fn new(task: &Task) -> Result<Self, Failure> {
        let reader = Reader::new((task.open)()?)
            .ok_or_else(|| Failure::new(format!("{} is no longer the capture that it was", task.name.display())))?;
        Ok(Self {
            reader,
            clock: Clock::default(),
            flows: Flows::default(),
            ignored: BTreeMap::new(),
            skipped: BTreeMap::new(),
        })
    }

    /// Gives every packet of a connection to `each`.
    fn run<E>(&mut self, mut each: impl FnMut(&Seen<'_>, Content) -> Result<(), E>) -> Result<(), E> {
        while let Some(frame) = self.reader.next_frame() {
            let time_ns = self.clock.time_ns(frame.unix_ns, frame.number);
            let read = packet::packet(&frame).and_then(|packet| Ok((content(&packet)?, packet)));
            let (content, packet) = match read {
                Ok(read) => read,
                Err(Refusal::Other(what)) => {
                    *self.ignored.entry(what).or_default() += 1;
                    continue;
                }
                Err(Refusal::Damaged(what)) => {
                    *self.skipped.entry(what).or_default() += 1;
                    continue;
                }
            };
            let member = match &content {
                Content::Tcp(segment) => self.flows.of_segment(&packet, segment),
                Content::Udp(first) => self.flows.of_datagram(&packet, first.as_ref()),
            };
            let Some(member) = member else {
                let what = if packet.transport == Transport::Udp { "other UDP" } else { "too many connections" };
                *self.ignored.entry(what).or_default() += 1;
                continue;
            };
            let interface = packet.device.unwrap_or(frame.interface);
            each(&Seen { packet: &packet, member, frame: frame.number, interface, time_ns }, content)?;
        }
        Ok(())
    }
}

fn content<'a>(packet: &Packet<'a>) -> Result<Content<'a>, Refusal> {
    match packet.transport {
        Transport::Tcp => Segment::read(packet).map(Content::Tcp),
        Transport::Udp => {
            let bytes = packet.bytes.get(UDP_HEADER_BYTES..).unwrap_or_default();
            Ok(Content::Udp(Long::read(bytes, packet.length.saturating_sub(UDP_HEADER_BYTES))))
        }
    }
}

/// Decodes a capture.
///
/// # Errors
/// An output that cannot be written. Whatever is wrong with the capture is in the account.
pub fn decode(task: &Task) -> Result<Account, Failure> {
    let mut pass = Pass::new(task)?;
    let container = pass.reader.container();
    let mut facts: Vec<Facts> = Vec::new();
    let done: Result<(), Failure> = pass.run(|seen, content| {
        if facts.len() == seen.member.flow {
            facts.push(Facts::new(seen.packet));
        }
        let (fact, ascends) = (&mut facts[seen.member.flow], seen.member.ascends);
        match content {
            Content::Tcp(segment) => fact.segment(seen.packet, &segment, ascends, seen.interface, seen.time_ns),
            Content::Udp(first) => {
                let opens = first.is_some_and(|long| long.opens());
                fact.datagram(seen.packet, opens, ascends, seen.interface, seen.time_ns);
            }
        }
        Ok(())
    });
    done?;
    let first_ns = pass.clock.first_ns;
    let decisions: Vec<Rc<Decision>> = facts.iter().map(|each| Rc::new(each.decide(task.vantage))).collect();
    drop(facts);
    let mut key_log = KeyLog::default();
    let taken = key_log.read(&pass.reader.secrets) + key_log.read(task.keys);
    if taken == 0 && !task.keys.is_empty() {
        return Err(Failure::usage("the key log has no line with a secret of TLS 1.3")
            .hint("name the file that SSLKEYLOGFILE of the client or the server wrote"));
    }
    let (known, key_log) = (decisions.as_slice(), Rc::new(key_log));
    let account = || account_of(container, first_ns, known);
    writer::write(task.output, account, |writer| Rows::new(known, key_log.clone()).write(task, writer))
}

fn account_of(container: &'static str, first_ns: Option<i64>, decisions: &[Rc<Decision>]) -> Account {
    let mut account = Account::new("capture", container);
    account.reference_unix_ns = first_ns;
    account.clock = "wall";
    account.producer = Some("a capture of packets".into());
    let mut vantages = decisions.iter().map(|decision| decision.vantage);
    let first = vantages.next().unwrap_or(Vantage::Unknown);
    if vantages.all(|vantage| vantage == first) {
        account.vantage = first.as_str().into();
    }
    for decision in decisions {
        account.connections.push(account::Connection {
            client: Some(decision.client.to_string()),
            server: Some(decision.server.to_string()),
            vantage: Some(decision.vantage.as_str()),
            notes: decision.notes.clone(),
            ..account::Connection::default()
        });
    }
    account
}

enum Connection {
    Tcp(Box<tcp::Connection>),
    Quic(Box<quic::Connection>),
}

/// The connections of one pass that makes rows.
struct Rows<'a> {
    decisions: &'a [Rc<Decision>],
    key_log: Rc<KeyLog>,
    connections: Vec<Option<(Place, Connection)>>,
    /// Further ports of connections that have moved to them.
    moved: HashMap<usize, usize>,
}

impl<'a> Rows<'a> {
    fn new(decisions: &'a [Rc<Decision>], key_log: Rc<KeyLog>) -> Self {
        let connections = decisions.iter().map(|_| None).collect();
        Self { decisions, key_log, connections, moved: HashMap::new() }
    }

    fn write(mut self, task: &Task, writer: &mut EventWriter) -> Result<(), Halt> {
        let mut pass = Pass::new(task)?;
        pass.run(|seen, content| self.packet(seen, &content, writer))?;
        for (flow, connection) in self.connections.iter().enumerate() {
            let notes = match connection {
                Some((_, Connection::Tcp(connection))) => connection.notes(),
                Some((_, Connection::Quic(connection))) => connection.notes(),
                None => continue,
            };
            writer.account.connections[flow].notes.extend(notes);
        }
        for (from, to) in self.moved {
            let ports = &self.decisions[from];
            let said = format!("It moves to {} and {}.", ports.client, ports.server);
            writer.account.connections[to].notes.push(said);
        }
        close(&pass, &mut writer.account);
        Ok(())
    }

    fn packet(&mut self, seen: &Seen, content: &Content, writer: &mut EventWriter) -> Result<(), Halt> {
        let Member { flow, ascends } = seen.member;
        let Some(decision) = self.decisions.get(flow) else { return Ok(()) };
        let by_client = ascends == decision.client_is_low;
        if decision.interfaces[usize::from(!by_client)].is_some_and(|kept| kept != seen.interface) {
            writer.account.count_ignored("copies at other interfaces");
            return Ok(());
        }
        writer.account.count_read(seen.time_ns);
        let datagram = seen.packet.bytes.get(UDP_HEADER_BYTES..).unwrap_or_default();
        let flow = match content {
            Content::Udp(_) => self.home(flow, decision, datagram, by_client),
            Content::Tcp(_) => flow,
        };
        let key_log = &self.key_log;
        let (place, connection) = self.connections[flow].get_or_insert_with(|| {
            let (protocol, word, connection) = match content {
                Content::Tcp(_) => ("TCP", "tcp", Connection::Tcp(Box::new(tcp::Connection::new(decision.clone())))),
                Content::Udp(_) => (
                    "QUIC",
                    "udp",
                    Connection::Quic(Box::new(quic::Connection::new(decision.clone(), key_log.clone()))),
                ),
            };
            writer.account.connections[flow].protocol = Some(protocol);
            let text = writer.text(&format!("{word} {} {}", decision.client, decision.server));
            (Place { connection: flow as u32, vantage: decision.vantage, flow: text }, connection)
        });
        let mut now = Now { time_ns: seen.time_ns, frame: seen.frame, place: *place, writer };
        match (connection, content) {
            (Connection::Tcp(connection), Content::Tcp(segment)) => connection.segment(segment, by_client, &mut now),
            (Connection::Quic(connection), Content::Udp(_)) => {
                let length = seen.packet.length.saturating_sub(UDP_HEADER_BYTES);
                connection.datagram(datagram, length, by_client, &mut now)
            }
            _ => Ok(()),
        }
    }

    /// The connection of a datagram: one that is known by the id, if its ports are new (RFC 9000, 9).
    fn home(&mut self, flow: usize, decision: &Decision, datagram: &[u8], by_client: bool) -> usize {
        if let Some(home) = self.moved.get(&flow) {
            return *home;
        }
        let is_new = self.connections[flow].is_none();
        let is_short = datagram.first().is_some_and(|first| first & 0x80 == 0);
        if !(is_new && is_short && by_client) {
            return flow;
        }
        let addressed = |id: &Vec<u8>| datagram.get(1..=id.len()) == Some(id.as_slice());
        let home = self.connections.iter().zip(self.decisions).position(|(known, other)| {
            let Some((_, Connection::Quic(known))) = known else { return false };
            other.server == decision.server && known.ids.iter().any(addressed)
        });
        if let Some(home) = home {
            self.moved.insert(flow, home);
        }
        home.unwrap_or(flow)
    }
}

/// What became of the frames that gave no rows, and how the file ends.
fn close(pass: &Pass, account: &mut Account) {
    account.bytes = pass.reader.offset();
    for (what, count) in &pass.ignored {
        *account.ignored.entry((*what).to_owned()).or_default() += count;
    }
    let timeless = Some(("packets without a time", pass.reader.without_time)).filter(|(_, count)| *count > 0);
    for (what, count) in pass.skipped.iter().map(|(what, count)| (*what, *count)).chain(timeless) {
        *account.skipped.entry(what.to_owned()).or_default() += count;
        account.warn(0, 0, format!("skipped: {count} {what}"));
    }
    if let Some(damage) = &pass.reader.damage {
        account.truncated = true;
        account.warn(0, pass.reader.offset(), format!("byte {}: {damage}", pass.reader.offset()));
    }
    for (number, back_ns) in &pass.clock.steps {
        let back_s = *back_ns as f64 / 1e9;
        let said = format!("the clock goes back by {back_s:.3} s at packet {number}: later times are moved on by that");
        account.warn(0, 0, said);
    }
    if pass.clock.step_count > pass.clock.steps.len() as u64 {
        account.warn(0, 0, format!("it goes back {} times in all", pass.clock.step_count));
    }
}
