//! What all connections of a client have in common.

use std::time::Duration;

use longlook_adapter::job::Job;
use tokio::time::{Instant, timeout_at};

use crate::settings::Settings;
use crate::tls::ClientSide;

/// How long a connection may take to send its CONNECTION_CLOSE or the like.
pub const CLOSE_LIMIT: Duration = Duration::from_millis(200);

/// What all connections of a job share.
pub struct Shared {
    /// The job.
    pub job: Job,
    /// Its knobs, applied.
    pub settings: Settings,
    /// Trust and tickets.
    pub tls: ClientSide,
    /// When the job's time is over.
    pub deadline: Instant,
}

/// What a connection is opened for.
#[derive(Clone, Copy)]
pub struct Opening {
    /// It is only to obtain a ticket.
    pub primes: bool,
    /// Its first requests are early data, where the ticket allows that.
    pub early: bool,
    /// When it was asked for, nanoseconds since 1970.
    pub t_start_ns: u64,
}

impl Shared {
    /// Return the result of `work`, or a failure when the job's time is over before.
    pub async fn in_time<T>(&self, work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
        timeout_at(self.deadline, work).await.unwrap_or_else(|_| Err(self.job.too_late()))
    }
}
