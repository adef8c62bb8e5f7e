// The cloud-controller-manager of k8s.io/cloud-provider itself, with all its controllers, over its fake cloud: what ours is
// compared with. What the cloud holds comes from a state file that is read again for every answer, and every call that
// changes the cloud is written down; see cloud.go.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/fake"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"
)

// The value of --cloud-provider, and the scheme of provider IDs.
const providerName = "scripted"

func main() {
	cloudprovider.RegisterCloudProvider(providerName, newCloud)
	managerOptions, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		klog.Fatal(err)
	}
	command := app.NewCloudControllerManagerCommand(managerOptions, initCloud, app.DefaultInitFuncConstructors,
		names.CCMControllerAliases(), cliflag.NamedFlagSets{}, wait.NeverStop)
	os.Exit(cli.Run(command))
}

func initCloud(config *config.CompletedConfig) cloudprovider.Interface {
	given := config.ComponentConfig.KubeCloudShared.CloudProvider
	cloud, err := cloudprovider.InitCloudProvider(given.Name, given.CloudConfigFile)
	if err != nil || cloud == nil {
		klog.Fatalf("no cloud %q: %v", given.Name, err)
	}
	return cloud
}

// files is the --cloud-config: where the state is, and where calls are written down.
type files struct {
	State string `json:"state"`
	Calls string `json:"calls"`
}

func newCloud(text io.Reader) (cloudprovider.Interface, error) {
	var at files
	if err := json.NewDecoder(text).Decode(&at); err != nil {
		return nil, fmt.Errorf("--cloud-config: %w", err)
	}
	calls, err := os.OpenFile(at.Calls, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	made := &cloud{
		Cloud:     &fake.Cloud{Provider: providerName, EnableInstancesV2: true, RouteMap: map[string]*fake.Route{}},
		stateFile: at.State,
		calls:     json.NewEncoder(calls),
		balancers: map[string]bool{},
	}
	return made, made.recall(calls)
}
