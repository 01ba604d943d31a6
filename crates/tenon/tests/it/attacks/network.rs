//! Everything that leaves the machine, or reaches what listens on it.

use super::row::Call;
use super::row::{Row, attack, row, runs, system_call};

/// Speaks to the proxy, if there is one, and must not be let through.
macro_rules! through_proxy {
    ($name:literal, $request:expr) => {
        row(
            $name,
            &[Call::Script(concat!(
                "port=${http_proxy##*:}; port=${port%/}; port=${port:-1}
{ exec 3<>/dev/tcp/127.0.0.1/$port; } 2>/dev/null || { echo refused: no proxy; exit; }
printf '",
                $request,
                "' >&3
answer=$(timeout 5 head -1 <&3)
case $answer in *' 200 '*) echo BROKEN: $answer;; *) echo refused: $answer;; esac"
            ))],
        )
        .prints(&["refused"])
    };
}

/// Opens a tunnel to the allowed port, begins TLS with this server name and says what became of it.
macro_rules! tls_through_proxy {
    ($name:literal, $server:literal, $expected:literal) => {
        row(
            $name,
            &[Call::Script(concat!(
                "python3 - <<'E'
import os, socket, ssl, sys
from urllib.parse import urlsplit
proxy = urlsplit(os.environ.get('http_proxy', ''))
if not proxy.port: print('refused', '",
                $expected,
                "', 'no proxy'); sys.exit()
s = socket.create_connection((proxy.hostname, proxy.port), 5)
at = '127.0.0.1:' + os.environ['ALLOWED']
s.sendall(f'CONNECT {at} HTTP/1.1\\r\\nHost: {at}\\r\\n\\r\\n'.encode())
print(s.recv(100).split(b'\\r')[0].decode())
context = ssl.create_default_context()
hello = ssl.MemoryBIO()
try: context.wrap_bio(ssl.MemoryBIO(), hello, server_hostname='",
                $server,
                "').do_handshake()
except ssl.SSLWantReadError: pass
s.sendall(hello.read())
s.settimeout(2)
try: print('refused' if s.recv(100) in (b'', b'\\x15\\x03\\x03\\x00\\x02\\x02\\x70') else 'BROKEN')
except TimeoutError: print('passed')
E"
            ))],
        )
        .flags(&["--net", "127.0.0.1:@ALLOWED@"])
        .prints(&[$expected])
        .needs(&["python3"])
    };
}

pub(super) const ROWS: &[Row] = &[
    through_proxy!("a host named like the word for everything", "CONNECT on:443 HTTP/1.1\\r\\nHost: on:443\\r\\n\\r\\n")
        .never(&["--net on would", "--net 'on'"]),
    through_proxy!("a host named like a preset", "CONNECT cargo:443 HTTP/1.1\\r\\nHost: cargo:443\\r\\n\\r\\n")
        .never(&["--net cargo would"]),
    attack!("port of the machine", "exec 3<>/dev/tcp/127.0.0.1/$PORT"),
    attack!("port of the machine by its name", "exec 3<>/dev/tcp/localhost/$PORT"),
    attack!("port of the machine by zero", "exec 3<>/dev/tcp/0.0.0.0/$PORT"),
    attack!("port of the machine by IPv6", "exec 3<>/dev/tcp/::1/$PORT6"),
    attack!("port of the machine by its host name", "exec 3<>/dev/tcp/$(hostname)/$PORT || exec 3<>/dev/tcp/$(hostname -I | cut -d' ' -f1)/$PORT"),
    attack!("address of a cloud's metadata", "timeout 3 bash -c 'exec 3<>/dev/tcp/169.254.169.254/80'"),
    attack!("an address of the internet", "timeout 3 bash -c 'exec 3<>/dev/tcp/1.1.1.1/443'"),
    attack!("an address of IPv6", "timeout 3 bash -c 'exec 3<>/dev/tcp/2606:4700:4700::1111/443'"),
    attack!("a private address", "timeout 3 bash -c 'exec 3<>/dev/tcp/10.0.0.1/80' || timeout 3 bash -c 'exec 3<>/dev/tcp/192.168.1.1/80'"),
    runs!("datagrams to the machine", "echo x > /dev/udp/127.0.0.1/$UDP; echo x > /dev/udp/localhost/$UDP"),
    attack!("datagrams to the internet", "echo x > /dev/udp/1.1.1.1/53"),
    attack!("names", "timeout 3 getent hosts example.com || timeout 3 python3 -c 'import socket; socket.gethostbyname(\"example.com\")'"),
    attack!("names by hand", "python3 -c 'import socket; s=socket.socket(2,2); s.settimeout(1); s.sendto(b\"x\"*12,(\"1.1.1.1\",53)); s.recv(9)'"),
    attack!("ping", "timeout 3 ping -c 1 -W 1 1.1.1.1").needs(&["ping"]),
    attack!("curl around the proxy", "curl -s --noproxy '*' -m 3 http://127.0.0.1:$PORT/ || curl -s --noproxy '*' -m 3 http://1.1.1.1/").needs(&["curl"]),
    attack!("curl", "curl -sf -m 3 http://127.0.0.1:$PORT/ || curl -sf -m 3 https://example.com/").needs(&["curl"]),
    attack!("git", "timeout 5 git ls-remote https://example.com/x || timeout 5 git ls-remote git://127.0.0.1:$PORT/x || timeout 5 git ls-remote ssh://127.0.0.1:$PORT/x").needs(&["git"]),
    attack!("python connects", "python3 -c 'import os,socket; socket.create_connection((\"127.0.0.1\", int(os.environ[\"PORT\"])), 2)'").needs(&["python3"]),
    attack!("node connects", "node -e 'const s=require(\"net\").connect(+process.env.PORT,\"127.0.0.1\",()=>process.exit(0)); s.on(\"error\",()=>process.exit(1))'").needs(&["node"]),
    attack!("a socket with a path", "python3 -c 'import os,socket; s=socket.socket(socket.AF_UNIX); s.connect(os.environ[\"TOP\"]+\"/socket\")'").needs(&["python3"]),
    attack!("a datagram socket with a path", "python3 -c 'import os,socket; s=socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.sendto(b\"x\", os.environ[\"TOP\"]+\"/datagrams\")'").needs(&["python3"]),
    attack!("a socket through a link", "ln -s $TOP/socket s; python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect(\"s\")'").needs(&["python3"]),
    attack!("a socket moved into the workspace", "ln $TOP/socket s || mv $TOP/socket s; python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect(\"s\")'").needs(&["python3"]),
    attack!("a socket after a pair", "python3 -c 'import os,socket; a,b=socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b\"x\", os.environ[\"TOP\"]+\"/datagrams\")' || python3 -c 'import os,socket; a,b=socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.connect(os.environ[\"TOP\"]+\"/datagrams\"); a.send(b\"x\")' || python3 -c 'import os,socket; a,b=socket.socketpair(); a.connect(os.environ[\"TOP\"]+\"/socket\")' || python3 -c 'import os,socket; a,b=socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET); b.close(); a.connect(os.environ[\"TOP\"]+\"/socket\")'").needs(&["python3"]),
    attack!("a socket under a cover taken away", "umount $TOP/socket || mv $TOP/socket x || rm $TOP/socket || mount --bind / /mnt || { mkdir m; cp -a $TOP/socket m/; python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"m/socket\")'; } || python3 -c 'import os,socket; socket.socket(socket.AF_UNIX).connect(\"/proc/self/root\"+os.environ[\"TOP\"]+\"/socket\")'").needs(&["python3"]),
    attack!("a socket in a private place", "python3 -c 'import os,socket; s=socket.socket(socket.AF_UNIX); s.connect(os.environ[\"PLACE\"]+\"/socket\")'").needs(&["python3"]),
    attack!("an abstract socket", "python3 -c 'import os,socket; s=socket.socket(socket.AF_UNIX); s.connect(\"\\0attacks-\"+os.environ[\"MARK\"])'").needs(&["python3"]),
    attack!("sockets of services", "for s in /run/docker.sock /var/run/docker.sock /run/dbus/system_bus_socket /run/systemd/private /run/user/$(id -u)/bus /run/containerd/containerd.sock /tmp/.X11-unix/X0; do python3 -c 'import socket,sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' $s && exit 0; done; false").needs(&["python3"]),
    attack!("the agent of keys", "test -n \"$SSH_AUTH_SOCK\" || test -n \"$GPG_AGENT_INFO\" || test -n \"$DBUS_SESSION_BUS_ADDRESS\""),
    system_call!("socket: vsock", "closed(lambda: socket.socket(40, 1, 0))"),
    system_call!("socket: raw", "closed(lambda: socket.socket(2, 3, 1)) and closed(lambda: socket.socket(10, 3, 58))"),
    system_call!("socket: packets", "closed(lambda: socket.socket(17, 3, 3)) and closed(lambda: socket.socket(17, 2, 3))"),
    system_call!("socket: odd families", "all(closed(lambda: socket.socket(f, t, 0)) for f in (3, 4, 9, 21, 29, 30, 31, 38, 42, 43, 44) for t in (1, 2, 3, 5))"),
    system_call!("socket: netlink that changes things", "closed(lambda: socket.socket(16, 3, 9)) and closed(lambda: socket.socket(16, 3, 16)) and closed(lambda: socket.socket(16, 3, 6))"),
    attack!("an interface of one's own", "ip link add x type dummy || ip addr add 1.2.3.4/32 dev lo || ip link set lo down || ip route add default dev lo").needs(&["ip"]),
    attack!("packet filters of iptables", "iptables -F || ip6tables -F").needs(&["iptables"]),
    attack!("packet filters of nft", "nft flush ruleset").needs(&["nft"]),
    through_proxy!("proxy: a host", "CONNECT example.com:443 HTTP/1.1\\r\\nHost: example.com:443\\r\\n\\r\\n"),
    through_proxy!("proxy: the machine", "CONNECT 127.0.0.1:'$PORT' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: the machine by its name", "CONNECT localhost:'$PORT' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: the machine as a number", "CONNECT 2130706433:'$PORT' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: the machine in hexadecimal", "CONNECT 0x7f000001:'$PORT' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: the machine in octal", "CONNECT 0177.0.0.1:'$PORT' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: the machine shortened", "CONNECT 127.1:'$PORT' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: zero", "CONNECT 0:'$PORT' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: IPv6", "CONNECT [::1]:'$PORT6' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: IPv4 within IPv6", "CONNECT [::ffff:127.0.0.1]:'$PORT' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: with a dot at the end", "CONNECT localhost.:'$PORT' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: metadata", "CONNECT 169.254.169.254:80 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: a tunnel for plain HTTP", "CONNECT example.com:80 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        .flags(&["--net", "example.com"]),
    through_proxy!("proxy: an address", "GET http://127.0.0.1:'$PORT'/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: a user name before the host", "GET http://example.com@127.0.0.1:'$PORT'/ HTTP/1.1\\r\\nHost: example.com\\r\\n\\r\\n"),
    through_proxy!("proxy: allowed port, another spelling", "CONNECT 2130706433:'$ALLOWED' HTTP/1.1\\r\\nHost: 127.0.0.1:'$ALLOWED'\\r\\n\\r\\n")
        .flags(&["--net", "127.0.0.1:@ALLOWED@"]),
    through_proxy!("proxy: a denied host that is allowed", "GET http://127.0.0.1:'$ALLOWED'/ HTTP/1.1\\r\\nHost: 127.0.0.1:'$ALLOWED'\\r\\n\\r\\n")
        .flags(&["--net", "127.0.0.1:@ALLOWED@", "--deny", "net(127.0.0.1)"]),
    through_proxy!("proxy: the denied machine by its allowed address", "GET http://127.0.0.1:'$ALLOWED'/ HTTP/1.1\\r\\nHost: 127.0.0.1:'$ALLOWED'\\r\\n\\r\\n")
        .flags(&["--net", "127.0.0.1:@ALLOWED@", "--deny", "net(localhost)"]),
    through_proxy!("proxy: allowed address, another port", "CONNECT 127.0.0.1:'$PORT' HTTP/1.1\\r\\nHost: 127.0.0.1:'$ALLOWED'\\r\\n\\r\\n")
        .flags(&["--net", "127.0.0.1:@ALLOWED@"]),
    through_proxy!("proxy: allowed in Host only", "GET http://127.0.0.1:'$PORT'/ HTTP/1.1\\r\\nHost: 127.0.0.1:'$ALLOWED'\\r\\n\\r\\n")
        .flags(&["--net", "127.0.0.1:@ALLOWED@"]),
    through_proxy!("proxy: two lengths", "POST http://127.0.0.1:'$ALLOWED'/ HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nContent-Length: 4\\r\\nContent-Length: 5\\r\\n\\r\\nabcde")
        .flags(&["--net", "127.0.0.1:@ALLOWED@"]),
    through_proxy!("proxy: length and encoding", "POST http://127.0.0.1:'$ALLOWED'/ HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nContent-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n")
        .flags(&["--net", "127.0.0.1:@ALLOWED@"]),
    through_proxy!("proxy: a line end in the address", "GET http://127.0.0.1:'$ALLOWED'/\\rX HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n\\r\\n")
        .flags(&["--net", "127.0.0.1:@ALLOWED@"]),
    through_proxy!("proxy: a name that leads to the machine", "CONNECT localhost:'$PORT' HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
        .flags(&["--net", "localhost"]),
    through_proxy!("proxy: a suffix without its dot", "CONNECT evilexample.com:443 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        .flags(&["--net", "*.example.com"]),
    through_proxy!("proxy: an allowed host as a beginning", "CONNECT example.com.evil.test:443 HTTP/1.1\\r\\nHost: example.com\\r\\n\\r\\n")
        .flags(&["--net", "example.com"]),
    through_proxy!("proxy: NUL in the host", "CONNECT example.com\\0.evil.test:443 HTTP/1.1\\r\\nHost: example.com\\r\\n\\r\\n")
        .flags(&["--net", "example.com"]),
    tls_through_proxy!("proxy: TLS to another host", "evil.test", "refused"),
    tls_through_proxy!("proxy: TLS to a host within the allowed one", "x.127.0.0.1.test", "refused"),
    tls_through_proxy!("proxy: TLS to the allowed host", "127.0.0.1", "passed"),
    attack!("the proxy switched by the environment", "export http_proxy=http://127.0.0.1:$PORT https_proxy=http://127.0.0.1:$PORT no_proxy='*'; curl -sf -m 3 http://example.com/").needs(&["curl"]),
    through_proxy!("proxy: a request without a version", "GET http://127.0.0.1:'$PORT'/\\r\\n\\r\\n"),
    through_proxy!("proxy: the second version", "PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n"),
    through_proxy!("proxy: SOCKS", "\\005\\001\\000\\005\\001\\000\\001\\177\\000\\000\\001\\000\\120\\r\\n\\r\\n"),
    through_proxy!("proxy: the machine in capitals", "CONNECT LOCALHOST:'$PORT' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: IPv6 with a zone", "CONNECT [::1%%25lo]:'$PORT6' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: IPv4 within IPv6 in numbers", "CONNECT [0:0:0:0:0:ffff:7f00:1]:'$PORT' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: IPv4 translated into IPv6", "CONNECT [64:ff9b::7f00:1]:'$PORT' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: to all at once", "CONNECT 255.255.255.255:'$PORT' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: a resolver", "CONNECT 8.8.8.8:53 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: a user name in a tunnel", "CONNECT x@127.0.0.1:'$PORT' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: tabs for blanks", "CONNECT\\t127.0.0.1:'$PORT'\\tHTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"),
    through_proxy!("proxy: line feeds alone", "GET http://127.0.0.1:'$PORT'/ HTTP/1.1\\nHost: 127.0.0.1:'$ALLOWED'\\n\\n")
        .flags(&["--net", "127.0.0.1:@ALLOWED@"]),
    through_proxy!("proxy: allowed port after another", "CONNECT 127.0.0.1:'$PORT':'$ALLOWED' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        .flags(&["--net", "127.0.0.1:@ALLOWED@"]),
    runs!("proxy: a second request behind the first", "port=${http_proxy##*:}; port=${port%/}; { exec 3<>/dev/tcp/127.0.0.1/${port:-1}; } 2>/dev/null && { printf 'GET http://127.0.0.1:%s/ HTTP/1.1\\r\\nHost: x\\r\\nConnection: keep-alive\\r\\nContent-Length: 0\\r\\n\\r\\nGET http://127.0.0.1:%s/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\nCONNECT 127.0.0.1:%s HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' $ALLOWED $PORT $PORT >&3; timeout 0.3 cat <&3 >/dev/null; }; true")
        .flags(&["--net", "127.0.0.1:@ALLOWED@"]),
    attack!("by other protocols of the internet", "python3 - <<'E'\nimport os, socket\nfor kind, protocol in ((1, 262), (1, 132), (5, 132), (2, 136), (6, 33)):\n    for family, address in ((2, '127.0.0.1'), (10, '::1')):\n        try:\n            s = socket.socket(family, kind, protocol); s.settimeout(1)\n            s.connect((address, int(os.environ['PORT']))); s.send(b'x'); s.recv(1)\n            raise SystemExit(0)\n        except OSError: pass\nraise SystemExit(1)\nE")
        .needs(&["python3"]),
    attack!("to all and to many", "python3 - <<'E'\nimport socket\ndone = 1\nfor address in ('255.255.255.255', '224.0.0.251', '239.255.255.250'):\n    try:\n        s = socket.socket(2, 2); s.setsockopt(1, 6, 1); s.sendto(b'x', (address, 1900)); done = 0\n    except OSError: pass\nraise SystemExit(done)\nE")
        .needs(&["python3"]),
    attack!("perl connects", "perl -MIO::Socket::INET -e 'exit(IO::Socket::INET->new(PeerAddr => \"127.0.0.1:$ENV{PORT}\", Timeout => 2) ? 0 : 1)'").needs(&["perl"]),
    system_call!("socket: ping", "closed(lambda: socket.socket(2, 2, 1)) and closed(lambda: socket.socket(10, 2, 58))"),
];
