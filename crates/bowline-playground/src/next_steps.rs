//! What a person can do next, as commands to copy.

use std::path::Path;

/// The commands for the files in a folder; with the address of the status page, if there is one.
pub(crate) fn next_steps(kubeconfig: &Path, clouds_yaml: &Path, log: &Path, page: Option<&str>) -> String {
    let (kubeconfig, clouds_yaml) = (kubeconfig.display(), clouds_yaml.display());
    let page = page.map(|page| format!("\n  {page}    # the status page, live\n")).unwrap_or_default();
    format!(
        "\
Look around, from another terminal:
{page}
  export KUBECONFIG={kubeconfig}
  kubectl get nodes -o wide
  kubectl create service loadbalancer shop --tcp=80:8080
  kubectl get service shop --watch
  kubectl annotate service shop loadbalancer.openstack.org/keep-floatingip=true
  kubectl describe service shop
  kubectl delete service shop

  export OS_CLIENT_CONFIG_FILE={clouds_yaml} OS_CLOUD=sim
  openstack loadbalancer list
  openstack server delete node-3                  # its Node goes; the load balancers forget it
  openstack server create --flavor m1.tiny --image tiny --network k8s-net node-4    # its Node joins

  tail -f {}              # what the manager says",
        log.display()
    )
}
