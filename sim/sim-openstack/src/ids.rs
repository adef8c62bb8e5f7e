//! Identifiers and secrets, all from one seed: the same seed and the same requests give the same identifiers.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};

const TOKEN_ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Makes identifiers.
#[derive(Clone, Debug)]
pub struct IdGenerator {
    random: Xoshiro256PlusPlus,
}

impl IdGenerator {
    /// A generator whose whole future follows from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// A UUID with dashes, as Nova, Neutron and Octavia use.
    pub fn uuid(&mut self) -> String {
        self.next_uuid().hyphenated().to_string()
    }

    /// A UUID without dashes, as Keystone uses.
    pub fn hex(&mut self) -> String {
        self.next_uuid().simple().to_string()
    }

    /// The id of a request, `req-` and a UUID.
    pub fn request(&mut self) -> String {
        format!("req-{}", self.next_uuid().hyphenated())
    }

    /// Letters, digits, dash and underscore.
    pub fn secret(&mut self, length: usize) -> String {
        let letter = |random: u64| TOKEN_ALPHABET.get((random % 64) as usize).copied().unwrap_or(b'A');
        (0..length).map(|_| char::from(letter(self.random.next_u64()))).collect()
    }

    /// A MAC address with OpenStack's prefix.
    pub fn mac_address(&mut self) -> String {
        let [a, b, c, ..] = self.random.next_u64().to_be_bytes();
        format!("fa:16:3e:{a:02x}:{b:02x}:{c:02x}")
    }

    fn next_uuid(&mut self) -> uuid::Uuid {
        let high = u128::from(self.random.next_u64());
        let low = u128::from(self.random.next_u64());
        uuid::Builder::from_random_bytes(((high << 64) | low).to_be_bytes()).into_uuid()
    }
}

/// An identifier that depends on nothing but the text.
pub(crate) fn steady_id(text: &str) -> String {
    let seed = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    IdGenerator::new(seed).hex()
}
