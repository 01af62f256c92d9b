//! A job: priming where a ticket is wanted, then all connections at once, each for itself.

use std::cell::RefCell;
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::time::Instant;

use longlook_adapter::clock::now_ns;
use longlook_adapter::failure::Failure;
use longlook_adapter::job::{Job, PRIME_PATH, State};
use longlook_adapter::load::Load;
use longlook_adapter::objects::fail_all;
use longlook_adapter::{socket, wait};
use tquic::{Config, Endpoint, TlsConfig};

use crate::fetching::{Fetching, Handler};
use crate::sending::{LARGEST_DATAGRAM, Socket, next_time};
use crate::settings;

/// A connection with an endpoint and a socket of its own.
struct Flow {
    endpoint: Endpoint,
    index: u64,
    socket: Rc<Socket>,
    fetching: Rc<RefCell<Fetching>>,
}

/// Do a job; its failure says only that something did not arrive, the lines say what.
pub fn run(mut job: Job) -> Result<(), Failure> {
    let (mut config, _) = settings::config(&job.protocol, false, std::mem::take(&mut job.knobs))?;
    config.set_tls_config(trust(&job.ca, false)?);
    wait::be_punctual();
    let deadline = Instant::now() + job.timeout;
    let mut ticket = None;
    if job.state != State::Cold {
        match prime(&job, &config, deadline) {
            Ok(earned) => ticket = Some(earned),
            Err(reason) => {
                let reason = format!("priming connection: {reason}");
                for _ in 0..job.connections {
                    fail_all(&job.site(), &job.phases, now_ns(), &reason);
                }
                return Err(Failure::Reported);
            }
        }
    }
    if job.state == State::ZeroRtt {
        config.set_tls_config(trust(&job.ca, true)?);
    }
    let mut complete = true;
    let mut all = Vec::new();
    for _ in 0..job.connections {
        let t_start_ns = now_ns();
        match Flow::open(&job, job.phases.clone(), false, ticket.as_deref(), &config) {
            Ok(flow) => all.push(flow),
            Err(reason) => {
                fail_all(&job.site(), &job.phases, t_start_ns, &reason);
                complete = false;
            }
        }
    }
    drive(&mut all, deadline, &job.too_late())?;
    complete &= all.iter().all(|flow| flow.fetching.borrow().load.failure().is_none());
    if complete { Ok(()) } else { Err(Failure::Reported) }
}

fn trust(ca: &str, early_data: bool) -> Result<TlsConfig, Failure> {
    let failed = |error| Failure::of(ca, error);
    let mut tls = TlsConfig::new_client_config(vec![b"h3".to_vec()], early_data).map_err(failed)?;
    tls.set_verify(true);
    tls.set_ca_certs(ca).map_err(failed)?;
    Ok(tls)
}

/// Earn a ticket on a connection of its own, and close it properly.
fn prime(job: &Job, config: &Config, deadline: Instant) -> Result<Vec<u8>, String> {
    let mut one = [Flow::open(job, vec![vec![PRIME_PATH.into()]], true, None, config)?];
    drive(&mut one, deadline, &job.too_late()).map_err(|failure| format!("{failure:?}"))?;
    one[0].fetching.borrow_mut().ticket()
}

impl Flow {
    /// Nothing is sent yet.
    fn open(
        job: &Job,
        phases: Vec<Vec<String>>,
        primes: bool,
        ticket: Option<&[u8]>,
        config: &Config,
    ) -> Result<Self, String> {
        let t_start_ns = now_ns();
        let socket = socket::towards(job.remote).and_then(Socket::new).map_err(|error| error.to_string())?;
        let load = Load::new(job, phases, socket.local, primes, t_start_ns);
        let fetching = Fetching::new(load, (socket.local, job.remote), primes, t_start_ns);
        let fetching = Rc::new(RefCell::new(fetching));
        let handler = Box::new(Handler(fetching.clone()));
        let mut endpoint = Endpoint::new(Box::new(config.clone()), false, handler, socket.clone());
        let index = endpoint.connect(socket.local, job.remote, Some(&job.host), ticket, None, None);
        let index = index.map_err(|error| error.to_string())?;
        Ok(Self { endpoint, index, socket, fetching })
    }

    fn is_done(&self) -> bool {
        self.fetching.borrow().is_done()
    }

    /// Requests come before packets: with early data they leave with the first.
    fn step(&mut self, buffer: &mut [u8], deadline: Instant, too_late: &str) -> Result<(), Failure> {
        let (address, sent) = (self.socket.local, |error| Failure::of("sending", error));
        let received = self.socket.receive(&mut self.endpoint, buffer, usize::MAX);
        let received = received.map_err(|error| Failure::of(address, error))?;
        if received.any {
            self.fetching.borrow_mut().heard(received.error);
        }
        self.endpoint.on_timeout(Instant::now());
        self.fetching.borrow_mut().progress(self.endpoint.conn_get_mut(self.index));
        self.endpoint.process_connections().map_err(sent)?;
        self.fetching.borrow_mut().progress(self.endpoint.conn_get_mut(self.index));
        if Instant::now() >= deadline {
            self.fetching.borrow_mut().give_up(self.endpoint.conn_get_mut(self.index), too_late);
        }
        self.endpoint.process_connections().map_err(sent)
    }
}

/// Until all are done, or it is too late.
fn drive(all: &mut [Flow], deadline: Instant, too_late: &str) -> Result<(), Failure> {
    let mut buffer = vec![0; LARGEST_DATAGRAM];
    loop {
        for flow in all.iter_mut().filter(|flow| !flow.is_done()) {
            flow.step(&mut buffer, deadline, too_late)?;
        }
        let open: Vec<&Flow> = all.iter().filter(|flow| !flow.is_done()).collect();
        if open.is_empty() {
            return Ok(());
        }
        let until = open.iter().filter_map(|flow| next_time(&flow.endpoint)).min();
        let sockets: Vec<(&dyn AsRawFd, bool)> =
            open.iter().map(|flow| (&*flow.socket as &dyn AsRawFd, flow.socket.is_blocked())).collect();
        let waited = wait::ready(&sockets, Some(until.map_or(deadline, |due| due.min(deadline))));
        waited.map_err(|error| Failure::of("UDP sockets", error))?;
    }
}
