//! The stages, one file each. To add one, write the file and name it in both lists below; a test checks them.

mod access;
mod block;
mod burst_loss;
mod codel;
mod corrupt;
mod cutoff;
mod delay;
mod dualpi2;
mod duplicate;
mod ecn_remark;
mod fq_codel;
mod gilbert_elliott;
mod jitter;
mod loss;
mod loss_index;
mod loss_trace;
mod mtu;
mod nat;
pub(crate) mod nat_timeout;
mod police;
mod rate;
mod red;
mod reorder;
mod size_filter;
mod step;
mod surgery;

use crate::stage::StageSpec;

/// Every stage, in alphabetical order.
pub const ALL: &[&StageSpec] = &[
    &access::SPEC,
    &block::SPEC,
    &burst_loss::SPEC,
    &codel::SPEC,
    &corrupt::SPEC,
    &cutoff::SPEC,
    &delay::SPEC,
    &dualpi2::SPEC,
    &duplicate::SPEC,
    &ecn_remark::SPEC,
    &fq_codel::SPEC,
    &gilbert_elliott::SPEC,
    &jitter::SPEC,
    &loss::SPEC,
    &loss_index::SPEC,
    &loss_trace::SPEC,
    &mtu::SPEC,
    &nat::SPEC,
    &nat_timeout::SPEC,
    &police::SPEC,
    &rate::SPEC,
    &red::SPEC,
    &reorder::SPEC,
    &size_filter::SPEC,
    &step::SPEC,
    &surgery::SPEC,
];

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
        assert!(ALL.windows(2).all(|pair| pair[0].kind < pair[1].kind), "in alphabetical order");
        assert!(kinds.iter().all(|kind| kind.len() <= MAX_KIND_BYTES));
    }
}
