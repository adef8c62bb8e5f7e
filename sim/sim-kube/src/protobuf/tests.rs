use super::*;

/// One field of bytes, or a text.
fn bytes(number: u8, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    let mut out = vec![number << 3 | 2, u8::try_from(content.len()).unwrap()];
    out.extend(content);
    out
}

fn body(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let kind = [bytes(1, api_version), bytes(2, kind)].concat();
    [MAGIC.to_vec(), bytes(1, kind), bytes(2, raw)].concat()
}

#[test]
fn a_secret_is_read_with_its_labels_and_bytes() {
    let label = [bytes(1, "app"), bytes(2, "web")].concat();
    // The creation time is an empty message: Go sends it although nobody set it.
    let meta = [bytes(1, "s"), bytes(2, ""), bytes(8, ""), bytes(11, label)].concat();
    let raw =
        [bytes(1, meta), bytes(2, [bytes(1, "k"), bytes(2, "v")].concat()), bytes(3, "Opaque")].concat();
    assert_eq!(
        object(&body("v1", "Secret", &raw)).unwrap(),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "labels": {"app": "web"}},
            "data": {"k": "dg=="}, "type": "Opaque"})
    );
}

#[test]
fn ports_are_numbers_or_names_and_plain_zeros_are_absent() {
    let target = [vec![0x08, 1], bytes(3, "web")].concat();
    let port = [vec![0x18, 80], bytes(4, target), vec![0x28, 0]].concat();
    let raw = bytes(2, bytes(1, port));
    let service = object(&body("v1", "Service", &raw)).unwrap();
    assert_eq!(service["spec"], json!({"ports": [{"port": 80, "targetPort": "web"}]}));
}

#[test]
fn what_is_not_known_is_said() {
    assert_eq!(object(b"{}").unwrap_err(), ProtobufError::NoMagic);
    let strange = object(&body("v1", "Comet", &[])).unwrap_err();
    assert_eq!(strange, ProtobufError::UnknownKind("v1 Comet".into()));
    let cut = [MAGIC, &[0x0a, 9, 1]].concat();
    assert_eq!(object(&cut).unwrap_err(), ProtobufError::Truncated);
}
