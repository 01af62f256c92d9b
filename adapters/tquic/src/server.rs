//! All connections of one UDP socket.

use std::cell::RefCell;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::time::Instant;

use longlook_adapter::failure::Failure;
use longlook_adapter::files::Folder;
use longlook_adapter::lines::{ReadyLine, emit};
use longlook_adapter::options::ServerOptions;
use longlook_adapter::socket::LARGEST_DATAGRAM;
use longlook_adapter::wait;
use tquic::{Endpoint, TlsConfig};

use crate::serving::{Handler, Serving};
use crate::socket::{Due, Socket};
use crate::{NO_ERROR, VERSION, settings};

/// Read at most so many before answering, so that acknowledgements are not late.
const DATAGRAMS_AT_ONCE: usize = 64;

/// Serve until SIGTERM or SIGINT.
pub fn run(mut options: ServerOptions) -> Result<(), Failure> {
    let knobs = std::mem::take(&mut options.knobs);
    let (mut config, asked) = settings::config(&options.protocol, true, knobs)?;
    let files = Folder::open(&options.www)?;
    let (certificate, key) = (&options.certificate, &options.key);
    let tls = TlsConfig::new_server_config(certificate, key, vec![b"h3".to_vec()], asked.early_data);
    config.set_tls_config(tls.map_err(|error| Failure::of(certificate, error))?);
    let stop = wait::Stop::caught().map_err(|error| Failure::of("signals", error))?;
    wait::be_punctual();
    let failed = |error| Failure::of(options.listen, error);
    let socket = UdpSocket::bind(options.listen).and_then(Socket::new).map_err(failed)?;
    let serving = Rc::new(RefCell::new(Serving::new(socket.local, files)?));
    let handler = Box::new(Handler(serving.clone()));
    let mut endpoint = Endpoint::new(Box::new(config), true, handler, socket.clone());
    emit(&ReadyLine::new("h3", socket.local, VERSION));
    let due = Due::new(asked.multipath);
    let mut buffer = vec![0; LARGEST_DATAGRAM];
    let sent = |error| Failure::of("sending", error);
    while !stop.asked() {
        socket.receive(&mut endpoint, &mut buffer, DATAGRAMS_AT_ONCE).map_err(failed)?;
        endpoint.on_timeout(Instant::now());
        endpoint.process_connections().map_err(sent)?;
        let sockets: [(&dyn AsRawFd, bool); 2] = [(&*socket, socket.is_blocked()), (&stop, false)];
        wait::ready(&sockets, due.next_time(&endpoint)).map_err(failed)?;
    }
    let open: Vec<u64> = serving.borrow().open();
    for index in open {
        if let Some(connection) = endpoint.conn_get_mut(index) {
            let _ = connection.close(true, NO_ERROR, b""); // an error: closed already
        }
    }
    endpoint.process_connections().map_err(sent) // a client that is not done has been given up on
}
