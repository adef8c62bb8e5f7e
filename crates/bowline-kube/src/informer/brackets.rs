//! Tracks the bracket depth of a JSON text, byte by byte. Brackets within strings do not count. Values are not parsed.

/// The position in a JSON text.
#[derive(Debug, Default)]
pub(super) struct Brackets {
    pub(super) depth: usize,
    pub(super) in_text: bool,
    pub(super) escaped: bool,
}

impl Brackets {
    pub(super) fn follow(&mut self, byte: u8) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_text => self.escaped = true,
            b'"' => self.in_text = !self.in_text,
            _ if self.in_text => {}
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}
