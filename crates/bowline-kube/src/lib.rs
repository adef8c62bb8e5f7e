//! bowline-kube
