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
    /// Begin to fetch `path` of `site` ("https://host"), requested at `t_start_ns` over the connection from `local`.
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

    /// Return the requested path.
    pub fn path(&self) -> &str {
        &self.line.path
    }

    /// Note that the answer's headers are here, now.
    pub fn headers(&mut self, protocol: &str, status: u16) {
        self.line.protocol = Some(protocol.into());
        self.line.status = Some(status);
        self.line.t_first_byte_ns = Some(now_ns());
    }

    /// Take in a part of the body.
    pub fn body(&mut self, part: &[u8]) {
        self.line.bytes += part.len() as u64;
        self.digest.update(part);
    }

    /// Print the line of an object whose body is complete, now. Return false if its status is not 200.
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

    /// Print the line of an object that will not arrive.
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

/// Print a failed object for every path: none could be requested.
pub fn fail_all(site: &str, phases: &[Vec<String>], t_start_ns: u64, reason: &str) {
    for path in phases.iter().flatten() {
        Object::new(site, path, None, t_start_ns).fail(reason);
    }
}
