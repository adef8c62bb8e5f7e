"""Plays the agent inside every amphora: sends signed heartbeats to the real octavia-health-manager.

That is what turns operating_status of amphora load balancers and their parts ONLINE. A member whose id or address:port stands in
the file run/members-down is reported as down; the others as up.

    heartbeat.py DATABASE_SOCKET HEALTH_MANAGER_PORT MEMBERS_DOWN_FILE     (the password is in the environment: CLOUD_PASSWORD)
"""

import hashlib
import hmac
import json
import os
import socket
import sys
import time
import zlib

import pymysql

INTERVAL_SECONDS = 2
NO_TRAFFIC = {"tx": 0, "rx": 0, "conns": 0, "totconns": 0, "ereq": 0}

AMPHORAE = "select id, load_balancer_id from amphora where status = 'ALLOCATED' and load_balancer_id is not null"
LISTENERS = (
    "select id, default_pool_id from listener"
    " where load_balancer_id = %s and enabled = 1 and provisioning_status <> 'DELETED'"
)
MONITORS = "select count(*) as number from health_monitor where pool_id = %s"
MEMBERS = "select id, ip_address, protocol_port from member where pool_id = %s and enabled = 1"


def names_down(path):
    """The members that a test wants to be down."""
    try:
        with open(path, encoding="utf-8") as file:
            return set(file.read().split())
    except FileNotFoundError:
        return set()


def rows(cursor, statement, *values):
    cursor.execute(statement, values)
    return cursor.fetchall()


def member_states(cursor, pool, down):
    """What haproxy would say of the members of a pool: without a health monitor it checks none."""
    monitored = rows(cursor, MONITORS, pool)[0]["number"] > 0
    states = {}
    for member in rows(cursor, MEMBERS, pool):
        is_down = bool({member["id"], f"{member['ip_address']}:{member['protocol_port']}"} & down)
        states[member["id"]] = ("DOWN" if is_down else "UP") if monitored else "no check"
    return states


def message(cursor, amphora, sequence, down):
    """The heartbeat of one amphora."""
    listeners = rows(cursor, LISTENERS, amphora["load_balancer_id"])
    pools = {}
    for listener in listeners:
        if listener["default_pool_id"]:
            members = member_states(cursor, listener["default_pool_id"], down)
            alive = not members or any(state != "DOWN" for state in members.values())
            pools[f"{listener['default_pool_id']}:{listener['id']}"] = {"status": "UP" if alive else "DOWN", "members": members}
    open_listeners = {listener["id"]: {"status": "OPEN", "stats": NO_TRAFFIC} for listener in listeners}
    return {"id": amphora["id"], "seq": sequence, "ver": 3, "listeners": open_listeners, "pools": pools}


def signed(beat, key):
    """As the health manager reads it: compressed JSON, and its HMAC in hexadecimal."""
    payload = zlib.compress(json.dumps(beat).encode())
    return payload + hmac.new(key.encode(), payload, hashlib.sha256).hexdigest().encode()


def main(database_socket, port, down_file):
    password = os.environ["CLOUD_PASSWORD"]
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sequence = 0
    while True:
        try:
            with pymysql.connect(
                unix_socket=database_socket, user="root", password=password, database="octavia", autocommit=True
            ) as database:
                cursor = database.cursor(pymysql.cursors.DictCursor)
                for amphora in rows(cursor, AMPHORAE):
                    beat = message(cursor, amphora, sequence, names_down(down_file))
                    sender.sendto(signed(beat, password), ("127.0.0.1", int(port)))
        except (pymysql.Error, OSError) as problem:
            # A database that is being restarted: the next round finds it again.
            print("heartbeat:", problem, flush=True)
        sequence += 1
        time.sleep(INTERVAL_SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
