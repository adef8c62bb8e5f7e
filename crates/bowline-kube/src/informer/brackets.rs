//! How deep in brackets a JSON text is, byte by byte; brackets within strings do not count. Reads no values.

/// Where in a text we are.
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
