//! Where a connection's trace goes.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

/// A new file in `QLOGDIR`, named after the connection; None where the variable is not set, or the file cannot be made.
pub fn create(connection: &str, role: &str) -> Option<BufWriter<File>> {
    let folder = PathBuf::from(std::env::var_os("QLOGDIR").filter(|name| !name.is_empty())?);
    let file = folder.join(format!("{connection}_{role}.sqlog"));
    match std::fs::create_dir_all(&folder).and_then(|()| File::create(file)) {
        Ok(file) => Some(BufWriter::new(file)),
        Err(error) => {
            eprintln!("no qlog: {error}");
            None
        }
    }
}
