//! The objects that one connection of a client fetches: phase after phase, the paths of a phase at once.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use crate::clock::now_ns;
use crate::job::Job;
use crate::objects::Object;

/// The objects of a connection, from queue to digest.
pub struct Load {
    site: String,
    local: SocketAddr,
    /// The connection is only to obtain a ticket: nothing is printed.
    primes: bool,
    phases: VecDeque<Vec<String>>,
    queued: VecDeque<Object>,
    running: BTreeMap<u64, Object>,
    failure: Option<String>,
}

impl Load {
    /// Begin the first phase at `t_start_ns`, over the connection from `local`.
    pub fn new(job: &Job, phases: Vec<Vec<String>>, local: SocketAddr, primes: bool, t_start_ns: u64) -> Self {
        let (queued, running) = Default::default();
        let mut load = Self { site: job.site(), local, primes, phases: phases.into(), queued, running, failure: None };
        load.begin_phase(t_start_ns);
        load
    }

    /// Return the value of `:authority`.
    pub fn authority(&self) -> &str {
        self.site.trim_start_matches("https://")
    }

    /// Return the path to request next; None where all of the phase are requested.
    pub fn next_path(&self) -> Option<&str> {
        self.queued.front().map(Object::path)
    }

    /// Note that the next path was requested on `stream`.
    pub fn asked(&mut self, stream: u64) {
        if let Some(object) = self.queued.pop_front() {
            self.running.insert(stream, object);
        }
    }

    /// Return the object that `stream` carries.
    pub fn on(&mut self, stream: u64) -> Option<&mut Object> {
        self.running.get_mut(&stream)
    }

    /// Note that the answer on `stream` is complete, now.
    pub fn finished(&mut self, stream: u64) {
        let Some(object) = self.running.remove(&stream) else { return };
        if !self.primes && !object.complete() {
            self.failure = Some("an object did not arrive".into());
        }
    }

    /// Note that the server gave up the answer on `stream`.
    pub fn reset(&mut self, stream: u64, code: u64) {
        let Some(object) = self.running.remove(&stream) else { return };
        let reason = format!("the server reset the stream, code {code:#x}");
        if !self.primes {
            object.fail(&reason);
        }
        self.failure = Some(reason);
    }

    /// Return whether all objects of the phases that were begun are here.
    pub fn is_idle(&self) -> bool {
        self.queued.is_empty() && self.running.is_empty()
    }

    /// Begin the next phase. Return false where there is none.
    pub fn begin_phase(&mut self, t_start_ns: u64) -> bool {
        let Some(paths) = self.phases.pop_front() else { return false };
        self.queued.extend(paths.iter().map(|path| Object::new(&self.site, path, Some(self.local), t_start_ns)));
        true
    }

    /// Fail all objects that have not arrived.
    pub fn give_up(&mut self, reason: &str) {
        self.failure = Some(reason.into());
        while {
            let left = std::mem::take(&mut self.running).into_values().chain(std::mem::take(&mut self.queued));
            for object in left {
                if !self.primes {
                    object.fail(reason);
                }
            }
            self.begin_phase(now_ns())
        } {}
    }

    /// Return why an object did not arrive; None where none has failed.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = r#"{"protocol": "h3", "connection": "cold", "address": "10.8.0.2", "port": 443, "timeout_s": 1,
        "phases": [["/a"]], "identity": {"host": "www.example.test", "ca": "ca.pem"}}"#;

    fn load(phases: &[&[&str]]) -> Load {
        let phases = phases.iter().map(|paths| paths.iter().map(|path| (*path).into()).collect()).collect();
        let path = std::env::temp_dir().join(format!(
            "longlook-load-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::write(&path, JOB).unwrap();
        let job = Job::read(path.to_str().unwrap()).unwrap();
        std::fs::remove_file(path).unwrap();
        Load::new(&job, phases, ([10, 8, 0, 1], 4000).into(), true, now_ns())
    }

    #[test]
    fn phase_after_phase() {
        let mut load = load(&[&["/a", "/b"], &["/c"]]);
        assert_eq!((load.authority(), load.next_path()), ("www.example.test", Some("/a")));
        load.asked(0);
        load.asked(4);
        assert!(load.next_path().is_none() && !load.is_idle());
        load.finished(4);
        assert!(load.on(0).is_some() && load.on(4).is_none());
        load.finished(0);
        assert!(load.is_idle() && load.begin_phase(now_ns()));
        assert_eq!(load.next_path(), Some("/c"));
        load.reset(8, 0x102); // of nobody
        assert!(load.failure().is_none());
        load.give_up("too late");
        assert!(load.is_idle() && !load.begin_phase(now_ns()));
        assert_eq!(load.failure(), Some("too late"));
    }
}
