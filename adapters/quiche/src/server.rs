//! All connections of one UDP socket.

use std::collections::HashMap;
use std::io::{ErrorKind, Result};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use longlook_adapter::failure::Failure;
use longlook_adapter::files::Folder;
use longlook_adapter::lines::{ConnectionLine, ReadyLine, emit};
use longlook_adapter::options::ServerOptions;
use longlook_adapter::socket::LARGEST_DATAGRAM;
use longlook_adapter::wait;

use crate::connection::{Connection, new_id};
use crate::serving::Responses;
use crate::{VERSION, settings};

/// Read at most so many before answering, so that acknowledgements are not late.
const DATAGRAMS_AT_ONCE: usize = 64;

struct Served {
    connection: Connection,
    responses: Responses,
    peer: SocketAddr,
}

struct Server {
    socket: UdpSocket,
    local: SocketAddr,
    config: quiche::Config,
    http: quiche::h3::Config,
    files: Folder,
    ids: HashMap<Vec<u8>, u64>,
    /// In the order of their arrival, which decides who sends first.
    connections: std::collections::BTreeMap<u64, Served>,
    accepted: u64,
}

/// Serve until SIGTERM or SIGINT.
pub fn run(mut options: ServerOptions) -> std::result::Result<(), Failure> {
    let mut config = settings::config(&options.protocol, true, std::mem::take(&mut options.knobs))?;
    let files = Folder::open(&options.www)?;
    let (certificate, key) = (&options.certificate, &options.key);
    config.load_cert_chain_from_pem_file(certificate).map_err(|error| Failure::of(certificate, error))?;
    config.load_priv_key_from_pem_file(key).map_err(|error| Failure::of(key, error))?;
    let stop = wait::Stop::caught().map_err(|error| Failure::of("signals", error))?;
    wait::be_punctual();
    let failed = |error| Failure::of(options.listen, error);
    let socket = UdpSocket::bind(options.listen).map_err(failed)?;
    socket.set_nonblocking(true).map_err(failed)?;
    let local = socket.local_addr().map_err(failed)?;
    let http = settings::http()?;
    emit(&ReadyLine::new("h3", local, VERSION));
    let (ids, connections) = Default::default();
    let mut server = Server { socket, local, config, http, files, ids, connections, accepted: 0 };
    server.serve(&stop).map_err(failed)?;
    for served in server.connections.values_mut() {
        served.connection.close(&server.socket); // a client that is not done has been given up on
    }
    Ok(())
}

impl Server {
    fn serve(&mut self, stop: &wait::Stop) -> Result<()> {
        let mut buffer = vec![0; LARGEST_DATAGRAM];
        while !stop.asked() {
            self.receive(&mut buffer)?;
            for served in self.connections.values_mut() {
                served.connection.tick();
                served.progress(self.local, &self.http, &self.files);
                served.connection.flush(&self.socket)?;
            }
            self.forget_closed();
            let until = self.connections.values().filter_map(|served| served.connection.next_time()).min();
            let blocked = self.connections.values().any(|served| served.connection.is_blocked());
            let sockets: [(&dyn AsRawFd, bool); 2] = [(&self.socket, blocked), (stop, false)];
            wait::ready(&sockets, until)?;
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<()> {
        for _ in 0..DATAGRAMS_AT_ONCE {
            match self.socket.recv_from(buffer) {
                Ok((length, from)) => self.dispatch(&mut buffer[..length], from)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {} // a client that is gone
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn dispatch(&mut self, packet: &mut [u8], from: SocketAddr) -> Result<()> {
        let Ok(header) = quiche::Header::from_slice(packet, quiche::MAX_CONN_ID_LEN.min(16)) else { return Ok(()) };
        let number = match self.ids.get(header.dcid.as_ref()) {
            Some(number) => *number,
            None if header.ty != quiche::Type::Initial => return Ok(()), // of a connection that is over
            None if !quiche::version_is_supported(header.version) => return self.offer_versions(&header, from),
            None => match self.accept(&header, from)? {
                Some(number) => number,
                None => return Ok(()),
            },
        };
        if let Some(served) = self.connections.get_mut(&number) {
            served.connection.receive(packet, from, self.local);
        }
        Ok(())
    }

    fn offer_versions(&self, header: &quiche::Header, to: SocketAddr) -> Result<()> {
        let mut answer = vec![0; LARGEST_DATAGRAM];
        if let Ok(length) = quiche::negotiate_version(&header.scid, &header.dcid, &mut answer) {
            self.socket.send_to(&answer[..length], to)?;
        }
        Ok(())
    }

    fn accept(&mut self, header: &quiche::Header, peer: SocketAddr) -> Result<Option<u64>> {
        let id = new_id()?;
        let own = quiche::ConnectionId::from_ref(&id);
        let quic = match quiche::accept(&own, None, self.local, peer, &mut self.config) {
            Ok(quic) => quic,
            Err(error) => {
                eprintln!("connection of {peer}: {error}");
                return Ok(None);
            }
        };
        let number = self.accepted;
        self.accepted += 1;
        let connection = Connection::new(quic, peer, "server");
        self.connections.insert(number, Served { connection, responses: Responses::default(), peer });
        self.ids.insert(header.dcid.to_vec(), number); // until the client has learned ours
        self.ids.insert(id, number);
        Ok(Some(number))
    }

    fn forget_closed(&mut self) {
        let before = self.connections.len();
        self.connections.retain(|_, served| !served.connection.quic.is_closed());
        if self.connections.len() < before {
            self.ids.retain(|_, number| self.connections.contains_key(number));
        }
    }
}

impl Served {
    fn progress(&mut self, local: SocketAddr, config: &quiche::h3::Config, files: &Folder) {
        if self.connection.just_established() {
            let mut line = ConnectionLine::now("h3", local, self.peer);
            line.resumed = self.connection.quic.is_resumed();
            line.used_0rtt = self.connection.used_early_data();
            line.gso = Some(false);
            emit(&line);
        }
        self.connection.begin_http(config);
        self.responses.progress(&mut self.connection, files);
    }
}
