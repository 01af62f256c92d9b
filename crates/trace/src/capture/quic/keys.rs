//! Secrets of TLS → keys of QUIC packets, and packets opened with them (RFC 9001, RFC 9369).

use std::collections::HashMap;

use ring::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey, quic};
use ring::hkdf::{self, HKDF_SHA256, HKDF_SHA384, KeyType, Prk, Salt};

use super::header::VERSION_2;

const SALT_1: [u8; 20] = [
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f,
    0x0a,
];
const SALT_2: [u8; 20] = [
    0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb, 0xf9, 0xbd, 0x2e,
    0xd9,
];
const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;
const SAMPLE_BYTES: usize = 16;
const MOST_CONNECTIONS: usize = 1 << 20;

/// Which connection's secrets: the random number of its `ClientHello`.
pub type ClientRandom = [u8; 32];

/// The secrets that are used here, by NSS's labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Label {
    ClientEarly,
    ClientHandshake,
    ServerHandshake,
    Client,
    Server,
}

const LABELS: [(&str, Label); 5] = [
    ("CLIENT_EARLY_TRAFFIC_SECRET", Label::ClientEarly),
    ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", Label::ClientHandshake),
    ("SERVER_HANDSHAKE_TRAFFIC_SECRET", Label::ServerHandshake),
    ("CLIENT_TRAFFIC_SECRET_0", Label::Client),
    ("SERVER_TRAFFIC_SECRET_0", Label::Server),
];

/// A key log: secrets of connections.
#[derive(Default)]
pub struct KeyLog {
    secrets: HashMap<ClientRandom, Vec<(Label, Vec<u8>)>>,
}

impl KeyLog {
    /// Adds the lines of a log in NSS's format; others are passed over. Returns how many were taken.
    pub fn read(&mut self, log: &[u8]) -> usize {
        let mut taken = 0;
        for line in log.split(|byte| *byte == b'\n') {
            let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            let (Some(label), Some(random), Some(secret)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let Some((_, label)) = LABELS.iter().find(|(name, _)| name.as_bytes() == label) else { continue };
            let (Some(random), Some(secret)) = (hexadecimal(random), hexadecimal(secret)) else { continue };
            let Ok(random) = ClientRandom::try_from(random.as_slice()) else { continue };
            if !matches!(secret.len(), 32 | 48) || self.secrets.len() == MOST_CONNECTIONS {
                continue;
            }
            self.secrets.entry(random).or_default().push((*label, secret));
            taken += 1;
        }
        taken
    }

    /// Whether it has any secret of a connection.
    pub fn knows(&self, random: &ClientRandom) -> bool {
        self.secrets.contains_key(random)
    }

    /// The last secret of this kind.
    pub fn secret(&self, random: &ClientRandom, label: Label) -> Option<&[u8]> {
        let known = self.secrets.get(random)?;
        known.iter().rev().find(|(own, _)| *own == label).map(|(_, secret)| secret.as_slice())
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }
}

fn hexadecimal(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    if text.len() % 2 != 0 {
        return None;
    }
    text.chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

/// Which algorithms protect packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    Aes128,
    Aes256,
    ChaCha20,
}

impl Suite {
    /// By the number in a `ServerHello`.
    pub fn of(number: u16) -> Option<Self> {
        match number {
            0x1301 => Some(Self::Aes128),
            0x1302 => Some(Self::Aes256),
            0x1303 => Some(Self::ChaCha20),
            _ => None,
        }
    }

    fn parts(self) -> (&'static aead::Algorithm, &'static quic::Algorithm, hkdf::Algorithm) {
        match self {
            Self::Aes128 => (&aead::AES_128_GCM, &quic::AES_128, HKDF_SHA256),
            Self::Aes256 => (&aead::AES_256_GCM, &quic::AES_256, HKDF_SHA384),
            Self::ChaCha20 => (&aead::CHACHA20_POLY1305, &quic::CHACHA20, HKDF_SHA256),
        }
    }
}

/// The keys of one direction in one space.
pub struct Keys {
    suite: Suite,
    version: u32,
    secret: Vec<u8>,
    /// Headers keep their key in updates, and so its secret.
    header_secret: Vec<u8>,
    header: quic::HeaderProtectionKey,
    packet: LessSafeKey,
    nonce: [u8; NONCE_BYTES],
}

impl Keys {
    /// Derives the keys of a secret.
    pub fn new(secret: &[u8], suite: Suite, version: u32) -> Option<Self> {
        Self::derive(secret, secret, suite, version)
    }

    fn derive(secret: &[u8], header_secret: &[u8], suite: Suite, version: u32) -> Option<Self> {
        let (aead, protection, hash) = suite.parts();
        let prk = Prk::new_less_safe(hash, secret);
        let labels = if version == VERSION_2 {
            ["quicv2 key", "quicv2 iv", "quicv2 hp"]
        } else {
            ["quic key", "quic iv", "quic hp"]
        };
        let key = expand(&prk, labels[0], aead.key_len())?;
        let nonce = expand(&prk, labels[1], NONCE_BYTES)?;
        let header = expand(&Prk::new_less_safe(hash, header_secret), labels[2], protection.key_len())?;
        Some(Self {
            suite,
            version,
            secret: secret.to_vec(),
            header_secret: header_secret.to_vec(),
            header: quic::HeaderProtectionKey::new(protection, &header).ok()?,
            packet: LessSafeKey::new(UnboundKey::new(aead, &key).ok()?),
            nonce: nonce.try_into().ok()?,
        })
    }

    /// The keys of both ends' Initial packets: they follow from the id that the client chose for the server.
    pub fn initial(version: u32, destination: &[u8]) -> Option<[Self; 2]> {
        let salt = if version == VERSION_2 { &SALT_2 } else { &SALT_1 };
        let prk = Salt::new(HKDF_SHA256, salt).extract(destination);
        let of = |label| Self::new(&expand(&prk, label, 32)?, Suite::Aes128, version);
        Some([of("client in")?, of("server in")?])
    }

    /// The keys after an update.
    pub fn next(&self) -> Option<Self> {
        let label = if self.version == VERSION_2 { "quicv2 ku" } else { "quic ku" };
        let prk = Prk::new_less_safe(self.suite.parts().2, &self.secret);
        let secret = expand(&prk, label, self.secret.len())?;
        Self::derive(&secret, &self.header_secret, self.suite, self.version)
    }

    /// The first byte and the number's bytes without their protection, and how many bytes the number has.
    pub fn header(&self, packet: &[u8], number_at: usize) -> Option<(u8, u32, usize)> {
        let sample = packet.get(number_at + 4..number_at + 4 + SAMPLE_BYTES)?;
        let mask = self.header.new_mask(sample).ok()?;
        let protected = if packet[0] & 0x80 == 0 { 0x1f } else { 0x0f };
        let first = packet[0] ^ (mask[0] & protected);
        let bytes = usize::from(first & 3) + 1;
        let number = packet[number_at..number_at + bytes]
            .iter()
            .zip(&mask[1..])
            .fold(0_u32, |number, (byte, mask)| number << 8 | u32::from(byte ^ mask));
        Some((first, number, bytes))
    }

    /// Opens a packet into `plain`, whose first bytes are then its frames; `None` if these are not its keys.
    pub fn open(
        &self,
        packet: &[u8],
        number_at: usize,
        header: (u8, u32, usize),
        number: i64,
        plain: &mut Vec<u8>,
    ) -> Option<()> {
        let (first, truncated, bytes) = header;
        let begin = number_at + bytes;
        if packet.len() < begin + TAG_BYTES {
            return None;
        }
        let mut open = packet[..begin].to_vec();
        open[0] = first;
        open[number_at..begin].copy_from_slice(&truncated.to_be_bytes()[4 - bytes..]);
        let mut nonce = self.nonce;
        for (byte, number) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
            *byte ^= number;
        }
        plain.clear();
        plain.extend_from_slice(&packet[begin..]);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let length = self.packet.open_in_place(nonce, Aad::from(&open), plain).ok()?.len();
        plain.truncate(length);
        Some(())
    }
}

/// The number of a packet by its last bytes and the largest number so far (RFC 9000, A.3).
pub fn whole_number(truncated: u32, bytes: usize, largest: i64) -> i64 {
    let window = 1_i64 << (8 * bytes);
    let expected = largest + 1;
    let candidate = (expected & !(window - 1)) | i64::from(truncated);
    if candidate <= expected - window / 2 && candidate < (1 << 62) - window {
        candidate + window
    } else if candidate > expected + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// HKDF-Expand-Label of TLS 1.3 (RFC 8446, 7.1).
fn expand(prk: &Prk, label: &str, bytes: usize) -> Option<Vec<u8>> {
    let lengths = [(bytes >> 8) as u8, bytes as u8, (6 + label.len()) as u8];
    let info = [&lengths[..], b"tls13 ", label.as_bytes(), &[0]];
    let mut found = vec![0; bytes];
    prk.expand(&info, Length(bytes)).ok()?.fill(&mut found).ok()?;
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        hexadecimal(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_packet_of_chacha20_opens_as_in_rfc_9001() {
        let secret = bytes("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b");
        let keys = Keys::new(&secret, Suite::ChaCha20, 1).unwrap();
        let packet = bytes("4cfe4189655e5cd55c41f69080575d7999c25a5bfb");
        let header = keys.header(&packet, 1).unwrap();
        assert_eq!((header.0, header.1, header.2), (0x42, 0xbff4, 3));
        let number = whole_number(header.1, header.2, 654_360_563);
        let mut plain = Vec::new();
        assert_eq!(number, 654_360_564);
        keys.open(&packet, 1, header, number, &mut plain).unwrap();
        assert_eq!(plain, [1]);
    }

    #[test]
    fn numbers_are_those_next_to_the_largest() {
        assert_eq!(whole_number(0x9b32, 2, 0xa82f_30ea), 0xa82f_9b32);
        assert_eq!(whole_number(0, 1, -1), 0);
        assert_eq!(whole_number(255, 1, 300), 255);
        assert_eq!(whole_number(1, 1, 255), 257);
    }

    #[test]
    fn a_key_log_keeps_what_is_whole() {
        let mut log = KeyLog::default();
        let random = "ab".repeat(32);
        let text = format!(
            "# comment\nCLIENT_TRAFFIC_SECRET_0 {random} {}\nSERVER_TRAFFIC_SECRET_0 {random} 12\nodd",
            "cd".repeat(32)
        );
        assert_eq!(log.read(text.as_bytes()), 1);
        assert!(log.knows(&[0xab; 32]));
        assert_eq!(log.secret(&[0xab; 32], Label::Client), Some(&[0xcd; 32][..]));
        assert!(log.secret(&[0xab; 32], Label::Server).is_none());
    }
}
