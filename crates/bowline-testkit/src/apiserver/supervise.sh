# Runs a server and ends it when its owner is gone: usage LOG GRACE_SECONDS COMMAND [ARGUMENT...]
#
# The owner holds the other end of our standard input. Each line on it is the name of a signal for the server and is
# answered by one line. End of file, which comes even if the owner was killed, ends the server.
log=$1
grace=$2
shift 2

exec 3<&0 # a background job would read /dev/null instead
"$@" >>"$log" 2>&1 </dev/null 3<&- &
server=$!
echo "$server"

listen() {
    while read -r signal; do
        if kill -s "$signal" "$server" 2>/dev/null; then echo sent; else echo gone; fi
    done
    kill -s TERM "$server" 2>/dev/null
    kill -s CONT "$server" 2>/dev/null # a paused server would not see the first signal
    while [ "$grace" -gt 0 ] && kill -s 0 "$server" 2>/dev/null; do
        sleep 1
        grace=$((grace - 1))
    done
    kill -s KILL "$server" 2>/dev/null
}
listen <&3 &
listener=$!
exec 3<&-

wait "$server"
code=$?
kill "$listener" 2>/dev/null
exit "$code"
