//! The rows of the table. The order is that of the reference page.

use super::Field::{
    ClassText, Duration, Flag, Ignored, Integer, List, RuleFlag, RuleList, Secret, Text, Unsigned, Word,
};
use super::Mark::{Bowline, Legacy, Obsolete, Undocumented};
use super::Section::{
    BlockStorage, Global, LoadBalancer, LoadBalancerClass, Metadata, Networking, Route, Tenancy,
};
use super::{Field, Key};

const fn global(name: &'static str, field: Field) -> Key {
    Key::new(Global, name, field)
}

const fn balancer(name: &'static str, field: Field) -> Key {
    Key::new(LoadBalancer, name, field)
}

const fn class(name: &'static str, field: Field) -> Key {
    Key::new(LoadBalancerClass, name, field)
}

const fn rule(name: &'static str, field: Field) -> Key {
    Key::new(Tenancy, name, field).mark(Bowline)
}

const OBSOLETE: &str = "Volumes are the work of the CSI driver; remove the key.";

/// All keys.
pub static KEYS: &[Key] = &[
    global("auth-url", Text(|c| &mut c.global.auth_url))
        .clouds_yaml("auth.auth_url")
        .doc("Keystone's address, with or without `/v3` at its end."),
    global("username", Text(|c| &mut c.global.username))
        .clouds_yaml("auth.username")
        .doc("The user's name; needs a user domain. Not together with `user-id`."),
    global("user-id", Text(|c| &mut c.global.user_id))
        .clouds_yaml("auth.user_id")
        .mark(Undocumented)
        .doc("The user's id. Not together with `username` or a user domain."),
    global("password", Secret(|c| &mut c.global.password))
        .clouds_yaml("auth.password")
        .doc("The user's password. Put it into double quotes: outside of them `#` and `;` begin a comment."),
    global("tenant-id", Text(|c| &mut c.global.tenant_id))
        .clouds_yaml("auth.project_id")
        .doc("The project's id; a project domain is then not looked at."),
    global("tenant-name", Text(|c| &mut c.global.tenant_name))
        .clouds_yaml("auth.project_name")
        .doc("The project's name; needs a project domain."),
    global("trust-id", Text(|c| &mut c.global.trust_id))
        .doc("A trust, which then is what the token is for; projects and tokens given beside it are not used."),
    global("trustee-id", Text(|c| &mut c.global.trustee_id))
        .doc("With a trust: the id of the user who was trusted, in place of `user-id`."),
    global("trustee-password", Secret(|c| &mut c.global.trustee_password))
        .doc("With a trust: the password of the user who was trusted, in place of `password`."),
    global("domain-id", Text(|c| &mut c.global.domain_id))
        .clouds_yaml("auth.domain_id")
        .doc("Stands in for a user domain and a project domain that are not given; without a project, what the token is for."),
    global("domain-name", Text(|c| &mut c.global.domain_name))
        .clouds_yaml("auth.domain_name")
        .doc("As `domain-id`, by name."),
    global("tenant-domain-id", Text(|c| &mut c.global.tenant_domain_id))
        .clouds_yaml("auth.project_domain_id")
        .doc("The id of the project's domain."),
    global("tenant-domain-name", Text(|c| &mut c.global.tenant_domain_name))
        .clouds_yaml("auth.project_domain_name")
        .doc("The name of the project's domain."),
    global("user-domain-id", Text(|c| &mut c.global.user_domain_id))
        .clouds_yaml("auth.user_domain_id")
        .doc("The id of the user's domain. Not together with `user-domain-name`."),
    global("user-domain-name", Text(|c| &mut c.global.user_domain_name))
        .clouds_yaml("auth.user_domain_name")
        .doc("The name of the user's domain. Not together with `user-domain-id`."),
    global("region", Text(|c| &mut c.global.region))
        .clouds_yaml("region_name")
        .doc("The region whose endpoints are used, and the region label of Nodes. Without it the first endpoint of each service is used."),
    global("os-endpoint-type", Word(|c| &mut c.global.endpoint_type))
        .clouds_yaml("interface, endpoint_type")
        .doc("`public`, `internal` or `admin`: which of its addresses each service is called at. Not given means public; an empty value is an error."),
    global("ca-file", Text(|c| &mut c.global.ca_file))
        .clouds_yaml("cacert")
        .of_machine().doc("The path of a PEM file with the certificates that are believed, in place of the system's."),
    global("CAFileContents", Text(|c| &mut c.global.ca_file_contents))
        .mark(Undocumented)
        .doc("The certificates themselves, in PEM; used only if `ca-file` is empty."),
    global("cert-file", Text(|c| &mut c.global.cert_file))
        .clouds_yaml("cert")
        .of_machine().doc("The path of our own certificate in PEM; used only together with `key-file`."),
    global("key-file", Text(|c| &mut c.global.key_file))
        .clouds_yaml("key")
        .of_machine().doc("The path of the key of our own certificate in PEM; used only together with `cert-file`."),
    global("tls-insecure", Text(|c| &mut c.global.tls_insecure))
        .doc("Exactly `true` believes any certificate; every other text does not. For test clouds only."),
    global("allow-insecure-endpoints", Flag(|c| &mut c.global.allow_insecure_endpoints))
        .default("false")
        .mark(Bowline)
        .doc("Uses endpoints of the catalog that begin with `http://` although `auth-url` begins with `https://`. The token is then readable for everybody on the way. Without it such a service is not called; the others are."),
    global("token", Secret(|c| &mut c.global.token))
        .clouds_yaml("auth.token")
        .doc("A token that somebody else got; needs a project or a domain. When it runs out, nothing can renew it."),
    global("use-clouds", Flag(|c| &mut c.global.use_clouds))
        .default("false")
        .of_machine().doc("Fills what is empty here from a clouds.yaml."),
    global("clouds-file", Text(|c| &mut c.global.clouds_file)).of_machine().doc(
        "The path of that clouds.yaml. If it is not there, the usual places are looked at: the working directory, `~/.config/openstack`, `/etc/openstack`.",
    ),
    global("cloud", Text(|c| &mut c.global.cloud)).of_machine().doc(
        "The cloud in clouds.yaml; else the variable `OS_CLOUD`, else the only one that there is. With it, user, password, project and domains come from clouds.yaml alone, also if they are given here.",
    ),
    global("application-credential-id", Text(|c| &mut c.global.application_credential_id))
        .clouds_yaml("auth.application_credential_id")
        .doc("The id of an application credential. It has its project built in."),
    global("application-credential-name", Text(|c| &mut c.global.application_credential_name))
        .clouds_yaml("auth.application_credential_name")
        .doc("The name of an application credential; needs its user."),
    global("application-credential-secret", Secret(|c| &mut c.global.application_credential_secret))
        .clouds_yaml("auth.application_credential_secret")
        .doc("The secret of the application credential."),
    global("secret-name", Text(|c| &mut c.global.secret_name))
        .mark(Legacy)
        .doc("A Secret that holds more of this configuration: its `clouds.conf` is read after this file and wins over it, its `clouds.yaml` is used in place of a file. It is watched."),
    global("secret-namespace", Text(|c| &mut c.global.secret_namespace))
        .mark(Legacy)
        .doc("The namespace of that Secret. Without it `secret-name` has no effect."),
    global("kubeconfig-path", Text(|c| &mut c.global.kubeconfig_path))
        .mark(Legacy)
        .of_machine().doc("The kubeconfig with which that Secret is read; empty is the manager's own access."),
    balancer("enabled", Flag(|c| &mut c.load_balancer.enabled))
        .default("true")
        .doc("Without it no Service gets a load balancer, and Octavia is not needed."),
    balancer("lb-version", Text(|c| &mut c.load_balancer.lb_version))
        .doc("Empty or `v2`, the only version that there is."),
    balancer("lb-provider", Text(|c| &mut c.load_balancer.lb_provider))
        .default("amphora")
        .doc("Octavia's provider for new load balancers: `amphora`, `octavia`, `amphorav2`, `ovn` or `f5`. Others are tried with a warning."),
    balancer("lb-method", Text(|c| &mut c.load_balancer.lb_method))
        .default("ROUND_ROBIN")
        .doc("How connections are spread over the members. OVN needs `SOURCE_IP_PORT`."),
    balancer("subnet-id", Text(|c| &mut c.load_balancer.subnet_id))
        .doc("The subnet of the load balancer's address, and of its members unless `member-subnet-id` is given."),
    balancer("member-subnet-id", Text(|c| &mut c.load_balancer.member_subnet_id))
        .doc("The subnet of the members."),
    balancer("network-id", Text(|c| &mut c.load_balancer.network_id))
        .doc("The network of the load balancer's address."),
    balancer("floating-network-id", Text(|c| &mut c.load_balancer.floating_network_id))
        .doc("The network that floating IPs come from; if it is empty, the external network is looked for."),
    balancer("floating-subnet-id", Text(|c| &mut c.load_balancer.floating_subnet_id))
        .doc("The subnet that floating IPs come from; wins over the next two."),
    balancer("floating-subnet", Text(|c| &mut c.load_balancer.floating_subnet))
        .doc("A pattern for the name of that subnet: a glob, or a regular expression after `~`; `!` in front negates."),
    balancer("floating-subnet-tags", Text(|c| &mut c.load_balancer.floating_subnet_tags))
        .doc("Tags of that subnet, with commas between: any of them; after `&` all of them; `!` in front negates."),
    balancer("create-monitor", Flag(|c| &mut c.load_balancer.create_monitor))
        .default("false")
        .doc("Gives every pool a health monitor, unless the Service says otherwise."),
    balancer("monitor-delay", Duration(|c| &mut c.load_balancer.monitor_delay))
        .default("5s")
        .doc("The time between two checks of a member, cut to whole seconds."),
    balancer("monitor-timeout", Duration(|c| &mut c.load_balancer.monitor_timeout))
        .default("3s")
        .doc("How long a check may take, cut to whole seconds."),
    balancer("monitor-max-retries", Unsigned(|c| &mut c.load_balancer.monitor_max_retries))
        .default("1")
        .doc("After how many good checks a member is up."),
    balancer("monitor-max-retries-down", Unsigned(|c| &mut c.load_balancer.monitor_max_retries_down))
        .default("3")
        .doc("After how many bad checks a member is down."),
    balancer("manage-security-groups", Flag(|c| &mut c.load_balancer.manage_security_groups))
        .default("false")
        .doc("Opens the node ports of Services in a security group of their own."),
    balancer("internal-lb", Flag(|c| &mut c.load_balancer.internal_lb))
        .default("false")
        .doc("Makes every load balancer internal: none gets a floating IP, whatever its Service says."),
    balancer("node-selector", Text(|c| &mut c.load_balancer.node_selector))
        .doc("Which Nodes become members, as `key=value,key2`, unless the Service says otherwise."),
    balancer("cascade-delete", Flag(|c| &mut c.load_balancer.cascade_delete))
        .default("true")
        .doc("Deletes a load balancer with all its parts in one call."),
    balancer("flavor-id", Text(|c| &mut c.load_balancer.flavor_id))
        .doc("Octavia's flavor for new load balancers; OVN has none."),
    balancer("availability-zone", Text(|c| &mut c.load_balancer.availability_zone))
        .doc("Octavia's availability zone for new load balancers; OVN has none."),
    balancer("enable-ingress-hostname", Flag(|c| &mut c.load_balancer.enable_ingress_hostname))
        .default("false")
        .doc("With the PROXY protocol: publishes a host name in place of the address, so that traffic from inside the cluster goes through the load balancer."),
    balancer("ingress-hostname-suffix", Text(|c| &mut c.load_balancer.ingress_hostname_suffix))
        .default("nip.io")
        .doc("What comes behind the address in that host name."),
    balancer("max-shared-lb", Integer(|c| &mut c.load_balancer.max_shared_lb))
        .default("2")
        .doc("How many Services may share a load balancer, its owner included."),
    balancer("container-store", Text(|c| &mut c.load_balancer.container_store))
        .default("barbican")
        .doc("Where certificates are kept. `barbican` checks that they are there; any other name does not."),
    balancer("default-tls-container-ref", Text(|c| &mut c.load_balancer.default_tls_container_ref))
        .doc("The certificate of every Service that does not name one."),
    balancer(
        "provider-requires-serial-api-calls",
        Flag(|c| &mut c.load_balancer.provider_requires_serial_api_calls),
    )
    .default("false")
    .doc("Makes the parts of a load balancer one after the other, for providers of Octavia that want it."),
    balancer("former-cluster-name", List(|c| &mut c.load_balancer.former_cluster_names))
        .mark(Bowline)
        .doc("An earlier `--cluster-name` of this cluster; may be given several times. Load balancers and floating IPs that bear it are this cluster's. Without it, a load balancer of an earlier name is renamed only if the Service's status shows its address, and a floating IP of another cluster is neither attached nor deleted."),
    balancer("use-octavia", Ignored)
        .mark(Obsolete)
        .doc("Octavia is always used; remove the key."),
    class("floating-network-id", ClassText(|c| &mut c.floating_network_id))
        .doc("As in `[LoadBalancer]`, for this class."),
    class("floating-subnet-id", ClassText(|c| &mut c.floating_subnet_id))
        .doc("As in `[LoadBalancer]`, for this class."),
    class("floating-subnet", ClassText(|c| &mut c.floating_subnet))
        .doc("As in `[LoadBalancer]`, for this class."),
    class("floating-subnet-tags", ClassText(|c| &mut c.floating_subnet_tags))
        .doc("As in `[LoadBalancer]`, for this class."),
    class("network-id", ClassText(|c| &mut c.network_id)).doc("As in `[LoadBalancer]`, for this class."),
    class("subnet-id", ClassText(|c| &mut c.subnet_id)).doc("As in `[LoadBalancer]`, for this class."),
    class("member-subnet-id", ClassText(|c| &mut c.member_subnet_id))
        .doc("As in `[LoadBalancer]`, for this class."),
    rule("share-load-balancers", RuleFlag(|r| &mut r.share_load_balancers)).doc(
        "`no` forbids the annotation `load-balancer-id` for every load balancer that is not the Service's own; the default is yes.",
    ),
    rule("join-namespace", RuleList(|r| &mut r.join_namespaces)).doc(
        "Namespaces whose Services' load balancers a Service may join, besides those of its own namespace. Names or patterns; the default is `none`.",
    ),
    rule("join-other-clusters", RuleFlag(|r| &mut r.join_other_clusters)).doc(
        "`yes` allows to join a load balancer that a Service of another cluster made; the default is no.",
    ),
    rule("join-unmanaged", RuleFlag(|r| &mut r.join_unmanaged)).doc(
        "`no` forbids to join a load balancer that no Service made; the default is yes.",
    ),
    rule("floating-ip", RuleList(|r| &mut r.floating_ip)).doc(
        "Floating IPs that a Service may choose, with the annotation `floating-ip` or `spec.loadBalancerIP`: addresses or networks.",
    ),
    rule("floating-network-id", RuleList(|r| &mut r.floating_network_id)).doc(
        "Values of the annotation `floating-network-id`; `*` stands for any characters.",
    ),
    rule("floating-subnet-id", RuleList(|r| &mut r.floating_subnet_id)).doc(
        "Values of the annotation `floating-subnet-id`; `*` stands for any characters.",
    ),
    rule("floating-subnet", RuleList(|r| &mut r.floating_subnet)).doc(
        "Values of the annotation `floating-subnet`, letter by letter, because the annotation is a pattern itself.",
    ),
    rule("floating-subnet-tags", RuleList(|r| &mut r.floating_subnet_tags)).doc(
        "Values of the annotation `floating-subnet-tags`, letter by letter.",
    ),
    rule("vip-address", RuleList(|r| &mut r.vip_address)).doc(
        "Addresses of load balancers that a Service may choose, with the annotation `vip-address` or, for an internal Service, `spec.loadBalancerIP`: addresses or networks.",
    ),
    rule("port-id", RuleList(|r| &mut r.port_id)).doc(
        "Values of the annotation `port-id`; `*` stands for any characters.",
    ),
    rule("network-id", RuleList(|r| &mut r.network_id)).doc(
        "Values of the annotation `network-id`; `*` stands for any characters.",
    ),
    rule("subnet-id", RuleList(|r| &mut r.subnet_id)).doc(
        "Values of the annotation `subnet-id`; `*` stands for any characters.",
    ),
    rule("member-subnet-id", RuleList(|r| &mut r.member_subnet_id)).doc(
        "Values of the annotation `member-subnet-id`; `*` stands for any characters.",
    ),
    rule("flavor-id", RuleList(|r| &mut r.flavor_id)).doc(
        "Values of the annotation `flavor-id`; `*` stands for any characters. The annotation's empty value, which overrides the flavor of `[LoadBalancer]`, is allowed by `any` or `*` only.",
    ),
    rule("availability-zone", RuleList(|r| &mut r.availability_zone)).doc(
        "Values of the annotation `availability-zone`; `*` stands for any characters. The empty value is allowed by `any` or `*` only.",
    ),
    rule("default-tls-container-ref", RuleList(|r| &mut r.tls_container_ref)).doc(
        "Values of the annotation `default-tls-container-ref`; `*` stands for any characters. The empty value, which turns TLS off, is allowed by `any` or `*` only.",
    ),
    rule("class", RuleList(|r| &mut r.class)).doc(
        "Names of `[LoadBalancerClass]` sections that a Service may choose; `*` stands for any characters.",
    ),
    Key::new(Networking, "ipv6-support-disabled", Flag(|c| &mut c.networking.ipv6_support_disabled))
        .default("false")
        .doc("Leaves IPv6 addresses out of the addresses of Nodes."),
    Key::new(Networking, "public-network-name", List(|c| &mut c.networking.public_network_names))
        .doc("Networks whose addresses are external addresses of Nodes."),
    Key::new(Networking, "internal-network-name", List(|c| &mut c.networking.internal_network_names))
        .doc("If given, only addresses in these networks are internal addresses of Nodes."),
    Key::new(Networking, "address-sort-order", Text(|c| &mut c.networking.address_sort_order))
        .doc("CIDRs with commas between: addresses of Nodes come in this order."),
    Key::new(Route, "router-id", Text(|c| &mut c.route.router_id))
        .doc("The router that gets the routes to the Pods; empty makes no routes."),
    Key::new(Metadata, "search-order", Text(|c| &mut c.metadata.search_order))
        .default("configDrive,metadataService")
        .doc("At most two of `configDrive` and `metadataService`, with a comma between. It is checked and not used: no metadata of instances is read."),
    Key::new(Metadata, "request-timeout", Duration(|c| &mut c.metadata.request_timeout))
        .default("60s")
        .mark(Undocumented)
        .doc("How long a call to the cloud may take, authentication included; `0` is the default."),
    Key::new(Metadata, "flavor-label", List(|c| &mut c.metadata.flavor_labels))
        .mark(Bowline)
        .doc("A property of flavors (`extra_specs`) that becomes a label of Nodes, as `PROPERTY=LABEL`, such as `hw:cpu_policy=example.org/cpu-policy`; at most 32. It is read with the servers and costs no call; where Nova is older than 2.47, or its policy hides the properties, there is no label."),
    Key::new(BlockStorage, "bs-version", Ignored).mark(Obsolete).doc(OBSOLETE),
    Key::new(BlockStorage, "trust-device-path", Ignored).mark(Obsolete).doc(OBSOLETE),
    Key::new(BlockStorage, "ignore-volume-az", Ignored).mark(Obsolete).doc(OBSOLETE),
    Key::new(BlockStorage, "node-volume-attach-limit", Ignored).mark(Obsolete).doc(OBSOLETE),
];
