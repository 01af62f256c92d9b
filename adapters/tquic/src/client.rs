//! tquic as the client loop of all adapters drives it: an endpoint for each connection.

use std::cell::RefCell;
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;
use std::time::Instant;

use longlook_adapter::client;
use longlook_adapter::failure::Failure;
use longlook_adapter::job::{Job, State};
use longlook_adapter::transport::{self, Connector, Established, SharedLoad, Transport};
use tquic::{Config, Connection, Endpoint, TlsConfig};

use crate::NO_ERROR;
use crate::fetching::{Fetching, Handler, why_closed};
use crate::paths::{self, Sockets};
use crate::settings::{self, Asked};
use crate::socket::Due;

/// Do a job.
pub fn run(mut job: Job) -> Result<(), Failure> {
    let (config, asked) = settings::config(&job.protocol, false, std::mem::take(&mut job.knobs))?;
    if asked.multipath && job.second_address.is_none() {
        return Err(Failure::Usage("job: several paths need a second_address".into()));
    }
    let mut configuration = Configuration { quic: config, asked, ca: job.ca.clone() };
    configuration.set_tls(false)?;
    client::run(&job, &mut configuration)
}

struct Configuration {
    quic: Config,
    asked: Asked,
    ca: String,
}

/// A connection with an endpoint and sockets of its own.
struct Fetcher {
    endpoint: Endpoint,
    index: u64,
    sockets: Rc<Sockets>,
    due: Due,
    fetching: Rc<RefCell<Fetching>>,
    ticket: Option<Vec<u8>>,
}

impl Configuration {
    fn set_tls(&mut self, early_data: bool) -> Result<(), Failure> {
        let failed = |error| Failure::of(&self.ca, error);
        let mut tls = TlsConfig::new_client_config(vec![b"h3".to_vec()], early_data).map_err(failed)?;
        tls.set_verify(true);
        tls.set_ca_certs(&self.ca).map_err(failed)?;
        self.quic.set_tls_config(tls);
        Ok(())
    }
}

impl Connector for Configuration {
    type Transport = Fetcher;

    fn enable_early_data(&mut self) -> Result<(), Failure> {
        self.set_tls(true)
    }

    fn open(
        &mut self,
        job: &Job,
        socket: transport::Socket,
        ticket: Option<&[u8]>,
        load: SharedLoad,
    ) -> Result<Self::Transport, String> {
        let primes = job.state != State::Cold && ticket.is_none();
        let second = job.second_address.filter(|_| self.asked.multipath && !primes);
        let sockets = Sockets::new(socket.udp, second).map_err(|error| error.to_string())?;
        let (local, also) = (sockets.first.local, sockets.second_local());
        let fetching = Rc::new(RefCell::new(Fetching::new(load, local, also.map(|from| (from, job.remote)))));
        let handler = Box::new(Handler(fetching.clone()));
        let mut endpoint = Endpoint::new(Box::new(self.quic.clone()), false, handler, sockets.clone());
        let index = endpoint.connect(local, job.remote, Some(&job.host), ticket, None, None);
        let index = index.map_err(|error| error.to_string())?;
        let due = Due::new(also.is_some());
        Ok(Fetcher { endpoint, index, sockets, due, fetching, ticket: None })
    }
}

impl Fetcher {
    /// None where tquic has forgotten the connection.
    fn quic(&mut self) -> Option<&mut Connection> {
        self.endpoint.conn_get_mut(self.index)
    }
}

impl Transport for Fetcher {
    const CALLS_BACK: bool = true;

    fn receive(&mut self, buffer: &mut [u8]) -> Result<(), Failure> {
        let received = self.sockets.receive(&mut self.endpoint, buffer);
        let received = received.map_err(|error| Failure::of(self.sockets.first.local, error))?;
        if received.any {
            self.fetching.borrow_mut().heard(received.error);
        }
        self.endpoint.on_timeout(Instant::now());
        Ok(())
    }

    fn send(&mut self) -> Result<(), Failure> {
        self.endpoint.process_connections().map_err(|error| Failure::of("sending", error))?;
        self.sockets.watch().map_err(|error| Failure::of("sockets", error))
    }

    fn established(&mut self) -> Option<Established> {
        self.fetching.borrow_mut().established.take()
    }

    fn open_request(&mut self, authority: &str, path: &str) -> Option<u64> {
        let quic = self.endpoint.conn_get_mut(self.index)?;
        self.fetching.borrow_mut().open_request(quic, authority, path)
    }

    fn take_answers(&mut self) {}

    /// Return the first one that came: tquic may have forgotten the connection when it is wanted.
    fn ticket(&mut self) -> Option<Vec<u8>> {
        if self.ticket.is_none() {
            self.ticket = self.quic().and_then(|quic| quic.session().map(<[u8]>::to_vec));
        }
        self.ticket.clone()
    }

    fn close_reason(&mut self) -> Option<String> {
        let mut fetching = self.fetching.borrow_mut();
        match self.endpoint.conn_get_mut(self.index) {
            Some(quic) if quic.is_closed() || quic.is_draining() || quic.local_error().is_some() => {
                Some(why_closed(quic, fetching.tls_failure.as_deref()))
            }
            Some(_) => None,
            None => Some(fetching.ended.take().unwrap_or_else(|| "the connection ended".into())),
        }
    }

    fn close(&mut self) {
        if let Some(quic) = self.endpoint.conn_get_mut(self.index) {
            paths::report(quic, &self.fetching.borrow().began_ns);
            let _ = quic.close(true, NO_ERROR, b""); // an error: closed already
        }
    }

    fn next_time(&self) -> Option<Instant> {
        self.due.next_time(&self.endpoint)
    }

    fn is_blocked(&self) -> bool {
        self.sockets.is_blocked()
    }
}

impl AsRawFd for Fetcher {
    fn as_raw_fd(&self) -> RawFd {
        self.sockets.as_raw_fd()
    }
}
