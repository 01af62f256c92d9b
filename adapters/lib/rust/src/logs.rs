//! Where a connection's trace and its keys go, by the variables of the contract.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::BufWriter;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Return the name of a connection's trace, by the client's end.
pub fn name_of(client: SocketAddr) -> String {
    format!("{}-{}", client.ip(), client.port())
}

/// Make a file in `QLOGDIR`, named after the connection; None where the variable is not set or that fails.
pub fn qlog(connection: &str, role: &str) -> Option<BufWriter<File>> {
    let folder = PathBuf::from(variable("QLOGDIR")?);
    let file = folder.join(format!("{connection}_{role}.sqlog"));
    match std::fs::create_dir_all(&folder).and_then(|()| File::create(file)) {
        Ok(file) => Some(BufWriter::new(file)),
        Err(error) => {
            eprintln!("no qlog: {error}");
            None
        }
    }
}

/// Open the file that `SSLKEYLOGFILE` names, to append to it; None where the variable is not set or that fails.
pub fn keys() -> Option<File> {
    match OpenOptions::new().create(true).append(true).open(variable("SSLKEYLOGFILE")?) {
        Ok(file) => Some(file),
        Err(error) => {
            eprintln!("SSLKEYLOGFILE: {error}");
            None
        }
    }
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
