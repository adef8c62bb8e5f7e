//go:build tools

// Package occm pins the released program that the tests run; nothing of it is built into ours.
package occm

import _ "k8s.io/cloud-provider-openstack/cmd/openstack-cloud-controller-manager"
