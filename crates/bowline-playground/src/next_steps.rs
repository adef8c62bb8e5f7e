//! What a person can do next, as commands to copy.

use std::path::PathBuf;

/// The files that the commands name.
pub(crate) struct Files {
    /// For kubectl.
    pub(crate) kubeconfig: PathBuf,
    /// For openstack.
    pub(crate) clouds_yaml: PathBuf,
    /// For the manager, and for those who look at its work.
    pub(crate) conf: PathBuf,
    /// What the manager says.
    pub(crate) log: PathBuf,
}

/// The commands, in a cluster with so many nodes; with the address of the status page, if there is one.
pub(crate) fn next_steps(files: &Files, nodes: usize, page: Option<&str>) -> String {
    let Files { kubeconfig, clouds_yaml, conf, log } = files;
    let (kubeconfig, clouds_yaml, conf, log) =
        (kubeconfig.display(), clouds_yaml.display(), conf.display(), log.display());
    let next = nodes + 1;
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

  bowline explain svc/web --cloud-config {conf}    # with KUBECONFIG as above; also: status, plan --all, doctor
  tail -f {log}    # what the manager says"
    )
}
