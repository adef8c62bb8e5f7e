"""Nova's fake hypervisor, made to remember its servers.

The stock driver forgets them when nova-compute ends, so that a server from before can be neither stopped nor started. Nova loads
drivers from its own package only: this file is put into nova/virt.
"""

from nova import context, objects
from nova.compute import power_state
from nova.virt import fake


class RememberingFakeDriver(fake.FakeDriverWithoutFakeNodes):
    def init_host(self, host):
        super().init_host(host)
        servers = objects.InstanceList.get_by_host(
            context.get_admin_context(), host, expected_attrs=["flavor"]
        )
        for server in servers:
            state = power_state.SHUTDOWN if server.vm_state == "stopped" else power_state.RUNNING
            self.instances[server.uuid] = fake.FakeInstance(server.name, state, server.uuid)
            self.resources.claim(
                vcpus=server.flavor.vcpus, mem=server.flavor.memory_mb, disk=server.flavor.root_gb
            )
