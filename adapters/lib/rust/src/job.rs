//! The job of a client.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::knobs::Knobs;

const MOST_CONNECTIONS: usize = 64;

/// The path that is fetched to obtain a ticket.
pub const PRIME_PATH: &str = "/prime";

/// How a connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Without any state.
    Cold,
    /// TLS resumed, no early data.
    Resumed,
    /// TLS resumed, and the first requests sent as early data.
    ZeroRtt,
}

/// A job file, checked.
#[derive(Debug)]
pub struct Job {
    /// `h3` or `h2`; the adapter decides which it speaks.
    pub protocol: String,
    /// How the measured connections begin.
    pub state: State,
    /// The server.
    pub remote: SocketAddr,
    /// Paths to request, those of a phase at once, phase after phase.
    pub phases: Vec<Vec<String>>,
    /// The name that the certificate is verified for.
    pub host: String,
    /// PEM file of the authority.
    pub ca: String,
    /// Settings by name.
    pub knobs: Knobs,
    /// The time for priming and load together.
    pub timeout: Duration,
    /// Opened at the same moment, each fetching all phases.
    pub connections: usize,
    /// The client's second address, from which it may continue; None where it has one only.
    pub second_address: Option<IpAddr>,
}

#[derive(Deserialize)]
struct Text {
    protocol: String,
    connection: String,
    address: IpAddr,
    port: u16,
    phases: Vec<Vec<String>>,
    identity: Identity,
    #[serde(default)]
    knobs: BTreeMap<String, Value>,
    timeout_s: f64,
    #[serde(default = "one")]
    connections: usize,
    second_address: Option<IpAddr>,
}

#[derive(Deserialize)]
struct Identity {
    host: String,
    ca: String,
}

fn one() -> usize {
    1
}

impl Job {
    /// Read a job file.
    pub fn read(path: &str) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| usage(format!("{path}: {error}")))?;
        Self::parse(&text)
    }

    /// Return "https://host", with the port if it is not the scheme's own, as browsers do.
    pub fn site(&self) -> String {
        match self.remote.port() {
            443 => format!("https://{}", self.host),
            port => format!("https://{}:{port}", self.host),
        }
    }

    /// Return the error of an object that did not arrive in time.
    pub fn too_late(&self) -> String {
        format!("not done within {} s", self.timeout.as_secs_f64())
    }

    fn parse(text: &str) -> Result<Self, Failure> {
        let text: Text = serde_json::from_str(text).map_err(|error| usage(error.to_string()))?;
        let state = match text.connection.as_str() {
            "cold" => State::Cold,
            "resumed" => State::Resumed,
            "0rtt" => State::ZeroRtt,
            other => return Err(Failure::Unsupported(format!("connection state {other:?}"))),
        };
        if text.port == 0 || text.identity.host.is_empty() {
            return Err(usage("port and identity.host must be given".into()));
        }
        let timeout = Duration::try_from_secs_f64(text.timeout_s).ok().filter(|limit| !limit.is_zero());
        let timeout = timeout.ok_or_else(|| usage(format!("timeout_s is {}: give a positive time", text.timeout_s)))?;
        if !(1..=MOST_CONNECTIONS).contains(&text.connections) {
            return Err(usage(format!("connections is {}: give 1 to {MOST_CONNECTIONS}", text.connections)));
        }
        if text.phases.is_empty() || text.phases.iter().any(Vec::is_empty) {
            return Err(usage("no phases, or a phase without paths".into()));
        }
        if let Some(path) = text.phases.iter().flatten().find(|path| !path.starts_with('/')) {
            return Err(usage(format!("path {path:?} does not begin with /")));
        }
        Ok(Self {
            protocol: text.protocol,
            state,
            remote: SocketAddr::new(text.address, text.port),
            phases: text.phases,
            host: text.identity.host,
            ca: text.identity.ca,
            knobs: Knobs::new(knob_texts(text.knobs)?),
            timeout,
            connections: text.connections,
            second_address: text.second_address,
        })
    }
}

/// Return the knobs as the texts that the command line would have.
fn knob_texts(values: BTreeMap<String, Value>) -> Result<BTreeMap<String, String>, Failure> {
    let as_text = |(name, value)| match value {
        Value::String(text) => Ok((name, text)),
        Value::Bool(_) | Value::Number(_) => Ok((name, value.to_string())),
        _ => Err(usage(format!("knob {name:?} is neither text, number nor truth value"))),
    };
    values.into_iter().map(as_text).collect()
}

fn usage(reason: String) -> Failure {
    Failure::Usage(format!("job: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with(key: &str, value: Value) -> Result<Job, Failure> {
        let mut job = json!({
            "protocol": "h3", "connection": "resumed", "address": "10.8.0.2", "port": 443, "timeout_s": 2.5,
            "phases": [["/a"], ["/b", "/c"]], "identity": {"host": "www.example.test", "ca": "ca.pem"},
            "knobs": {"gso": true, "initial_window": 10}
        });
        job[key] = value;
        Job::parse(&job.to_string())
    }

    #[test]
    fn complete_job() {
        let mut job = with("connections", json!(3)).unwrap();
        assert_eq!((job.state, job.connections, job.timeout), (State::Resumed, 3, Duration::from_millis(2500)));
        assert_eq!(job.site(), "https://www.example.test");
        assert_eq!(job.knobs.flag("gso").unwrap(), Some(true));
        assert_eq!(job.knobs.count("initial_window", 1..=100).unwrap(), Some(10));
    }

    #[test]
    fn mistakes_have_exit_codes() {
        assert_eq!(with("connection", json!("warm")).unwrap_err().exit_code(), 127);
        for (key, value) in [
            ("address", json!("here")),
            ("port", json!(0)),
            ("timeout_s", json!(-1)),
            ("connections", json!(65)),
            ("phases", json!([[]])),
            ("phases", json!([["a"]])),
            ("knobs", json!({"gso": []})),
        ] {
            assert_eq!(with(key, value).unwrap_err().exit_code(), 2, "{key}");
        }
    }
}
