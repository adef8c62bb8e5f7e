//! Values to try: good and bad ones of every kind, each tried with every annotation.

use proptest::prelude::*;

/// Values that are good for some kind and bad for another.
pub(crate) fn values() -> Vec<String> {
    let flags = ["", " ", "true", "false", "True", "TRUE", "yes", " true", "true ", "true\n"];
    let numbers = [
        "0",
        "1",
        "-1",
        "-2",
        "+5",
        "-0",
        "+0",
        "+",
        "-",
        "--1",
        "+-1",
        "1.5",
        "1s",
        "0x10",
        "1_000",
        "1e3",
        "007",
        "10",
        "11",
        "1 ",
        "1\n",
        "\n1",
        "2147483647",
        "2147483648",
        "31536000000",
        "31536000001",
        "999999999999999999",
        "1000000000000000000",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "99999999999999999999",
        "00000000000000000000000000000010",
        "-00000000000000000000000000000001",
        "١",
    ];
    let times = [
        "0s",
        "-0",
        "+0s",
        "30s",
        "5m",
        "1h30m",
        "1.5m",
        ".5s",
        "1.s",
        ".s",
        "s",
        "5\u{b5}s",
        "5\u{3bc}s",
        "-5m",
        "24h",
        "24h1ns",
        "86400s",
        "86401s",
        "00000000000000000000000000000030s",
        "0.00000000000000000000000000000001h",
        "9999999999999999999h",
        "1d",
        "5 m",
        "5m\n",
        "5M",
    ];
    let words =
        ["ROUND_ROBIN", "round_robin", "SOURCE_IP", "SOURCE_IP_PORT", "LEAST_CONNECTIONS", "v1", "v2", "V2"];
    let ids = [
        "a",
        "a-b_c.d",
        "11111111-2222-3333-4444-555555555555",
        ".",
        "..",
        "...",
        "a b",
        "a/b",
        "a\\b",
        "a?b",
        "a#b",
        "a%b",
        "a\tb",
        "a\u{7f}b",
        "ä",
        "!\"$&'()*+,-.:;<=>@[]^_`{|}~",
    ];
    let patterns = ["~(", "public-[", "~^public$", "!~x", "public-*", "{a,b}"];
    let tags = [
        "!",
        "&",
        "!&",
        "&!",
        "!!",
        "&&",
        "!&!",
        ",",
        ", ,",
        "! , ",
        "!a",
        "&a,b",
        "a,,b",
        "!&,",
        "\u{a0}",
        "\u{2003},\u{3000}",
        "\u{85}",
        "!\u{b}",
        "\u{200b}",
        "\u{1680}",
        "\u{180e}",
        "\u{1c}",
        "\n,\n",
    ];
    let selectors = [
        "zone=a,gpu",
        "=v",
        "=",
        "a=b,=c",
        "a=b, = c",
        "a=,b",
        "a==b",
        "a,=",
        "\u{a0}=x",
        "a,\u{2003}=x",
        "a\n=b",
        "a,\n=b",
        "a,\u{200b}=b",
    ];
    let certificates = ["https://kms/v1/containers/c-1", "https://kms/v1/secrets/", "nonsense"];
    let networks = [
        "10.0.0.0/8",
        "010.0.0.0/8",
        "10.0.0.1",
        "10.0.0.0/33",
        "10.0.0.0/8,x",
        "fd00::/64",
        "10.0.0.0/8, fd00::/8 ",
        "10.0.0.0/8,",
        ":::/64",
        "fd00::/129",
    ];
    // Six that are too long for a short text: every sixth value is tried for all but the first annotation of a kind.
    let too_long = (257..=260).map(|length| "x".repeat(length));
    let long = ["x".repeat(255), "x".repeat(256), "1".repeat(300), "0".repeat(300)];
    let tables: [&[&str]; 10] =
        [&flags, &numbers, &times, &words, &ids, &patterns, &tags, &selectors, &certificates, &networks];
    tables.concat().into_iter().map(str::to_owned).chain(long).chain(too_long).collect()
}

/// A text of the letters that mean something to some kind.
pub(crate) fn any_value() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => "[-+0-9]{1,12}",
        2 => "([0-9]{1,3}[.]?[0-9]?(ms|s|m|h)){1,3}",
        1 => Just("true".to_owned()),
        1 => Just("v2".to_owned()),
        4 => "[a0.,=!&~%/ \t\n\u{a0}-]{0,5}",
        1 => "\\PC{0,6}",
    ]
}
