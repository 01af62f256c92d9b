//! The impairments, one file each. To add one: write the file, name it in the two lists below; a test checks both.

mod access;
mod delay;
mod jitter;
mod loss;
mod rate;

use crate::parameters::{ParameterSpec, Values};
use crate::stream::Stream;

/// Every stage, in alphabetical order.
pub const ALL: &[&StageSpec] = &[&access::SPEC, &delay::SPEC, &jitter::SPEC, &loss::SPEC, &rate::SPEC];

/// What a stage is: its name, its law in one line, its parameters, and how to make one.
pub struct StageSpec {
    /// The name in the configuration.
    pub kind: &'static str,
    /// What it does to a packet.
    pub law: &'static str,
    /// Its parameters, all of them required.
    pub parameters: &'static [ParameterSpec],
    /// What a packet that it drops is counted under (`dropped_REASON`), if it drops any.
    pub drop_reason: Option<&'static str>,
    /// Makes the stage; `values` have been checked against `parameters`.
    pub build: fn(values: &Values, stream: Stream) -> Box<dyn Stage>,
}

/// A packet on its way through the stages of one direction.
#[derive(Debug, Clone)]
pub struct Transit {
    /// When it reaches the stage.
    pub at_ns: u64,
    /// The earliest time that a jitter stage may make of `at_ns`: when the packet reached the delay before it.
    pub floor_ns: u64,
    /// Size of the IP packet.
    pub size_bytes: u32,
    /// Whether an earlier stage has dropped it. It is still shown to the later ones, so that the k-th draw of a
    /// stage always belongs to the k-th packet of the direction.
    pub dropped: bool,
    /// The queue that it met, once it has met one.
    pub queue: Option<Queue>,
}

/// A rate stage's queue as a packet found it, without that packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Queue {
    /// Bytes of IP packets, the one in transmission included.
    pub bytes: u64,
    /// Packets, the one in transmission included.
    pub packets: u32,
    /// Whether the packet joined it.
    pub joined: bool,
}

/// What a stage does to the order of the packets it passes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Out as they came in.
    Keeps,
    /// Possibly in another order.
    Breaks,
    /// In the order in which they arrived at the link, whatever an earlier stage did.
    Restores,
}

/// One impairment of one direction.
pub trait Stage: Send {
    /// Moves `packet.at_ns` to when the packet leaves the stage; false means that the stage drops it.
    ///
    /// It is called for every packet in the order of arrival at the link, dropped ones included: a stage that draws
    /// random numbers draws the same count for each.
    fn pass(&mut self, packet: &mut Transit) -> bool;

    /// What it does to the order of packets.
    fn order(&self) -> Order {
        Order::Keeps
    }

    /// Whether its law holds only for packets that reach it in order.
    fn needs_order(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::ALL;
    use crate::stream::MAX_KIND_BYTES;

    #[test]
    fn every_file_of_the_folder_is_registered_under_its_name() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/stages");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .expect("the sources are there")
            .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned()))
            .filter(|stem| stem != "mod")
            .collect();
        let kinds: BTreeSet<String> = ALL.iter().map(|spec| spec.kind.to_owned()).collect();
        assert_eq!(files, kinds);
        assert_eq!(kinds.len(), ALL.len(), "two stages of one name");
        assert!(kinds.iter().all(|kind| kind.len() <= MAX_KIND_BYTES));
    }
}
