package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/fake"
)

// The fake cloud's clusters are told apart by name; this is the default of --cluster-name.
const clusterName = "kubernetes"

// machine is one instance of the state file.
type machine struct {
	ProviderID string            `json:"providerID"`
	Type       string            `json:"type"`
	Zone       string            `json:"zone"`
	Region     string            `json:"region"`
	Labels     map[string]string `json:"labels"`
	Addresses  []v1.NodeAddress  `json:"addresses"`
	Shutdown   bool              `json:"shutdown"`
}

// seed is a route that is there before the manager starts.
type seed struct {
	Name      string `json:"name"`
	Node      string `json:"node"`
	CIDR      string `json:"cidr"`
	Blackhole bool   `json:"blackhole"`
}

// state is the state file.
type state struct {
	Instances map[string]machine                  `json:"instances"`
	Ingress   map[string][]v1.LoadBalancerIngress `json:"ingress"`
	Routes    []seed                              `json:"routes"`
	Errors    map[string]string                   `json:"errors"`
}

// call is one line of what was asked of the cloud.
type call struct {
	Op     string   `json:"op"`
	Target string   `json:"target"`
	Hosts  []string `json:"hosts,omitempty"`
	Ports  []string `json:"ports,omitempty"`
	Failed bool     `json:"failed,omitempty"`
}

// cloud is the fake cloud with answers from the state file.
type cloud struct {
	*fake.Cloud
	stateFile string
	lock      sync.Mutex
	calls     *json.Encoder
	balancers map[string]bool
}

func (c *cloud) state() (state, error) {
	var read state
	text, err := os.ReadFile(c.stateFile)
	if err != nil {
		return read, err
	}
	return read, json.Unmarshal(text, &read)
}

// ordered is the error that the state file orders for an operation, or for it on one target.
func (s state) ordered(op, target string) error {
	for _, key := range []string{op, op + "/" + target} {
		if text, there := s.Errors[key]; there {
			return errors.New(text)
		}
	}
	return nil
}

// noted writes a call down and passes its error on.
func (c *cloud) noted(made call, err error) error {
	made.Failed = err != nil
	c.lock.Lock()
	defer c.lock.Unlock()
	return errors.Join(err, c.calls.Encode(made))
}

func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool)   { return c, true }
func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return c, true }
func (c *cloud) Routes() (cloudprovider.Routes, bool)             { return c, true }

// find looks by provider ID if the Node has one, else by name.
func (c *cloud) find(node *v1.Node) (*machine, error) {
	read, err := c.state()
	if err != nil {
		return nil, err
	}
	if err := read.ordered("instances", node.Name); err != nil {
		return nil, err
	}
	if found, there := read.Instances[node.Name]; there && node.Spec.ProviderID == "" {
		return &found, nil
	}
	for _, found := range read.Instances {
		if node.Spec.ProviderID != "" && node.Spec.ProviderID == found.ProviderID {
			return &found, nil
		}
	}
	return nil, nil
}

func (c *cloud) InstanceExists(_ context.Context, node *v1.Node) (bool, error) {
	found, err := c.find(node)
	return found != nil, err
}

func (c *cloud) InstanceShutdown(_ context.Context, node *v1.Node) (bool, error) {
	found, err := c.find(node)
	return found != nil && found.Shutdown, err
}

func (c *cloud) InstanceMetadata(_ context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	found, err := c.find(node)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, cloudprovider.InstanceNotFound
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:       found.ProviderID,
		InstanceType:     found.Type,
		NodeAddresses:    found.Addresses,
		Zone:             found.Zone,
		Region:           found.Region,
		AdditionalLabels: found.Labels,
	}, nil
}

func nameOf(service *v1.Service) string { return service.Namespace + "/" + service.Name }

func hostsOf(nodes []*v1.Node) []string {
	hosts := []string{}
	for _, node := range nodes {
		hosts = append(hosts, node.Name)
	}
	sort.Strings(hosts)
	return hosts
}

func portsOf(service *v1.Service) []string {
	ports := []string{}
	for _, port := range service.Spec.Ports {
		ports = append(ports, string(port.Protocol)+"/"+strconv.Itoa(int(port.Port)))
	}
	return ports
}

func (c *cloud) GetLoadBalancer(_ context.Context, _ string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	read, err := c.state()
	if err == nil {
		err = read.ordered("get", nameOf(service))
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	return &v1.LoadBalancerStatus{Ingress: read.Ingress[nameOf(service)]}, c.balancers[nameOf(service)], err
}

func (c *cloud) EnsureLoadBalancer(_ context.Context, _ string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	read, err := c.state()
	if err == nil {
		err = read.ordered("ensure", nameOf(service))
	}
	made := call{Op: "ensure", Target: nameOf(service), Hosts: hostsOf(nodes), Ports: portsOf(service)}
	if err := c.noted(made, err); err != nil {
		return nil, err
	}
	c.keep(nameOf(service), true)
	return &v1.LoadBalancerStatus{Ingress: read.Ingress[nameOf(service)]}, nil
}

func (c *cloud) UpdateLoadBalancer(_ context.Context, _ string, service *v1.Service, nodes []*v1.Node) error {
	read, err := c.state()
	if err == nil {
		err = read.ordered("update", nameOf(service))
	}
	return c.noted(call{Op: "update", Target: nameOf(service), Hosts: hostsOf(nodes)}, err)
}

func (c *cloud) EnsureLoadBalancerDeleted(_ context.Context, _ string, service *v1.Service) error {
	read, err := c.state()
	if err == nil {
		err = read.ordered("delete", nameOf(service))
	}
	if err := c.noted(call{Op: "delete", Target: nameOf(service)}, err); err != nil {
		return err
	}
	c.keep(nameOf(service), false)
	return nil
}

// keep remembers whether a Service has a load balancer.
func (c *cloud) keep(service string, there bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.balancers[service] = there
}

// recall puts into the cloud what the state file says was there, and what calls of an earlier manager have changed.
func (c *cloud) recall(earlier *os.File) error {
	read, err := c.state()
	if err != nil {
		return err
	}
	for _, given := range read.Routes {
		route := cloudprovider.Route{Name: given.Name, TargetNode: types.NodeName(given.Node), DestinationCIDR: given.CIDR,
			Blackhole: given.Blackhole}
		c.RouteMap[given.Name] = &fake.Route{ClusterName: clusterName, Route: route}
	}
	lines := bufio.NewScanner(earlier)
	for lines.Scan() {
		var made call
		if err := json.Unmarshal(lines.Bytes(), &made); err != nil {
			return err
		}
		if !made.Failed {
			c.repeat(made)
		}
	}
	return lines.Err()
}

// repeat does to the memory what a call did.
func (c *cloud) repeat(made call) {
	node, cidr, _ := strings.Cut(made.Target, " ")
	switch made.Op {
	case "ensure", "delete":
		c.keep(made.Target, made.Op == "ensure")
	case "create-route":
		c.RouteMap[made.Target] = &fake.Route{ClusterName: clusterName, Route: cloudprovider.Route{
			Name: made.Target, TargetNode: types.NodeName(node), DestinationCIDR: cidr}}
	case "delete-route":
		for name, kept := range c.RouteMap {
			if kept.Route.DestinationCIDR == cidr && string(kept.Route.TargetNode) == node {
				delete(c.RouteMap, name)
			}
		}
	}
}

func (c *cloud) ListRoutes(ctx context.Context, cluster string) ([]*cloudprovider.Route, error) {
	read, err := c.state()
	if err == nil {
		err = read.ordered("list-routes", "")
	}
	if err != nil {
		return nil, err
	}
	return c.Cloud.ListRoutes(ctx, cluster)
}

func (c *cloud) CreateRoute(ctx context.Context, cluster, hint string, route *cloudprovider.Route) error {
	read, err := c.state()
	if err == nil {
		err = read.ordered("create-route", string(route.TargetNode))
	}
	made := call{Op: "create-route", Target: string(route.TargetNode) + " " + route.DestinationCIDR}
	if err := c.noted(made, err); err != nil {
		return err
	}
	return c.Cloud.CreateRoute(ctx, cluster, hint, route)
}

func (c *cloud) DeleteRoute(ctx context.Context, cluster string, route *cloudprovider.Route) error {
	read, err := c.state()
	if err == nil {
		err = read.ordered("delete-route", route.Name)
	}
	made := call{Op: "delete-route", Target: string(route.TargetNode) + " " + route.DestinationCIDR}
	if err := c.noted(made, err); err != nil {
		return err
	}
	return c.Cloud.DeleteRoute(ctx, cluster, route)
}
