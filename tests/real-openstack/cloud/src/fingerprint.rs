//! A short number that changes with a text: to notice that a lock file or a configuration is another one than before.
//!
//! FNV-1a, because it has to be the same with every compiler; it is no protection against anyone.

/// The fingerprint of some texts, in their order.
pub(crate) fn fingerprint<Text: AsRef<[u8]>>(texts: impl IntoIterator<Item = Text>) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for text in texts {
        // The separator keeps ("a", "bc") and ("ab", "c") apart.
        for byte in text.as_ref().iter().chain(&[0]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_changes_with_the_texts_and_with_where_one_ends() {
        let all = [fingerprint(["ab", "c"]), fingerprint(["a", "bc"]), fingerprint(["ab", "d"])];
        assert!(all[0] != all[1] && all[0] != all[2]);
        assert_eq!(all[0], fingerprint(["ab", "c"]));
    }
}
