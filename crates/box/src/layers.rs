//! The layers of a box: which there are, and which this machine refuses.

use serde_json::{Map, Value, json};

/// The ways to make a box, the best first. Each is tried if the one before it is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plan {
    /// Namespaces made by the machine's root, and a user that has no other process.
    Root,
    /// Namespaces within a user namespace: outside of it the box's user is the caller.
    UserNamespace,
    /// No namespaces.
    Bare,
}

impl Plan {
    /// All plans, in the order in which they are tried.
    pub const ALL: [Self; 3] = [Self::Root, Self::UserNamespace, Self::Bare];

    /// The namespaces of the box, as flags of clone(2).
    #[must_use]
    pub fn namespaces(self) -> libc::c_int {
        let all = libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWNET
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS
            | libc::CLONE_NEWCGROUP;
        match self {
            Self::Root => all,
            Self::UserNamespace => all | libc::CLONE_NEWUSER,
            Self::Bare => 0,
        }
    }
}

/// Why a plan cannot be carried out.
#[derive(Debug)]
pub struct Refused(pub String);

impl Refused {
    /// The step that the kernel refused.
    pub fn new(step: &str, error: impl std::fmt::Display) -> Self {
        Self(format!("{step}: {error}"))
    }
}

/// What the box has, and what it lacks with the reason, in the order in which it was found.
#[derive(Default)]
pub struct Layers {
    has: Map<String, Value>,
    lacks: Map<String, Value>,
}

impl Layers {
    /// A layer is there; `detail` says which or how much of it.
    pub fn set(&mut self, layer: &str, detail: impl Into<String>) {
        self.has.insert(layer.to_string(), Value::String(detail.into()));
    }

    /// A layer is not there.
    pub fn lack(&mut self, layer: &str, reason: impl Into<String>) {
        self.lacks.insert(layer.to_string(), Value::String(reason.into()));
    }

    /// Whether a layer is there.
    #[must_use]
    pub fn has(&self, layer: &str) -> bool {
        self.has.contains_key(layer)
    }

    /// The report on them.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({"layers": self.has, "missing": self.lacks})
    }
}
