//! Trust: upstream's cases that need no server.

use jiff::Timestamp;
use rcgen::{CertificateParams, DnType, KeyPair};

use super::*;

fn certificate(name: &str) -> String {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
}

fn named<'a>(place: &'a str, text: &'a str) -> Option<Named<'a>> {
    Some(Named { place, text: Some(text) })
}

#[test]
fn a_valid_text_is_read_with_names_and_lines() {
    let text = format!("# made by hand\n{}\n{}\n\n", certificate("one"), certificate("two"));
    let found = certificates(&text).unwrap();
    let subjects: Vec<_> = found.iter().map(|certificate| certificate.subject.as_str()).collect();
    assert!(subjects[0].contains("CN=one") && subjects[1].contains("CN=two"), "{subjects:?}");
    assert_eq!(found[0].line, 2);
    assert!(found[0].not_after > Timestamp::UNIX_EPOCH);
}

#[test]
fn texts_that_are_not_certificates_are_refused_with_the_line() {
    let good = certificate("one");
    let lines = good.lines().count();
    let key = KeyPair::generate().unwrap().serialize_pem();
    let cut = good.replace("-----END CERTIFICATE-----", "");
    let damaged = good.replacen("MII", "MIJ", 1);
    assert_eq!(certificates(""), Err(PemError::Empty));
    assert_eq!(certificates("\n \n"), Err(PemError::Empty));
    assert_eq!(certificates("invalid"), Err(PemError::NoBlock { line: 1 }));
    assert_eq!(certificates(&format!("{good}rubbish")), Err(PemError::NoBlock { line: lines + 1 }));
    assert_eq!(certificates(&cut), Err(PemError::NoEnd { line: 1 }));
    assert!(matches!(certificates(&format!("{good}{key}")), Err(PemError::NotCertificate { .. })));
    assert!(certificates(&damaged).is_err());
    assert_eq!(
        certificates("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
        Err(PemError::Damaged { line: 1 })
    );
}

#[test]
fn the_clouds_come_before_the_administrators_and_these_before_the_systems() {
    let (system, proxy, cloud) = (certificate("system"), certificate("proxy"), certificate("cloud"));
    let all = merge(&system, named("p", &proxy), named("c", &cloud)).unwrap();
    assert_eq!(all.text, format!("{cloud}\n{proxy}\n{system}"));
    assert_eq!(merge(&system, None, None).unwrap().text, system);
    assert_eq!(merge(&system, named("p", &proxy), None).unwrap().text, format!("{proxy}\n{system}"));
    assert_eq!(merge(&system, None, named("c", &cloud)).unwrap().text, format!("{cloud}\n{system}"));
}

#[test]
fn the_same_certificates_are_not_added_twice() {
    let (system, proxy) = (certificate("system"), certificate("proxy"));
    let all = merge(&system, named("p", &proxy), named("c", &proxy)).unwrap();
    assert_eq!(all.text, format!("{proxy}\n{system}"));
}

#[test]
fn what_is_wrong_is_left_out_and_told_and_the_rest_stays() {
    let (system, good) = (certificate("system"), certificate("good"));
    let with_cloud =
        merge(&system, named("openshift-config/user-ca key ca-bundle.crt", "rubbish"), named("c", &good))
            .unwrap();
    assert_eq!(with_cloud.text, format!("{good}\n{system}"));
    assert_eq!(
        with_cloud.ignored[0].to_string(),
        "the certificates in openshift-config/user-ca key ca-bundle.crt are ignored: line 1: failed to parse certificate PEM: wanted -----BEGIN CERTIFICATE-----"
    );
    let with_proxy = merge(&system, named("p", &good), named("c", "rubbish")).unwrap();
    assert_eq!((with_proxy.text, with_proxy.ignored.len()), (format!("{good}\n{system}"), 1));
    let missing = merge(&system, Some(Named { place: "p", text: None }), None).unwrap();
    assert_eq!((missing.text, missing.ignored.len()), (system, 1));
}

#[test]
fn a_system_without_certificates_is_an_error() {
    let good = certificate("good");
    assert_eq!(merge("", named("p", &good), None), Err(PemError::Empty));
    assert_eq!(merge("invalid", named("p", &good), None), Err(PemError::NoBlock { line: 1 }));
}
