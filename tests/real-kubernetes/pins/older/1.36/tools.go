//go:build tools

// Package tools keeps the server that we build in go.mod, so that `go mod tidy` does not drop it.
package tools

import _ "k8s.io/kubernetes/cmd/kube-apiserver"
