//! The container image without a container runtime: the static binary, certificates and a user, as an OCI image layout in a tar file. Any tool that
//! knows the format loads it (`podman load`, `skopeo copy oci-archive:…`, `ctr images import`).
//!
//! Uses `tar`, `gzip` and `sha256sum`; the same input gives the same bytes. deploy/Containerfile makes the same image where there is a runtime.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::run::{cargo, run, workspace_root};
use crate::sbom::{quoted, sbom};

/// The profile of cargo that what is shipped is built with, which is also the name of its folder.
pub(crate) const PROFILE: &str = "dist";
/// An image may not be larger, compressed.
const BYTES_MAX: u64 = 25 * 1024 * 1024;
/// Nor may the program in it: see docs/explanation/performance.md.
const PROGRAM_BYTES_MAX: u64 = 20_000_000;
/// Nobody on the host; the chart says the same.
const USER: &str = "65532:65532";
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The architectures, as OCI and as Rust name them.
const TARGETS: [(&str, &str); 2] =
    [("amd64", "x86_64-unknown-linux-musl"), ("arm64", "aarch64-unknown-linux-musl")];

/// Builds the binary for an architecture, unless one is given, and packs it.
pub(crate) fn image(architecture: &str, binary: Option<&Path>, out: &Path) -> anyhow::Result<()> {
    let Some((_, target)) = TARGETS.iter().find(|(name, _)| *name == architecture) else {
        bail!("no architecture {architecture:?}; wanted amd64 or arm64");
    };
    let binary = match binary {
        Some(binary) => binary.to_owned(),
        None => build(target)?,
    };
    require_static(&binary)?;
    require_small(&binary)?;
    fs::create_dir_all(out).with_context(|| format!("create {}", out.display()))?;
    let name = format!("bowline-{}-{architecture}", env!("CARGO_PKG_VERSION"));
    let place = out.join(format!("{name}.oci.tar"));
    pack(&binary, architecture, &place)?;
    sbom(target, &out.join(format!("{name}.spdx.json")))?;
    let size = fs::metadata(&place)?.len();
    println!("      {}: {:.1} MB", place.display(), size as f64 / 1e6);
    if size > BYTES_MAX {
        bail!("the image has {size} bytes; wanted at most {BYTES_MAX}");
    }
    Ok(())
}

/// What is shipped: without the playground.
pub(crate) const SHIPPED: [&str; 7] =
    ["build", "--locked", "--profile", PROFILE, "--package", "bowline", "--no-default-features"];

fn build(target: &str) -> anyhow::Result<PathBuf> {
    run(cargo(&SHIPPED).args(["--target", target]))?;
    let folder =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace_root().join("target"), PathBuf::from);
    Ok(folder.join(target).join(PROFILE).join("bowline"))
}

/// There is no loader in the image: a binary that asks for one would not start.
fn require_static(binary: &Path) -> anyhow::Result<()> {
    let bytes = fs::read(binary).with_context(|| format!("read {}", binary.display()))?;
    let asks_for_loader = [b"/lib64/ld-linux".as_slice(), b"/lib/ld-musl", b"/lib/ld-linux"]
        .iter()
        .any(|loader| bytes.windows(loader.len()).take(64 * 1024).any(|part| part == *loader));
    if !bytes.starts_with(b"\x7fELF") || asks_for_loader {
        bail!("{} is no static binary; wanted one for a target with musl", binary.display());
    }
    Ok(())
}

/// What grows unseen is seen here.
fn require_small(binary: &Path) -> anyhow::Result<()> {
    let size = fs::metadata(binary).with_context(|| format!("look at {}", binary.display()))?.len();
    if size > PROGRAM_BYTES_MAX {
        bail!(
            "{} has {size} bytes; wanted at most {PROGRAM_BYTES_MAX}. Build it as it is shipped (`cargo {}`, with a target of musl), and see with              `cargo bloat --crates` which crate has grown",
            binary.display(),
            SHIPPED.join(" ")
        );
    }
    Ok(())
}

fn pack(binary: &Path, architecture: &str, place: &Path) -> anyhow::Result<()> {
    let work = place.with_extension("work");
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    let (root, layout) = (work.join("root"), work.join("layout"));
    lay_out(binary, &root)?;
    fs::create_dir_all(layout.join("blobs/sha256"))?;
    let layer = work.join("layer.tar");
    archive(&root, &layer)?;
    let diff_id = digest(&layer)?;
    run(Command::new("gzip").args(["--no-name", "--best"]).arg(&layer))?;
    let layer = blob(&layout, &work.join("layer.tar.gz"), "application/vnd.oci.image.layer.v1.tar+gzip")?;
    let config = work.join("config.json");
    fs::write(&config, config_text(architecture, &diff_id))?;
    let config = blob(&layout, &config, "application/vnd.oci.image.config.v1+json")?;
    let manifest = work.join("manifest.json");
    let media = "application/vnd.oci.image.manifest.v1+json";
    let text = format!(
        "{{\"schemaVersion\":2,\"mediaType\":\"{media}\",\"config\":{{{config}}},\"layers\":[{{{layer}}}]}}"
    );
    fs::write(&manifest, text)?;
    let manifest = blob(&layout, &manifest, media)?;
    let platform = format!("\"platform\":{{\"architecture\":\"{architecture}\",\"os\":\"linux\"}}");
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("\"annotations\":{{\"org.opencontainers.image.ref.name\":\"{version}\"}}");
    fs::write(
        layout.join("index.json"),
        format!("{{\"schemaVersion\":2,\"manifests\":[{{{manifest},{platform},{name}}}]}}"),
    )?;
    fs::write(layout.join("oci-layout"), "{\"imageLayoutVersion\":\"1.0.0\"}")?;
    archive(&layout, place)?;
    fs::remove_dir_all(&work)?;
    Ok(())
}

/// The files of the image. The second name of the binary is that of the manager it takes the place of.
fn lay_out(binary: &Path, root: &Path) -> anyhow::Result<()> {
    for folder in ["usr/bin", "bin", "etc/ssl/certs"] {
        fs::create_dir_all(root.join(folder))?;
    }
    let program = root.join("usr/bin/bowline");
    fs::copy(binary, &program)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    symlink("/usr/bin/bowline", root.join("bin/openstack-cloud-controller-manager"))?;
    fs::copy(CERTIFICATES, root.join("etc/ssl/certs/ca-certificates.crt"))
        .with_context(|| format!("{CERTIFICATES}: install ca-certificates"))?;
    fs::write(root.join("etc/passwd"), "nonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")?;
    fs::write(root.join("etc/group"), "nonroot:x:65532:\n")?;
    Ok(())
}

/// A tar file that is the same for the same files, whoever makes it and when.
pub(crate) fn archive(folder: &Path, place: &Path) -> anyhow::Result<()> {
    let mut command = Command::new("tar");
    command.args(["--create", "--format=ustar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    command.args(["--mtime=@0", "--mode=u+rwX,go+rX,go-w"]).arg("--file").arg(place);
    run(command.arg("--directory").arg(folder).arg("."))
}

fn digest(path: &Path) -> anyhow::Result<String> {
    let output = Command::new("sha256sum").arg(path).output().context("run sha256sum")?;
    let text = String::from_utf8(output.stdout)?;
    let digest =
        text.split_whitespace().next().with_context(|| format!("no digest of {}", path.display()))?;
    Ok(format!("sha256:{digest}"))
}

/// Puts a file among the blobs; the answer is what refers to it.
fn blob(layout: &Path, file: &Path, media: &str) -> anyhow::Result<String> {
    let digest = digest(file)?;
    let name = digest.strip_prefix("sha256:").unwrap_or(&digest);
    let size = fs::copy(file, layout.join("blobs/sha256").join(name))?;
    Ok(format!("\"mediaType\":\"{media}\",\"digest\":\"{digest}\",\"size\":{size}"))
}

fn config_text(architecture: &str, diff_id: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let labels = [
        ("org.opencontainers.image.title", "bowline"),
        ("org.opencontainers.image.description", "A cloud-controller-manager for OpenStack"),
        ("org.opencontainers.image.licenses", "Apache-2.0"),
        ("org.opencontainers.image.version", version),
    ];
    let labels = labels.map(|(name, value)| format!("{}:{}", quoted(name), quoted(value))).join(",");
    format!(
        "{{\"architecture\":\"{architecture}\",\"os\":\"linux\",\"created\":\"1970-01-01T00:00:00Z\",\"config\":{{\"User\":\"{USER}\",\
         \"Env\":[\"PATH=/usr/bin:/bin\",\"SSL_CERT_FILE={CERTIFICATES}\"],\"Entrypoint\":[\"/usr/bin/bowline\"],\"WorkingDir\":\"/\",\
         \"Labels\":{{{labels}}}}},\"rootfs\":{{\"type\":\"layers\",\"diff_ids\":[\"{diff_id}\"]}}}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("bowline-image-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn the_same_binary_gives_the_same_image() {
        if !Path::new(CERTIFICATES).is_file() {
            println!("not tested: no {CERTIFICATES}");
            return;
        }
        let folder = folder("same");
        let binary = folder.join("bowline");
        fs::write(&binary, b"\x7fELF static").unwrap();
        let [first, second] = ["first.tar", "second.tar"].map(|name| folder.join(name));
        pack(&binary, "amd64", &first).unwrap();
        pack(&binary, "amd64", &second).unwrap();
        assert_eq!(fs::read(&first).unwrap(), fs::read(&second).unwrap());
        let listed = Command::new("tar").arg("--list").arg("--file").arg(&first).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        assert!(
            listed.contains("./index.json") && listed.matches("./blobs/sha256/").count() == 4,
            "{listed}"
        );
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_binary_that_has_grown_is_refused_and_it_is_said_what_to_do() {
        let folder = folder("grown");
        let binary = folder.join("bowline");
        let file = fs::File::create(&binary).unwrap();
        file.set_len(PROGRAM_BYTES_MAX).unwrap();
        require_small(&binary).unwrap();
        file.set_len(PROGRAM_BYTES_MAX + 1).unwrap();
        let refused = require_small(&binary).unwrap_err().to_string();
        assert!(refused.contains("20000001 bytes") && refused.contains("--profile dist"), "{refused}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_binary_that_asks_for_a_loader_is_refused() {
        let folder = folder("loader");
        let binary = folder.join("bowline");
        fs::write(&binary, b"\x7fELF....../lib64/ld-linux-x86-64.so.2").unwrap();
        assert!(require_static(&binary).unwrap_err().to_string().contains("no static binary"));
        fs::write(&binary, b"\x7fELF........").unwrap();
        require_static(&binary).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }
}
