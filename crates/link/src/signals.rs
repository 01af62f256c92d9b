//! Signals as a descriptor in the epoll set.

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// The request of a signal, the weaker first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Request {
    /// SIGUSR1: stop when nothing is inside and nothing has arrived for `linger_ns`.
    StopWhenSilent,
    /// SIGTERM or SIGINT: stop now.
    Stop,
}

/// Blocks the signals for this thread and those it will start, and opens the descriptor that reports them.
pub fn open() -> nix::Result<SignalFd> {
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGTERM);
    mask.add(Signal::SIGINT);
    mask.add(Signal::SIGUSR1);
    mask.thread_block()?;
    SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
}

/// The strongest request among the signals that wait.
pub fn read(signals: &SignalFd) -> nix::Result<Option<Request>> {
    let mut request = None;
    loop {
        match signals.read_signal() {
            Ok(Some(signal)) if signal.ssi_signo == Signal::SIGUSR1 as u32 => {
                request = request.or(Some(Request::StopWhenSilent));
            }
            Ok(Some(_)) => request = Some(Request::Stop),
            Ok(None) | Err(Errno::EAGAIN) => return Ok(request),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}
