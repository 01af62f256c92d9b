//! Events that happen a few times in a connection: its milestones, parameters and limits.

use std::net::IpAddr;

use serde_json::{Map, Value};

use crate::event::{Kind, Space};
use crate::json::Bad;
use crate::qlog::header::number;
use crate::qlog::names::What;
use crate::qlog::record::Record;
use crate::qlog::{Qlog, Refusal};
use crate::rows::{At, Blocked};
use crate::writer::EventWriter;

type Members = Map<String, Value>;

impl Qlog {
    pub(super) fn rare(
        &mut self,
        at: At,
        what: What,
        record: &Record,
        writer: &mut EventWriter,
    ) -> Result<(), Refusal> {
        let data: Members = serde_json::from_slice(record.data).map_err(|_| Bad::Shape)?;
        let text = |key: &str| data.get(key).and_then(Value::as_str);
        match what {
            What::Parameters => self.parameters(at, None, data, writer),
            What::RecoveryParameters => self.parameters(at, Some("recovery"), data, writer),
            What::ConnectionStarted => self.started(at, &data, writer),
            What::ConnectionRetried => Ok(self.rows.milestone_once(at, "retry", None, writer)?),
            What::ConnectionState => {
                let new = text("new").ok_or(Refusal::Skip("a connection state without a name"))?;
                self.connection_state(at, new, writer)
            }
            What::ConnectionClosed => self.closed(at, &data, record, writer),
            What::KeyUpdated => self.key_updated(at, &data, record, writer),
            What::KeyDiscarded => self.key_discarded(at, &data, writer),
            What::Alpn => {
                let chosen = data.get("chosen_alpn").ok_or(Refusal::Ignore)?;
                let name = chosen.get("string_value").unwrap_or(chosen).as_str().ok_or(Refusal::Ignore)?.to_owned();
                Ok(self.rows.milestone_once(at, "alpn", Some(&name), writer)?)
            }
            What::Ecn if text("new") == Some("capable") => {
                Ok(self.rows.milestone_once(at, "ecn_capable", None, writer)?)
            }
            What::Mtu => self.mtu(at, &data, writer),
            What::DataBlocked | What::StreamBlocked => self.blocked(at, what, &data, writer),
            _ => Err(Refusal::Ignore),
        }
    }

    fn parameters(
        &self,
        at: At,
        name: Option<&str>,
        mut data: Members,
        writer: &mut EventWriter,
    ) -> Result<(), Refusal> {
        let owner = ["owner", "initiator"].iter().find_map(|key| data.remove(*key));
        let name = name.or(owner.as_ref().and_then(Value::as_str));
        let mut row = self.rows.row(at, Kind::Parameters);
        row.name = name.and_then(|name| writer.text(name));
        // Members of a `serde_json::Map` stand in the order of their keys.
        row.detail = writer.text(&Value::Object(data).to_string());
        Ok(writer.push(row)?)
    }

    /// Addresses are those of the vantage's own end (`local`, older `src_*`) and of the other (`remote`, `dst_*`).
    fn started(&mut self, at: At, data: &Members, writer: &mut EventWriter) -> Result<(), Refusal> {
        let own = endpoint(data.get("local")).or_else(|| old_endpoint(data, "src"));
        let other = endpoint(data.get("remote")).or_else(|| old_endpoint(data, "dst"));
        if let (Some(own), Some(other)) = (own, other) {
            self.rows.set_ends(at.connection, own, other, writer);
        }
        Ok(self.rows.milestone_once(at, "started", None, writer)?)
    }

    fn connection_state(&mut self, at: At, new: &str, writer: &mut EventWriter) -> Result<(), Refusal> {
        match new {
            "attempted" => Ok(self.rows.milestone_once(at, "started", None, writer)?),
            "handshake_complete" | "handshake_completed" => {
                Ok(self.rows.milestone_once(at, "complete", None, writer)?)
            }
            "handshake_confirmed" | "confirmed" => Ok(self.rows.milestone_once(at, "confirmed", Some(new), writer)?),
            "closing" | "draining" => Ok(self.rows.milestone_once(at, "closing", Some(new), writer)?),
            "closed" => Ok(self.rows.milestone_once(at, "closed", None, writer)?),
            _ => Err(Refusal::Ignore),
        }
    }

    fn closed(&mut self, at: At, data: &Members, record: &Record, writer: &mut EventWriter) -> Result<(), Refusal> {
        let mut words = Vec::new();
        for key in
            ["owner", "initiator", "connection_error", "application_error", "connection_code", "application_code"]
        {
            words.extend(data.get(key).map(word));
        }
        words.extend(
            ["error_code", "internal_code", "trigger", "reason"].iter().filter_map(|key| data.get(*key)).map(word),
        );
        words.extend(record.trigger.map(|trigger| crate::json::text(trigger).into_owned()));
        words.retain(|word| !word.is_empty());
        let idle = words.iter().any(|word| matches!(word.as_str(), "idle_timeout" | "timeout" | "IdleTimeout"));
        let name = if idle { "idle_timeout" } else { "closed" };
        Ok(self.rows.milestone_once(at, name, Some(&words.join(" ")), writer)?)
    }

    fn key_updated(
        &mut self,
        at: At,
        data: &Members,
        record: &Record,
        writer: &mut EventWriter,
    ) -> Result<(), Refusal> {
        let text = |key: &str| data.get(key).and_then(Value::as_str);
        let key = text("key_type").or(text("type")).ok_or(Refusal::Skip("a key without a type"))?;
        let trigger = text("trigger").or(record.trigger.and_then(|trigger| std::str::from_utf8(trigger).ok()));
        let phase = ["key_phase", "generation"].iter().find_map(|key| number(data.get(*key)?, 0));
        if key.contains("handshake") {
            return Ok(self.rows.milestone_once(at, "handshake_keys", None, writer)?);
        }
        if !key.contains("1rtt") {
            return Err(Refusal::Ignore);
        }
        let updated = phase.is_some_and(|phase| phase > 0)
            || matches!(trigger, Some("remote_update" | "local_update" | "key_update"));
        if !updated {
            return Ok(self.rows.milestone_once(at, "application_keys", None, writer)?);
        }
        Ok(self.rows.key_updated(at, key.starts_with("client"), trigger, writer)?)
    }

    /// Keys of a space are discarded in pairs; the first one counts. Old 1-RTT keys are discarded after every update.
    fn key_discarded(&mut self, at: At, data: &Members, writer: &mut EventWriter) -> Result<(), Refusal> {
        let key = data.get("key_type").and_then(Value::as_str).ok_or(Refusal::Skip("a key without a type"))?;
        let (once, space) = match key.split_once('_').map_or(key, |(_, space)| space) {
            "initial_secret" => ("initial keys_discarded", Space::Initial),
            "handshake_secret" => ("handshake keys_discarded", Space::Handshake),
            _ => return Err(Refusal::Ignore),
        };
        if !self.rows.pass(at, once) {
            return Ok(());
        }
        let mut row = self.rows.row(at, Kind::Milestone);
        row.name = writer.text("keys_discarded");
        row.space = Some(space);
        Ok(writer.push(row)?)
    }

    fn mtu(&self, at: At, data: &Members, writer: &mut EventWriter) -> Result<(), Refusal> {
        let bytes = ["new", "mtu"].iter().find_map(|key| number(data.get(*key)?, 0)).ok_or(Refusal::Ignore)?;
        let mut row = self.rows.row(at, Kind::Milestone);
        row.name = writer.text("mtu");
        row.value = Some(bytes as f64);
        Ok(writer.push(row)?)
    }

    fn blocked(&self, at: At, what: What, data: &Members, writer: &mut EventWriter) -> Result<(), Refusal> {
        if data.get("new").and_then(Value::as_str) != Some("blocked") {
            return Err(Refusal::Ignore);
        }
        let name = match data.get("reason").and_then(Value::as_str) {
            None if what == What::DataBlocked => "connection",
            None | Some("stream_flow_control") => "stream",
            Some("connection_flow_control") => "connection",
            // The sender's own reasons (pacing, congestion control, scheduling, …) are no limit that its peer sets.
            Some(_) => return Err(Refusal::Ignore),
        };
        let stream = data.get("stream_id").and_then(|stream| number(stream, 0));
        Ok(self.rows.blocked(at, Blocked { name, stream, limit: None }, "state", writer)?)
    }
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// `{"ip_v4":…,"port_v4":…}`, and `{"address_v4":{"ip":…,"port":…}}`; version 6 alike.
fn endpoint(side: Option<&Value>) -> Option<String> {
    let side = side?;
    ["v4", "v6"].iter().find_map(|version| {
        let nested = side.get(format!("address_{version}"));
        let (ip, port) = match nested {
            Some(address) => (address.get("ip"), address.get("port")),
            None => (side.get(format!("ip_{version}")), side.get(format!("port_{version}"))),
        };
        address(ip?.as_str()?, port?)
    })
}

fn old_endpoint(data: &Members, side: &str) -> Option<String> {
    address(data.get(&format!("{side}_ip"))?.as_str()?, data.get(&format!("{side}_port"))?)
}

fn address(ip: &str, port: &Value) -> Option<String> {
    let port = u16::try_from(number(port, 0)?).ok()?;
    Some(match ip.parse().ok()? {
        IpAddr::V4(ip) => format!("{ip}:{port}"),
        IpAddr::V6(ip) => format!("[{ip}]:{port}"),
    })
}
