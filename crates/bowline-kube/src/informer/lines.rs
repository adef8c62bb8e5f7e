//! Checks that the lines of a watch are complete. kube takes a line that ends inside an event for the end of the stream and skips it,
//! wherever it occurs. The next event then advances the resource version, and the event in the broken line is lost. Values are not parsed.

use thiserror::Error;

use super::brackets::Brackets;

/// The longest line that is accepted. etcd's default limit is 1.5 MB and some clusters raise it to a few MB; kube itself has no limit.
const LONGEST_LINE_BYTES: usize = 16 << 20;

/// Why a line was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(super) enum BrokenLine {
    #[error("the API server, or what is in front of it, sent a line of a watch that ends within an event")]
    Cut,
    #[error("the API server sent a line of more than {} MiB in a watch", LONGEST_LINE_BYTES >> 20)]
    TooLong,
}

/// The state of reading one line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    brackets: Brackets,
    /// Whether the line has anything but whitespace so far.
    begun: bool,
    bytes: usize,
}

impl Lines {
    /// Reads the next bytes.
    ///
    /// # Errors
    ///
    /// [`BrokenLine`] if a line was not one complete event, or is too long.
    pub(super) fn take_in(&mut self, bytes: &[u8]) -> Result<(), BrokenLine> {
        if !bytes.iter().all(|byte| self.take(*byte)) {
            return Err(if self.bytes > LONGEST_LINE_BYTES { BrokenLine::TooLong } else { BrokenLine::Cut });
        }
        Ok(())
    }

    fn take(&mut self, byte: u8) -> bool {
        if byte == b'\n' {
            return !self.brackets.in_text && self.next_line();
        }
        self.bytes += 1;
        if self.bytes > LONGEST_LINE_BYTES {
            return false;
        }
        self.brackets.follow(byte);
        // An event is a JSON object, and a line contains nothing else.
        let is_blank = byte.is_ascii_whitespace();
        let begins_well = self.begun || is_blank || byte == b'{';
        self.begun |= !is_blank;
        begins_well
    }

    fn next_line(&mut self) -> bool {
        let whole = self.brackets.depth == 0;
        *self = Self::default();
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> bool {
        let at_once = Lines::default().take_in(text.as_bytes()).is_ok();
        let mut lines = Lines::default();
        let in_pieces = text.as_bytes().chunks(1).all(|piece| lines.take_in(piece).is_ok());
        assert_eq!(at_once, in_pieces, "{text:?}");
        at_once
    }

    #[test]
    fn events_blank_lines_and_an_end_within_an_event_are_whole() {
        for text in
            ["", "\n\r\n \n", "{}\n{\"a\":[1,{}]}\r\n", "{\"a\":\"}\\\"{[\\\\\"}\n", "{}\n{\"type\":\"DEL"]
        {
            assert!(whole(text), "{text:?}");
        }
    }

    #[test]
    fn a_line_that_ends_within_an_event_or_is_none_is_broken() {
        for text in [
            "{\n{}\n",
            "{\"a\":{}\n",
            "{\"a\n",
            "{\"a\\\n",
            "tru\n",
            "\"\n",
            "[]\n",
            " 1\n",
            "{}\n{\"a\":[}\n",
        ] {
            assert!(!whole(text), "{text:?}");
        }
    }

    #[test]
    fn a_line_without_an_end_does_not_fill_the_memory() {
        let (mut lines, piece) = (Lines::default(), vec![b'x'; 1 << 20]);
        lines.take_in(b"{}\n{\"a\":\"").unwrap();
        let refused = (0..17).find_map(|_| lines.take_in(&piece).err());
        assert_eq!(refused, Some(BrokenLine::TooLong));
    }
}
