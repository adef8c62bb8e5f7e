//! The wire format: numbered fields that are numbers or bytes. Knows no messages.

use super::ProtobufError;

/// The content of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message in their order.
pub(super) fn fields(mut bytes: &[u8]) -> Result<Vec<(u64, Field<'_>)>, ProtobufError> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = number(&mut bytes)?;
        let field = match tag & 7 {
            0 => Field::Number(number(&mut bytes)?),
            2 => {
                let length = usize::try_from(number(&mut bytes)?).map_err(|_| ProtobufError::Truncated)?;
                let (content, rest) = bytes.split_at_checked(length).ok_or(ProtobufError::Truncated)?;
                bytes = rest;
                Field::Bytes(content)
            }
            _ => return Err(ProtobufError::WireType),
        };
        found.push((tag >> 3, field));
    }
    Ok(found)
}

/// A number of seven bits a byte.
fn number(bytes: &mut &[u8]) -> Result<u64, ProtobufError> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(ProtobufError::Truncated)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(ProtobufError::Truncated)
}
