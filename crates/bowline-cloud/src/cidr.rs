//! CIDRs in the form that older API servers accepted: with leading zeros, read as decimal numbers. Nodes with such CIDRs may still exist.

use ipnet::IpNet;

/// Parses a CIDR; `010.0.1.0/24` means `10.0.1.0/24`, as it did for these servers. A Node with such a pod range must not be treated as if
/// it had none. `None` if the text is no CIDR.
#[must_use]
pub fn lenient_cidr(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| {
        let (address, length) = text.split_once('/')?;
        let numbers: Option<Vec<u8>> = address.split('.').map(|number| number.parse().ok()).collect();
        let address: [u8; 4] = numbers?.try_into().ok()?;
        IpNet::new(address.into(), length.parse().ok()?).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_zeros_are_read_as_decimal_and_garbage_is_nothing() {
        assert_eq!(lenient_cidr("010.000.001.0/24"), lenient_cidr("10.0.1.0/24"));
        assert!(lenient_cidr("fd00::/64").is_some() && lenient_cidr("010.0.1.0/24").is_some());
        for garbage in ["", "10.0.1.0", "10.0.1/24", "10.0.256.0/24", "10.0.1.0/33", "10.0.-1.0/24"] {
            assert_eq!(lenient_cidr(garbage), None, "{garbage}");
        }
    }
}
