// A candidate in a leader election that uses client-go itself: what a Go cloud-controller-manager does with its Lease. It
// prints a JSON line when it begins and when it stops to lead, and ends on SIGTERM.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	namespace := flag.String("namespace", "kube-system", "the namespace of the Lease")
	name := flag.String("name", "cloud-controller-manager", "the name of the Lease")
	identity := flag.String("identity", "go-host_1", "who we are")
	leaseDuration := flag.Duration("lease-duration", 15*time.Second, "as the flag of a manager")
	renewDeadline := flag.Duration("renew-deadline", 10*time.Second, "as the flag of a manager")
	retryPeriod := flag.Duration("retry-period", 2*time.Second, "as the flag of a manager")
	release := flag.Bool("release", false, "give the Lease back at the end, which Go managers do not")
	flag.Parse()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: *namespace, Name: *name},
			Client:     kubernetes.NewForConfigOrDie(config).CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: *identity},
		},
		LeaseDuration:   *leaseDuration,
		RenewDeadline:   *renewDeadline,
		RetryPeriod:     *retryPeriod,
		ReleaseOnCancel: *release,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { say("leading", *identity) },
			OnStoppedLeading: func() { say("stopped", *identity) },
			OnNewLeader:      func(leader string) { say("sees", leader) },
		},
	})
}

func say(event, identity string) {
	line := map[string]string{"at": time.Now().UTC().Format(time.RFC3339Nano), "event": event, "identity": identity}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		log.Fatal(err)
	}
}
