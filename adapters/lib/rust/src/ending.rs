//! Why a QUIC connection ended, in words.

use std::fmt::{Display, Formatter, Result};

/// An error that closed a connection, as a CONNECTION_CLOSE frame carries it.
pub struct ConnectionError<'a> {
    /// The code is the application's (HTTP/3), not QUIC's own.
    pub is_app: bool,
    /// The error code.
    pub code: u64,
    /// The reason phrase.
    pub reason: &'a [u8],
}

/// How a client's connection ended; the first of these that is set is the reason.
#[derive(Default)]
pub struct Ending<'a> {
    /// This end closed it.
    pub local: Option<ConnectionError<'a>>,
    /// The server closed it.
    pub peer: Option<ConnectionError<'a>>,
    /// Nothing came from the server for too long.
    pub timed_out: bool,
    /// The server sent a stateless reset.
    pub was_reset: bool,
}

impl Display for ConnectionError<'_> {
    /// Write an application's code, a TLS alert or one of QUIC's own codes (RFC 9000, 20.1).
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let reason = String::from_utf8_lossy(self.reason);
        match self.code {
            code if self.is_app => write!(f, "HTTP/3 code {code:#x} {reason}"),
            code @ 0x12a..=0x131 => {
                write!(f, "TLS alert {}: the certificate is not accepted {reason}", code - 0x100)
            }
            code @ 0x100..=0x1ff => write!(f, "TLS alert {} {reason}", code - 0x100),
            code => write!(f, "QUIC code {code:#x} {reason}"),
        }
    }
}

impl Display for Ending<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self { local: Some(error), .. } => write!(f, "closed: {error}"),
            Self { peer: Some(error), .. } => write!(f, "closed by the server: {error}"),
            Self { timed_out: true, .. } => f.write_str("the server fell silent"),
            Self { was_reset: true, .. } => f.write_str("the server has forgotten the connection"),
            _ => f.write_str("the connection ended"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_explained() {
        let text = |is_app, code| ConnectionError { is_app, code, reason: b"x" }.to_string();
        assert_eq!(text(true, 0x100), "HTTP/3 code 0x100 x");
        assert_eq!(text(false, 0x128), "TLS alert 40 x");
        assert_eq!(text(false, 0x12a), "TLS alert 42: the certificate is not accepted x");
        assert_eq!(text(false, 0x1), "QUIC code 0x1 x");
    }

    #[test]
    fn an_error_is_a_better_reason_than_silence() {
        let peer = Some(ConnectionError { is_app: false, code: 0xa, reason: b"" });
        assert_eq!(
            Ending { peer, timed_out: true, ..Ending::default() }.to_string(),
            "closed by the server: QUIC code 0xa "
        );
        let silent = Ending { timed_out: true, was_reset: true, ..Ending::default() };
        assert_eq!(silent.to_string(), "the server fell silent");
        assert_eq!(Ending::default().to_string(), "the connection ended");
    }
}
