//! Recordings of the kernel's TCP (crates/tcptrace) → events. docs/reference/capture.md has the mapping.

mod connection;
mod limit;
mod message;
mod metrics;
mod points;
mod samples;
mod sockets;

use std::io::{BufReader, Read};
use std::path::Path;

use longlook_support::failure::Failure;
use longlook_tcptrace::file::{Damage, Header, Reader, Record};

use self::connection::{Connection, Has, Probe};
use self::message::{Ends, Message};
use self::points::{Point, Points};
use self::sockets::Sockets;
use crate::account::{self, Account};
use crate::event::Vantage;
use crate::packing;
use crate::writer::{self, EventWriter, Halt};

/// How a recording begins.
pub const MAGIC: &[u8] = longlook_tcptrace::file::MAGIC;

const HINT: &str = "record it again: longlook-trace record-tcp";

/// Decodes a recording, from wherever it is opened; `name` is for people. It is opened twice.
pub fn decode(
    open: &dyn Fn() -> Result<Box<dyn Read>, Failure>,
    name: &Path,
    output: &Path,
) -> Result<Account, Failure> {
    let begin = || begin(open()?, name);
    let mut first = begin()?;
    let (points, strange) = Points::new(&first.header.tracepoints);
    let sockets = Sockets::find(&mut first, &points);
    let header = first.header;
    let empty_account = || {
        let mut account = account_of(&header, &sockets);
        for name in &strange {
            account.warn(0, 0, format!("the description of the tracepoint {name} cannot be understood"));
        }
        account
    };
    writer::write(output, empty_account, |writer| {
        let mut reader = begin()?;
        Walk::new(&header, &points, &sockets, writer).file(&mut reader)
    })
}

/// The bytes of a file, which may be packed.
pub(crate) fn open(input: &Path) -> Result<BufReader<Box<dyn Read>>, Failure> {
    Ok(BufReader::with_capacity(1 << 16, packing::open(input)?))
}

fn begin(bytes: Box<dyn Read>, name: &Path) -> Result<Reader<Box<dyn Read>>, Failure> {
    Reader::open(bytes).map_err(|damage| match damage {
        Damage::Io(error) => unreadable(name, &error),
        Damage::Header(problem) | Damage::Record { problem, .. } => {
            let shown = name.display();
            Failure::usage(format!("{shown} is no recording that can be read: {problem}")).hint(HINT)
        }
    })
}

fn unreadable(name: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{} cannot be read: {error}", name.display()))
}

fn account_of(header: &Header, sockets: &Sockets) -> Account {
    let mut account = Account::new("tcp", "records");
    account.schema = Some(header.schema_version.to_string());
    account.producer = Some(format!("Linux {}", header.kernel));
    account.vantage.clone_from(&header.vantage);
    account.reference_unix_ns = i64::try_from(header.unix_ns).ok();
    account.clock = "monotonic";
    for lacking in &header.unavailable {
        account.warn(0, 0, format!("{} could not be recorded: {}", lacking.what, lacking.why));
    }
    for socket in sockets.all() {
        let (client, server) = client_first(header, &socket.ends);
        let (client, server) = (Some(client), Some(server));
        account.connections.push(account::Connection { client, server, ..account::Connection::default() });
    }
    account
}

fn client_first(header: &Header, ends: &Ends) -> (String, String) {
    let (client, server) = if at_server(header) { (ends.remote, ends.local) } else { (ends.local, ends.remote) };
    (client.to_string(), server.to_string())
}

fn at_server(header: &Header) -> bool {
    header.vantage == Vantage::Server.as_str()
}

struct Walk<'a> {
    header: &'a Header,
    points: &'a Points,
    sockets: &'a Sockets,
    connections: Vec<Connection>,
    /// Where the record begins.
    offset: u64,
    writer: &'a mut EventWriter,
}

impl<'a> Walk<'a> {
    fn new(header: &'a Header, points: &'a Points, sockets: &'a Sockets, writer: &'a mut EventWriter) -> Self {
        let has = Has {
            probes: points.has("tcp_probe"),
            states: points.has("tcp_cong_state_set"),
            retransmissions: points.has("tcp_retransmit_skb"),
            life: points.has("inet_sock_set_state"),
        };
        let vantage = if at_server(header) { Vantage::Server } else { Vantage::Client };
        let mut connections = Vec::new();
        for (number, socket) in sockets.all().iter().enumerate() {
            let (client, server) = client_first(header, &socket.ends);
            let flow = format!("tcp {client} {server}");
            connections.push(Connection::new(number as u32, vantage, &flow, socket.mss, has, writer));
        }
        Self { header, points, sockets, connections, offset: 0, writer }
    }

    fn file<R: Read>(&mut self, reader: &mut Reader<R>) -> Result<(), Halt> {
        let mut ended = false;
        loop {
            self.offset = reader.offset;
            match reader.next_record() {
                Ok(Some(Record::End { .. })) => {
                    ended = true;
                    self.writer.account.count_ignored("end");
                }
                Ok(Some(record)) => self.record(&record)?,
                Ok(None) => break,
                Err(Damage::Record { offset, problem }) => {
                    self.writer.account.skip("damaged record", 0, offset, format!("reading ends here: {problem}"));
                    break;
                }
                Err(Damage::Io(error)) => return Err(Failure::new(format!("the recording: {error}")).into()),
                Err(Damage::Header(problem)) => return Err(Failure::usage(problem).into()),
            }
        }
        for connection in &mut self.connections {
            connection.end(self.writer)?;
        }
        let account = &mut self.writer.account;
        account.bytes = reader.offset;
        account.truncated = !ended;
        if !ended {
            account.warn(0, reader.offset, "the recording was cut off: the recorder did not end by itself");
        }
        Ok(())
    }

    fn record(&mut self, record: &Record) -> Result<(), Halt> {
        match *record {
            Record::Event { time_ns, since_ns, raw } => self.event(time_ns, since_ns, raw),
            Record::Sample { time_ns, socket } => self.message(time_ns, socket, false),
            Record::Gone { time_ns, socket } => self.message(time_ns, socket, true),
            Record::Lost { time_ns, cpu, events } => {
                let at = self.since_reference(time_ns);
                let many = if events == 0 { "events".into() } else { format!("{events} events") };
                self.writer.account.count_read(at);
                self.writer.account.warn(0, 0, format!("{many} of CPU {cpu} were lost before {at} ns"));
                Ok(())
            }
            Record::End { .. } => Ok(()),
        }
    }

    fn skip(&mut self, reason: &str) {
        self.writer.account.skip(reason, 0, self.offset, format!("a record is skipped: {reason}"));
    }

    fn since_reference(&self, time_ns: u64) -> i64 {
        time_ns.wrapping_sub(self.header.monotonic_ns) as i64
    }

    fn message(&mut self, time_ns: u64, socket: &[u8], last: bool) -> Result<(), Halt> {
        let time_ns = self.since_reference(time_ns);
        let Some(message) = Message::parse(socket) else {
            self.skip("an answer of sock_diag that is none");
            return Ok(());
        };
        let Some(number) = self.sockets.with_cookie(message.cookie) else {
            self.skip("a socket that is not known");
            return Ok(());
        };
        self.writer.account.count_read(time_ns);
        let connection = &mut self.connections[number];
        if last {
            connection.gone(time_ns, &message, self.writer)
        } else {
            connection.sample(time_ns, &message, self.writer)
        }
    }

    fn event(&mut self, time_ns: u64, since_ns: u64, raw: &[u8]) -> Result<(), Halt> {
        let point = match self.points.read(raw) {
            Ok(point) => point,
            Err(name) => {
                self.skip(name);
                return Ok(());
            }
        };
        let Some(number) = self.sockets.owner(&point) else {
            // A listening socket has no other end; the machine's other connections with the port are not recorded.
            self.writer.account.count_ignored(match point {
                Point::Life { ends, .. } if ends.remote.port() == 0 => "listening socket",
                _ => "socket of another namespace",
            });
            return Ok(());
        };
        let since = (since_ns > 0).then(|| self.since_reference(since_ns));
        let time_ns = self.since_reference(time_ns);
        self.writer.account.count_read(time_ns);
        let (connection, writer) = (&mut self.connections[number], &mut *self.writer);
        match point {
            Point::Probe { snd_nxt, snd_una, cwnd, ssthresh, srtt_us, .. } => {
                let probe = Probe { time_ns, since_ns: since, snd_nxt, snd_una, cwnd, ssthresh, srtt_us };
                connection.probe(&probe, writer)
            }
            Point::Congestion { state, .. } => connection.congestion(time_ns, state, writer),
            Point::Retransmission { state, .. } => connection.retransmission(time_ns, state, writer),
            Point::Reset { .. } => connection.reset(time_ns, writer),
            Point::Life { old, new, .. } => connection.life(time_ns, old, new, writer),
        }
    }
}
