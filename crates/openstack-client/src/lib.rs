//! A thin typed client for the OpenStack services that a cloud-controller-manager needs.
