//! What a command reaches: itself, and nothing else.

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use tenon_sandbox::{Exit, Network, Proxy, ProxyOptions};

use super::{Place, as_ordinary_user, printed};
use crate::skipped::skipped;

const PYTHON: &str = "command -v python3 >/dev/null || { echo SKIPPED no python; exit; }\n";

#[test]
fn a_server_of_this_machine_cannot_be_reached() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let port = server.local_addr().unwrap().port();
    let place = Place::new();
    let (_, said) = place.run(&format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo BROKEN"));
    assert!(!said.contains("BROKEN") && said.contains("refused"), "{said}");
    assert!(server.accept().is_err());
}

#[test]
fn a_datagram_does_not_reach_this_machine() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let port = server.local_addr().unwrap().port();
    Place::new().run(&format!("echo x > /dev/udp/127.0.0.1/{port}"));
    assert!(server.recv(&mut [0; 8]).is_err());
}

#[test]
fn nothing_outside_can_be_reached() {
    let place = Place::new();
    for script in [
        "exec 3<>/dev/tcp/192.0.2.1/80 && echo BROKEN",
        "echo x > /dev/udp/192.0.2.1/53 && echo BROKEN",
        "getent hosts example.com && echo BROKEN",
        "tail -n +3 /proc/net/dev | grep -v ' lo:' && echo BROKEN",
        "tail -n +2 /proc/net/route | grep . && echo BROKEN",
    ] {
        let (_, said) = place.run(script);
        assert!(!said.contains("BROKEN"), "{script}: {said}");
    }
}

#[test]
fn sockets_of_this_machine_cannot_be_reached_by_name() {
    let name = format!("tenon-walls-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(name.as_bytes()).unwrap();
    let server = UnixListener::bind_addr(&address).unwrap();
    server.set_nonblocking(true).unwrap();
    for network in [Network::Off, Network::On] {
        let place = Place::new().network(network);
        let script = format!(
            "{PYTHON}python3 -c \"import socket; s=socket.socket(socket.AF_UNIX); \
             s.connect('\\0{name}'); print('BROKEN')\""
        );
        let (_, said) = place.run(&script);
        assert!(!said.contains("BROKEN"), "{network:?}: {said}");
    }
    assert!(server.accept().is_err());
}

#[test]
fn sockets_in_private_folders_cannot_be_reached() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = folder.path().join("socket");
    let server = UnixListener::bind(&path).unwrap();
    server.set_nonblocking(true).unwrap();
    let place = Place::new();
    let (_, said) = place.run(&format!(
        "{PYTHON}python3 -c \"import socket; s=socket.socket(socket.AF_UNIX); \
         s.connect('{}'); print('BROKEN')\"",
        path.display()
    ));
    assert!(!said.contains("BROKEN"), "{said}");
    assert!(server.accept().is_err());
}

#[test]
fn sockets_in_the_workspace_stay_covered_whatever_is_moved() {
    let place = Place::new();
    place.run("git init -q . && mkdir -p run/deep");
    let servers = ["run/deep/socket", ".git/socket"].map(|name| {
        let server = UnixListener::bind(place.root().join(name)).unwrap();
        server.set_nonblocking(true).unwrap();
        server
    });
    let connect = "import glob, socket
for name in glob.glob('**/socket', recursive=True) + glob.glob('.git/**/socket', recursive=True):
    try: socket.socket(socket.AF_UNIX).connect(name); print('BROKEN', name)
    except OSError: print('refused')";
    let connect = format!("{PYTHON}python3 - <<'E'\n{connect}\nE");
    let moves = "mv run run2; mv run/deep deep; mv run/deep/socket socket; ln run/deep/socket link; mv .git g; mv .git/socket s; rm -rf run";
    for script in [&connect, moves, &connect] {
        let (_, said) = place.run(script);
        assert!(!said.contains("BROKEN"), "{said}");
    }
    assert!(servers.iter().all(|server| server.accept().is_err()));
    assert!(place.root().join("run/deep/socket").exists());
}

/// A server and a client in one command.
const LOOPBACK: &str = "python3 - <<'E'
import socket, threading
for family, host in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):
    server = socket.socket(family); server.bind((host, 0)); server.listen()
    def serve():
        peer, _ = server.accept(); peer.sendall(b'hello'); peer.close()
    threading.Thread(target=serve).start()
    client = socket.create_connection(server.getsockname()[:2])
    print(client.recv(9).decode(), host)
E";

#[test]
fn a_server_and_a_client_of_one_command_talk() {
    let (exit, said) = Place::new().run(&format!("{PYTHON}{LOOPBACK}"));
    if said.contains("SKIPPED") {
        return skipped(format_args!("{said}"));
    }
    assert_eq!((exit, said.as_str()), (Exit::Code(0), "hello 127.0.0.1\nhello ::1\n"));
}

#[test]
fn a_server_and_a_client_of_an_ordinary_user_talk() {
    as_ordinary_user("network::a_server_and_a_client_of_one_command_talk");
}

#[test]
fn the_whole_network_is_reached_where_it_is_granted() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let place = Place::new().network(Network::On);
    let (exit, said) = place.run(&format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached"));
    assert_eq!((exit, said.as_str()), (Exit::Code(0), "reached\n"));
    // The other walls stand all the same.
    let (_, said) = place.run("touch $TOP/new; touch /usr/x; cat $HOME/.ssh/id_rsa; ls /run; id");
    assert!(!place.top.path().join("new").exists() && !said.contains("SECRET"), "{said}");
}

#[test]
fn named_hosts_are_reached_through_the_proxy_and_others_are_told() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let proxy = Proxy::new(ProxyOptions::default());
    proxy.allow(vec![format!("127.0.0.1:{port}").parse().unwrap()]);
    let place = Place::new().network(Network::Proxied).proxy(proxy);
    let server = std::thread::spawn(move || {
        let (mut peer, _) = server.accept().unwrap();
        let mut bytes = [0; 5];
        peer.read_exact(&mut bytes).unwrap();
        peer.write_all(b"pong\n").unwrap();
        bytes
    });
    let connect = |host: &str| {
        format!(
            "exec 3<>/dev/tcp/127.0.0.1/${{http_proxy##*:}}
            printf 'CONNECT {host} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n' >&3; "
        )
    };
    let (allowed, blocked) = (connect(&format!("127.0.0.1:{port}")), connect("example.com:443"));
    let script = format!(
        "{allowed}printf 'ping\\n' >&3; grep -m1 pong <&3
        {blocked}head -1 <&3
        [ \"$https_proxy$HTTP_PROXY$HTTPS_PROXY$ALL_PROXY\" = \
          \"$http_proxy$http_proxy$http_proxy$http_proxy\" ] && echo $NO_PROXY"
    );
    let output = place.try_run(&script).unwrap();
    let said = printed(&output);
    assert!(said.contains("pong\nHTTP/1.1 403"), "{said}");
    // The name that a rule speaks of is this machine's; the others are inside.
    assert!(said.contains("\nlocalhost,::1,0.0.0.0,::,[::1],[::]"), "{said}");
    assert_eq!(&server.join().unwrap(), b"ping\n");
    let hosts: Vec<_> = output.blocked.iter().map(|event| event.host.as_str()).collect();
    assert_eq!(hosts, ["example.com"]);
    assert_eq!(output.blocked[0].rule_needed().unwrap().to_string(), "example.com");
}
