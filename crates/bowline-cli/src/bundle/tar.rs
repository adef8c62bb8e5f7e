//! A tar file of a few small texts, in the form that every tar reads (ustar). Pure: the same documents are the same bytes.

use std::io;

use super::Document;

const BLOCK: usize = 512;
/// The longest name that fits without a prefix.
const LONGEST_NAME: usize = 100;

/// The archive.
///
/// # Errors
///
/// If a name is too long for the form.
pub fn archive(documents: &[Document]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for document in documents {
        bytes.extend_from_slice(&header(document)?);
        bytes.extend_from_slice(document.text.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    }
    // Two empty blocks are the end.
    bytes.resize(bytes.len() + 2 * BLOCK, 0);
    Ok(bytes)
}

fn header(document: &Document) -> io::Result<Vec<u8>> {
    if document.name.len() > LONGEST_NAME {
        return Err(io::Error::other(format!("{}: the name is too long for tar", document.name)));
    }
    let sum_of = |fields: &[(usize, &[u8])]| -> u32 {
        fields.iter().flat_map(|(_width, text)| text.iter()).map(|byte| u32::from(*byte)).sum()
    };
    let size = format!("{:011o}\0", document.text.len());
    let mut fields: Vec<(usize, &[u8])> = vec![
        (100, document.name.as_bytes()),
        (8, b"0000600\0"),
        (8, b"0000000\0"),
        (8, b"0000000\0"),
        (12, size.as_bytes()),
        (12, b"00000000000\0"),
        // The sum counts with spaces in its own place.
        (8, b"        "),
        (1, b"0"),
        (100, b""),
        (6, b"ustar\0"),
        (2, b"00"),
    ];
    let sum = format!("{:06o}\0 ", sum_of(&fields));
    if let Some(place) = fields.get_mut(6) {
        *place = (8, sum.as_bytes());
    }
    let mut bytes = Vec::with_capacity(BLOCK);
    for (width, text) in fields {
        let end = bytes.len() + width;
        bytes.extend_from_slice(text);
        bytes.resize(end, 0);
    }
    bytes.resize(BLOCK, 0);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_has_whole_blocks_the_sums_that_tar_checks_and_its_end() {
        let document = |name: &str, text: &str| Document { name: name.to_owned(), text: text.to_owned() };
        let bytes = archive(&[document("a/b.json", "hello"), document("c.txt", "")]).unwrap();
        assert_eq!(bytes.len(), BLOCK * (2 + 1 + 2));
        let head = &bytes[..BLOCK];
        assert!(head.starts_with(b"a/b.json\0") && &head[124..136] == b"00000000005\0");
        let told = u32::from_str_radix(std::str::from_utf8(&head[148..154]).unwrap(), 8).unwrap();
        let counted: u32 = head
            .iter()
            .enumerate()
            .map(|(place, byte)| if (148..156).contains(&place) { 32 } else { u32::from(*byte) })
            .sum();
        assert_eq!(told, counted);
        assert_eq!(&bytes[BLOCK..BLOCK + 5], b"hello");
        assert!(archive(&[document(&"x".repeat(101), "")]).is_err());
    }
}
