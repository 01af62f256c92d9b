//! Landlock: what the box may open, over and above its mounts, or instead of them where there are none.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, make_bitflags,
};

use crate::layers::Layers;

/// The newest version that this crate was written for; an older kernel is held to what it knows.
const NEWEST: ABI = ABI::V6;

/// The places of a box.
pub struct Places<'a> {
    /// What is seen of the host: read and executed, never written.
    pub read: Vec<PathBuf>,
    /// The device that takes and gives nothing.
    pub null: &'a Path,
    /// The exchange folder: files and folders, nothing else.
    pub exchange: &'a Path,
    /// The guest's memory, and the sockets of its kernel.
    pub memory: &'a Path,
}

/// Whether this kernel has Landlock.
pub fn exists() -> bool {
    Ruleset::default().handle_access(AccessFs::ReadFile).and_then(Ruleset::create).is_ok_and(|rules| {
        let descriptor: Option<std::os::fd::OwnedFd> = rules.into();
        descriptor.is_some()
    })
}

/// Keeps this process, and all that it starts, to the places: no TCP, no signals and no sockets beyond the box.
pub fn enclose(places: &Places, layers: &mut Layers) {
    match restrict(places) {
        Ok(text) => layers.set("landlock", text),
        Err(text) => layers.lack("landlock", text),
    }
}

fn restrict(places: &Places) -> Result<String, String> {
    let status = rules(places).and_then(RulesetCreated::restrict_self).map_err(|error| error.to_string())?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, LandlockStatus::NotEnabled) => Err("not enabled when this kernel started".into()),
        (RulesetStatus::NotEnforced, _) => Err("this kernel has none".into()),
        (_, LandlockStatus::Available { effective_abi, .. }) => {
            Ok(format!("version {} of its interface", effective_abi as i32))
        }
        (_, _) => Ok("in part".into()),
    }
}

fn rules(places: &Places) -> Result<RulesetCreated, RulesetError> {
    let files = make_bitflags!(AccessFs::{
        ReadFile | ReadDir | WriteFile | Truncate | MakeReg | MakeDir | RemoveFile | RemoveDir | Refer
    });
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    for path in &places.read {
        rules = allow(rules, path, AccessFs::from_read(NEWEST))?;
    }
    rules = allow(rules, places.null, make_bitflags!(AccessFs::{ReadFile | WriteFile | IoctlDev}))?;
    let sockets: BitFlags<AccessFs> = AccessFs::MakeSock.into();
    rules = allow(rules, places.exchange, files)?;
    allow(rules, places.memory, files | sockets)
}

/// Allows something beneath a path; a path that is missing, or that the caller may not open, has nothing to allow.
fn allow(rules: RulesetCreated, path: &Path, what: BitFlags<AccessFs>) -> Result<RulesetCreated, RulesetError> {
    let Ok(place) = PathFd::new(path) else { return Ok(rules) };
    let of_a_file = if path.is_dir() { what } else { what & AccessFs::from_file(NEWEST) };
    rules.add_rule(PathBeneath::new(place, of_a_file))
}
