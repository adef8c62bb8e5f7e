//! What a person can do next, as commands to copy.

use std::path::{Path, PathBuf};

/// The files that the commands name.
pub(crate) struct Files {
    /// How this program is called from here.
    pub(crate) program: PathBuf,
    /// For kubectl.
    pub(crate) kubeconfig: PathBuf,
    /// For openstack.
    pub(crate) clouds_yaml: PathBuf,
    /// For the manager, and for those who look at its work.
    pub(crate) conf: PathBuf,
    /// What the manager says.
    pub(crate) log: PathBuf,
}

/// How a program at `path` is called in the folder `here`: by its name if one of `folders`, where the shell looks, holds it.
/// Cargo leaves it where nobody looks.
pub(crate) fn called(path: &Path, here: &Path, mut folders: impl Iterator<Item = PathBuf>) -> PathBuf {
    let is_found = folders.any(|folder| path.parent() == Some(&folder));
    let name = path.file_name().filter(|_name| is_found).map(Path::new);
    name.or_else(|| path.strip_prefix(here).ok()).unwrap_or(path).to_owned()
}

/// The commands, in a cluster with so many nodes; with the address of the status page, if there is one.
pub(crate) fn next_steps(files: &Files, nodes: usize, page: Option<&str>) -> String {
    let Files { program, kubeconfig, clouds_yaml, conf, log } = files;
    let (program, kubeconfig, clouds_yaml, conf, log) =
        (program.display(), kubeconfig.display(), clouds_yaml.display(), conf.display(), log.display());
    let next = nodes + 1;
    let asked = page.map(|page| {
        format!("\n  {program} status --cloud-config {conf} --url {page}    # with breaker and budgets, as the manager tells them")
    });
    let asked = asked.unwrap_or_default();
    let page = page.map(|page| format!("\n  {page}    # the status page, live\n")).unwrap_or_default();
    format!(
        "\
Look around, from another terminal:
{page}
  export KUBECONFIG={kubeconfig}
  kubectl get nodes -o wide
  kubectl create service loadbalancer shop --tcp=80:8080
  kubectl get service shop --watch
  kubectl annotate service shop loadbalancer.openstack.org/connection-limit=500
  kubectl describe service shop
  kubectl delete service shop

  export OS_CLIENT_CONFIG_FILE={clouds_yaml} OS_CLOUD=sim
  openstack loadbalancer list
  openstack server delete node-{nodes}    # its Node goes, and the load balancers forget it
  openstack server create --flavor m1.tiny --image tiny --network k8s-net node-{next}    # its Node joins

  {program} explain svc/web --cloud-config {conf}    # with KUBECONFIG as above; also: plan --all, drift, doctor{asked}
  tail -f {log}    # what the manager says"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_called_by_what_the_shell_finds() {
        let built = Path::new("/home/me/bowline/target/release/bowline");
        let called = |path, here, folders: &[&str]| {
            called(path, Path::new(here), folders.iter().map(PathBuf::from)).display().to_string()
        };
        assert_eq!(called(built, "/home/me/bowline", &["/usr/bin"]), "target/release/bowline");
        assert_eq!(called(built, "/tmp", &["/usr/bin"]), "/home/me/bowline/target/release/bowline");
        assert_eq!(called(Path::new("/usr/bin/bowline"), "/tmp", &["/bin", "/usr/bin"]), "bowline");
    }
}
