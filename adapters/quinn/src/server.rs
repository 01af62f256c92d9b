//! A server of either protocol.

use longlook_adapter::failure::Failure;
use longlook_adapter::files::Folder;
use longlook_adapter::options::ServerOptions;
use tokio::signal::unix::{SignalKind, signal};

use crate::settings::Settings;
use crate::{h2, h3};

/// Serve until SIGTERM or SIGINT.
pub async fn run(mut options: ServerOptions) -> Result<(), Failure> {
    if options.protocol != "h3" && options.protocol != "h2" {
        return Err(Failure::Unsupported(format!("protocol {:?}", options.protocol)));
    }
    let settings = Settings::new(&options.protocol, true, std::mem::take(&mut options.knobs))?;
    let files = Folder::open(&options.www)?;
    if options.protocol == "h3" {
        h3::server::serve(&options, settings, files, stopped()?).await
    } else {
        h2::server::serve(&options, &settings, files, stopped()?).await
    }
}

/// Catch the signals from now on; the future that is returned ends with the first of them.
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
