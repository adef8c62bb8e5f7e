//go:build tools

// Package tools keeps the commands of Kubernetes that we build in go.mod, so that `go mod tidy` does not drop them.
package tools

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
