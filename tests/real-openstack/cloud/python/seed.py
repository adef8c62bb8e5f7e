"""Fills the cloud with what the tests need. Each part may be run again: it makes what is missing and leaves the rest.

    seed.py catalog                service users, roles, endpoints in both regions; needs Keystone alone
    seed.py management FILE        the network of the amphorae, written to FILE as configuration for Octavia; needs Neutron
    seed.py estate FILE            projects, users, networks, servers; their ids are written to FILE as JSON; needs everything

The administrator's login is in the OS_* variables of the environment; CLOUD_PASSWORD is the password of all accounts.
"""

import json
import os
import sys
import time

import openstack
from openstack import exceptions

PASSWORD = os.environ["CLOUD_PASSWORD"]
DOMAIN = "default"
APIS = {  # service user: type in the catalog, path of its endpoint
    "placement": ("placement", ""),
    "glance": ("image", ""),
    "nova": ("compute", "/v2.1"),
    "neutron": ("network", ""),
    "octavia": ("load-balancer", ""),
}
LOAD_BALANCER_ROLES = [
    "load-balancer_" + name for name in ("admin", "member", "observer", "global_observer", "quota_admin")
]
TLS_REGION = "RegionTLS"
TLS_PORT_OFFSET = 10000
SERVERS = 3
ZONES = {"az1": "compute1", "az2": "compute2"}  # zone: its one host
PATIENCE_SECONDS = 120


def await_value(what, ask):
    """Asks until the answer is there; a cloud that starts may also answer with errors for a while."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        problem = None
        try:
            answer = ask()
            if answer:
                return answer
        except exceptions.SDKException as error:
            problem = error
        if time.monotonic() > deadline:
            sys.exit(f"seed: waited {PATIENCE_SECONDS} s for {what}; last problem: {problem}")
        time.sleep(0.3)


# --- the catalog ---------------------------------------------------------------------------------------------------------------


def seed_catalog():
    identity = openstack.connect().identity
    project = identity.find_project("service") or identity.create_project(name="service", domain_id=DOMAIN)
    roles = {role.name: role for role in identity.roles()}
    for name in ["service", *LOAD_BALANCER_ROLES]:
        if name not in roles:
            roles[name] = identity.create_role(name=name)
    if TLS_REGION not in {region.id for region in identity.regions()}:
        identity.create_region(id=TLS_REGION, description="The same services, by https")
    for name, (kind, path) in APIS.items():
        user = ensure_user(identity, name, project)
        for role in ("admin", "service"):
            identity.assign_project_role_to_user(project, user, roles[role])
        port = int(os.environ[f"CLOUD_PORT_{name.upper()}"])
        service = find_service(identity, kind) or identity.create_service(name=name, type=kind)
        ensure_endpoints(identity, service, "RegionOne", f"http://127.0.0.1:{port}{path}", ("public", "internal", "admin"))
        ensure_endpoints(identity, service, TLS_REGION, f"https://127.0.0.1:{port + TLS_PORT_OFFSET}{path}", ("public",))
    port = int(os.environ["CLOUD_PORT_KEYSTONE"]) + TLS_PORT_OFFSET
    ensure_endpoints(identity, find_service(identity, "identity"), TLS_REGION, f"https://127.0.0.1:{port}/v3/", ("public",))


def find_service(identity, kind):
    return next((service for service in identity.services() if service.type == kind), None)


def ensure_endpoints(identity, service, region, url, interfaces):
    present = {(endpoint.region_id, endpoint.interface) for endpoint in identity.endpoints(service_id=service.id)}
    for interface in interfaces:
        if (region, interface) not in present:
            identity.create_endpoint(service_id=service.id, interface=interface, url=url, region_id=region)


def ensure_user(identity, name, project):
    found = identity.find_user(name)
    return found or identity.create_user(name=name, password=PASSWORD, domain_id=DOMAIN, default_project_id=project.id)


# --- the network of the amphorae -----------------------------------------------------------------------------------------------


def seed_management(file):
    admin = openstack.connect()
    project = admin.identity.find_project("service").id
    network = admin.network.find_network("lb-mgmt-net") or admin.network.create_network(name="lb-mgmt-net", project_id=project)
    ensure_subnet(admin.network, "lb-mgmt-subnet", network, cidr="192.168.240.0/20", project_id=project)
    write(file, f"[controller_worker]\namp_boot_network_list = {network.id}\n")


# --- the estate ----------------------------------------------------------------------------------------------------------------


def seed_estate(file):
    admin = openstack.connect()
    estate = {"zones": list(ZONES)}
    for name in ("k8s", "other"):
        estate |= seed_tenant(admin, name, prefix="" if name == "k8s" else "other_")
    lift_quotas(admin, [estate["project"], estate["other_project"], admin.identity.find_project("service").id])
    estate["image"], estate["flavor"] = seed_images_and_flavors(admin)
    estate |= seed_external_network(admin.network)
    estate["management_network"] = admin.network.find_network("lb-mgmt-net").id
    seed_zones(admin.compute, admin.placement)
    estate |= seed_octavia_choices(admin.load_balancer)
    member = openstack.connect(username="k8s", project_name="k8s")
    estate["application_credential"] = seed_application_credential(member.identity, estate["user"])
    estate |= seed_networks(member.network, estate)
    estate["servers"] = seed_servers(member.compute, estate)
    write(file, json.dumps(estate, indent=1))


def seed_tenant(admin, name, prefix):
    identity = admin.identity
    project = identity.find_project(name) or identity.create_project(name=name, domain_id=DOMAIN)
    user = ensure_user(identity, name, project)
    for role in ("member", "load-balancer_member"):
        identity.assign_project_role_to_user(project, user, identity.find_role(role))
    return {prefix + "project": project.id, prefix + "user": user.id}


def lift_quotas(admin, projects):
    """Amphorae are servers of the service project: Nova's ten would be nine load balancers, then ERROR."""
    for project in projects:
        unlimited = ("security_group_rules", "security_groups", "ports", "floating_ips", "networks", "subnets", "routers")
        admin.network.update_quota(project, **dict.fromkeys(unlimited, -1))
        admin.set_compute_quotas(project, instances=-1, cores=-1, ram=-1)


def seed_images_and_flavors(admin):
    tiny = {"container_format": "bare", "disk_format": "raw", "data": bytes(512), "allow_duplicates": True}
    image = admin.image.find_image("tiny") or admin.image.create_image("tiny", visibility="public", **tiny)
    admin.image.find_image("amphora") or admin.image.create_image("amphora", visibility="private", tags=["amphora"], **tiny)
    compute = admin.compute
    flavor = compute.find_flavor("m1.tiny") or compute.create_flavor(name="m1.tiny", id="1", ram=512, vcpus=1, disk=1)
    if not compute.find_flavor("m1.amphora"):  # octavia.conf names its id
        compute.create_flavor(name="m1.amphora", id="200", ram=512, vcpus=1, disk=1, is_public=False)
    return image.id, flavor.id


def seed_external_network(network):
    outside = network.find_network("public") or network.create_network(
        name="public", is_router_external=True, provider_network_type="flat", provider_physical_network="public"
    )
    pool = [{"start": "172.24.4.10", "end": "172.24.5.250"}]
    subnet = ensure_subnet(
        network, "public-v4", outside, cidr="172.24.4.0/23", gateway_ip="172.24.4.1", is_dhcp_enabled=False, allocation_pools=pool
    )
    return {"external_network": outside.id, "external_subnet": subnet.id}


def seed_zones(compute, placement):
    """Nova tells Placement that a host is in a zone when it is put there, and never again: Placement has to know the host by then."""
    present = {aggregate.name: aggregate for aggregate in compute.aggregates()}
    for zone, host in ZONES.items():
        provider = await_value(
            f"Placement to know the host {host}", lambda: next(placement.resource_providers(name=host), None)
        )
        aggregate = present.get(zone) or compute.create_aggregate(name=zone, availability_zone=zone)
        hosts = aggregate.hosts or []
        if host in hosts and not placement.fetch_resource_provider_aggregates(provider).aggregates:
            compute.remove_host_from_aggregate(aggregate, host)
            hosts = []
        if host not in hosts:
            await_value(f"Nova to know the host {host}", lambda: compute.add_host_to_aggregate(aggregate, host))
    await_value("both compute hosts", lambda: set(ZONES.values()) <= hosts_up(compute))


def hosts_up(compute):
    return {service.host for service in compute.services(binary="nova-compute") if service.state == "up"}


def seed_octavia_choices(octavia):
    """A flavor and an availability zone, which the amphora provider alone can honour."""
    flavor = next(octavia.flavors(name="single"), None)
    if not flavor:
        topology = json.dumps({"loadbalancer_topology": "SINGLE"})
        profile = octavia.create_flavor_profile(name="single", provider_name="amphora", flavor_data=topology)
        flavor = octavia.create_flavor(name="single", flavor_profile_id=profile.id, is_enabled=True)
    if not next(octavia.availability_zones(name="lb-az1"), None):
        zone = json.dumps({"compute_zone": "az1"})
        profile = octavia.create_availability_zone_profile(
            name="lb-az1", provider_name="amphora", availability_zone_data=zone
        )
        octavia.create_availability_zone(name="lb-az1", availability_zone_profile_id=profile.id, is_enabled=True)
    return {"octavia_flavor": flavor.id, "octavia_availability_zone": "lb-az1"}


def seed_application_credential(identity, user):
    """Its secret is chosen here, so that it can be told again."""
    found = next((one for one in identity.application_credentials(user) if one.name == "ccm"), None)
    return (found or identity.create_application_credential(user, "ccm", secret=PASSWORD)).id


def seed_networks(network, estate):
    project = estate["project"]
    inside = network.find_network("k8s-net", project_id=project) or network.create_network(name="k8s-net")
    subnet = ensure_subnet(network, "k8s-subnet", inside, cidr="10.10.0.0/16")
    dhcp = {"ipv6_ra_mode": "dhcpv6-stateful", "ipv6_address_mode": "dhcpv6-stateful"}
    subnet6 = ensure_subnet(network, "k8s-subnet6", inside, ip_version=6, cidr="fd00:10::/64", **dhcp)
    router = network.find_router("k8s-router", project_id=project) or network.create_router(
        name="k8s-router", external_gateway_info={"network_id": estate["external_network"]}
    )
    attached = {address["subnet_id"] for port in network.ports(device_id=router.id) for address in port.fixed_ips}
    for one in (subnet, subnet6):
        if one.id not in attached:
            network.add_interface_to_router(router, subnet_id=one.id)
    group = network.find_security_group("k8s-nodes", project_id=project) or network.create_security_group(name="k8s-nodes")
    ids = {"network": inside, "subnet": subnet, "subnet6": subnet6, "router": router, "security_group": group}
    return {name: resource.id for name, resource in ids.items()}


def ensure_subnet(network, name, parent, ip_version=4, **settings):
    found = network.find_subnet(name, network_id=parent.id)
    return found or network.create_subnet(name=name, network_id=parent.id, ip_version=ip_version, **settings)


def seed_servers(compute, estate):
    """node-1, node-2 …, one zone after the other. Zones are stated, so that a test can rely on them."""
    servers = {server.name: server for server in compute.servers()}
    zones = list(ZONES)
    names = [f"node-{number}" for number in range(1, SERVERS + 1)]

    def boot(number):
        return compute.create_server(
            name=names[number],
            image_id=estate["image"],
            flavor_id=estate["flavor"],
            networks=[{"uuid": estate["network"]}],
            security_groups=[{"name": "k8s-nodes"}],
            availability_zone=zones[number % len(zones)],
        )

    for number, name in enumerate(names):
        servers[name] = servers.get(name) or boot(number)
    return [
        described(await_active(compute, servers[name], lambda number=number: boot(number)))
        for number, name in enumerate(names)
    ]


def await_active(compute, server, boot):
    """A host counts only when the scheduler has mapped it to its cell, some seconds after it is up: before, servers end in ERROR."""
    if server.status == "SHUTOFF":  # a test stopped it and did not start it again
        compute.start_server(server)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return compute.wait_for_server(server, interval=0.3, wait=PATIENCE_SECONDS)
        except exceptions.ResourceFailure:
            if time.monotonic() > deadline:
                raise
            compute.delete_server(server)
            compute.wait_for_delete(server, interval=0.3, wait=PATIENCE_SECONDS)
            server = boot()


def described(server):
    addresses = [address for network in server.addresses.values() for address in network]
    fixed = {address["version"]: address["addr"] for address in addresses if address["OS-EXT-IPS:type"] == "fixed"}
    zone = server.availability_zone
    return {"name": server.name, "id": server.id, "zone": zone, "address": fixed[4], "address6": fixed[6]}


def write(path, text):
    """All or nothing: a reader never sees half a file."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


if __name__ == "__main__":
    parts = {"catalog": seed_catalog, "management": seed_management, "estate": seed_estate}
    parts[sys.argv[1]](*sys.argv[2:])
