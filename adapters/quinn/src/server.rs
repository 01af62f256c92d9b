//! What servers of both protocols do.

use std::fs::File;
use std::io::Read;

use bytes::Bytes;
use longlook_adapter::failure::Failure;
use longlook_adapter::files::{Answer, Folder};
use longlook_adapter::options::ServerOptions;
use tokio::signal::unix::{SignalKind, signal};

use crate::settings::Settings;
use crate::{server_h2, server_h3};

const PART_BYTES: usize = 64 << 10;

/// Serve until SIGTERM or SIGINT.
pub async fn run(mut options: ServerOptions) -> Result<(), Failure> {
    if options.protocol != "h3" && options.protocol != "h2" {
        return Err(Failure::Unsupported(format!("protocol {:?}", options.protocol)));
    }
    let settings = Settings::new(&options.protocol, true, std::mem::take(&mut options.knobs))?;
    let files = Folder::open(&options.www)?;
    if options.protocol == "h3" {
        server_h3::serve(&options, settings, files, stopped()?).await
    } else {
        server_h2::serve(&options, &settings, files, stopped()?).await
    }
}

/// Catches the signals from now on; what it returns ends with the first.
fn stopped() -> Result<impl Future<Output = ()>, Failure> {
    let catch = |kind| signal(kind).map_err(|error| Failure::of("signals", error));
    let mut terminate = catch(SignalKind::terminate())?;
    let mut interrupt = catch(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// The head of an answer over either protocol.
pub fn head(answer: &Answer) -> http::response::Builder {
    let builder = http::Response::builder().status(answer.status);
    answer.headers().into_iter().fold(builder, |builder, (name, value)| builder.header(name, value))
}

/// The next part of a file of which `left` bytes remain; it blocks, as files of the page cache do not.
pub fn next_part(file: &mut File, left: &mut u64) -> std::io::Result<Bytes> {
    let mut part = vec![0; PART_BYTES.min(*left as usize)];
    file.read_exact(&mut part)?;
    *left -= part.len() as u64;
    Ok(part.into())
}
