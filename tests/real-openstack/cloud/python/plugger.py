"""Plays the hypervisor's part in networking: plugs a dummy interface for every port that is bound to one of our hosts.

The real ovn-controller then claims the port, and Neutron turns it ACTIVE. What is no longer bound is unplugged.

    plugger.py SOUTHBOUND RUN_FOLDER
"""

import json
import subprocess
import sys
import time

INTERVAL_SECONDS = 0.5


def southbound_rows(southbound, table, *columns):
    """The rows of a table of OVN's southbound database, as dictionaries."""
    command = ["ovn-sbctl", f"--db={southbound}", "--format=json", "--data=json"]
    command += ["--columns=" + ",".join(columns), "list", table]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return [dict(zip(answer["headings"], row)) for row in answer["data"]]


def identifier(value):
    """The UUID in OVSDB's JSON form, `["uuid", "…"]`; None for an empty set."""
    return value[1] if value[0] == "uuid" else None


def bound_ports(southbound):
    """Which host each port belongs to, as {port: host}."""
    hosts = {identifier(row["_uuid"]): row["name"] for row in southbound_rows(southbound, "Chassis", "_uuid", "name")}
    columns = ("logical_port", "requested_chassis", "type")
    ports = [row for row in southbound_rows(southbound, "Port_Binding", *columns) if row["type"] == ""]
    bound = {row["logical_port"]: hosts.get(identifier(row["requested_chassis"])) for row in ports}
    return {port: host for port, host in bound.items() if host}


def switch(run, host, *arguments):
    """Changes the virtual switch of a host."""
    command = ["ovs-vsctl", f"--db=unix:{run}/{host}/db.sock", "--no-wait", *arguments]
    subprocess.run(command, check=True, capture_output=True)


def plug(run, host, port):
    interface = "tap" + port[:11]
    identity = [f"external_ids:iface-id={port}", "external_ids:iface-status=active"]
    switch(run, host, "--may-exist", "add-port", "br-int", interface, "--", "set", "Interface", interface, "type=dummy", *identity)


def unplug(run, host, port):
    switch(run, host, "--if-exists", "del-port", "br-int", "tap" + port[:11])


def main(southbound, run):
    plugged = {}
    while True:
        try:
            wanted = bound_ports(southbound)
            for port in [port for port, host in plugged.items() if wanted.get(port) != host]:
                unplug(run, plugged.pop(port), port)
            for port, host in wanted.items():
                if port not in plugged:
                    plug(run, host, port)
                    plugged[port] = host
        except (subprocess.CalledProcessError, ValueError) as problem:
            # A database that is being restarted: the next round finds it again.
            print("plugger:", problem, getattr(problem, "stderr", ""), flush=True)
        time.sleep(INTERVAL_SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
