//! The operator on the real kube-apiserver. No controller runs there: what kubelets and controllers would say, tests say.

mod applying;
