//! One object's way from request to digest.

use std::fmt::Write;
use std::net::SocketAddr;

use sha2::{Digest, Sha256};

use crate::clock::now_ns;
use crate::job::Job;
use crate::lines::{ObjectLine, emit};

/// An object being fetched.
pub struct Object {
    line: ObjectLine,
    digest: Sha256,
}

impl Object {
    /// `path` of `site` ("https://host"), asked for at `t_start_ns` over the connection from `local`, if there is one.
    pub fn new(site: &str, path: &str, local: Option<SocketAddr>, t_start_ns: u64) -> Self {
        let line = ObjectLine {
            event: "object",
            url: format!("{site}{path}"),
            path: path.into(),
            local,
            protocol: None,
            status: None,
            t_start_ns,
            t_first_byte_ns: None,
            t_end_ns: None,
            bytes: 0,
            digest: None,
            error: None,
        };
        Self { line, digest: Sha256::new() }
    }

    /// The requested path.
    pub fn path(&self) -> &str {
        &self.line.path
    }

    /// The answer's headers are here, now.
    pub fn headers(&mut self, protocol: &str, status: u16) {
        self.line.protocol = Some(protocol.into());
        self.line.status = Some(status);
        self.line.t_first_byte_ns = Some(now_ns());
    }

    /// Some of the body is here.
    pub fn body(&mut self, part: &[u8]) {
        self.line.bytes += part.len() as u64;
        self.digest.update(part);
    }

    /// The body is complete, now. Prints the line; false where the answer was no success.
    pub fn complete(mut self) -> bool {
        self.line.t_end_ns = Some(now_ns());
        let mut text = String::from("sha256:");
        for byte in self.digest.finalize() {
            write!(text, "{byte:02x}").expect("writing to a string works");
        }
        self.line.digest = Some(text);
        self.line.error = match self.line.status {
            Some(200) => None,
            Some(other) => Some(format!("HTTP status {other}")),
            None => Some("the answer ended before its headers".into()),
        };
        emit(&self.line);
        self.line.error.is_none()
    }

    /// The object will not arrive. Prints the line.
    pub fn fail(mut self, reason: impl Into<String>) {
        self.line.error = Some(reason.into());
        emit(&self.line);
    }
}

/// Print a failed object for every path of every connection of a job: none could be opened.
pub fn fail_connections(job: &Job, reason: &str) {
    for _ in 0..job.connections {
        fail_all(&job.site(), &job.phases, now_ns(), reason);
    }
}

/// Print a failed object for every path: nothing could be asked for.
pub fn fail_all(site: &str, phases: &[Vec<String>], t_start_ns: u64, reason: &str) {
    for path in phases.iter().flatten() {
        Object::new(site, path, None, t_start_ns).fail(reason);
    }
}
