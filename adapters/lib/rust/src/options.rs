//! The command line of a server.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use crate::failure::Failure;
use crate::knobs::Knobs;

/// The options of a server.
#[derive(Debug)]
pub struct ServerOptions {
    /// `h3` or `h2`; the adapter decides which it speaks.
    pub protocol: String,
    /// Where to listen; port 0 is one of the kernel's choice.
    pub listen: SocketAddr,
    /// The folder that is served.
    pub www: String,
    /// PEM file, leaf first.
    pub certificate: String,
    /// PEM file.
    pub key: String,
    /// Settings by name.
    pub knobs: Knobs,
}

impl ServerOptions {
    /// Read the arguments after `server`.
    pub fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut given = BTreeMap::new();
        let mut knobs = BTreeMap::new();
        let mut rest = arguments.iter();
        while let Some(name) = rest.next() {
            let value = rest.next().ok_or_else(|| usage(&format!("{name} needs a value")))?;
            match name.as_str() {
                "--knob" => {
                    let (knob, setting) =
                        value.split_once('=').ok_or_else(|| usage(&format!("--knob {value}: give NAME=VALUE")))?;
                    knobs.insert(knob.to_owned(), setting.to_owned());
                }
                "--protocol" | "--address" | "--port" | "--www" | "--certificate" | "--key" => {
                    given.insert(name.clone(), value.clone());
                }
                _ => return Err(usage(&format!("unknown argument {name}"))),
            }
        }
        let mut take = |name: &str| given.remove(name).ok_or_else(|| usage(&format!("{name} is missing")));
        let address = take("--address")?;
        let address: IpAddr = address.parse().map_err(|_| usage(&format!("{address:?} is not an IP address")))?;
        let port = take("--port")?;
        let port: u16 = port.parse().map_err(|_| usage(&format!("{port:?} is not a port")))?;
        Ok(Self {
            protocol: take("--protocol")?,
            listen: SocketAddr::new(address, port),
            www: take("--www")?,
            certificate: take("--certificate")?,
            key: take("--key")?,
            knobs: Knobs::new(knobs),
        })
    }
}

fn usage(reason: &str) -> Failure {
    Failure::Usage(reason.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "--protocol h3 --address 127.0.0.1 --port 0 --www w --certificate c --key k --knob a=1";

    fn parse(text: &str) -> Result<ServerOptions, Failure> {
        ServerOptions::parse(&text.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn complete_options() {
        let mut options = parse(GOOD).unwrap();
        assert_eq!(options.listen.to_string(), "127.0.0.1:0");
        assert_eq!(options.knobs.count("a", 1..=1).unwrap(), Some(1));
    }

    #[test]
    fn mistakes_are_usage_errors() {
        for text in ["", "--protocol", &GOOD.replace("127.0.0.1", "here"), &GOOD.replace("a=1", "a"), "--port 1 --x y"]
        {
            assert_eq!(parse(text).unwrap_err().exit_code(), 2, "{text}");
        }
    }
}
