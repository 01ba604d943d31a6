//! Sockets in the workspace at which a program outside listens: they stay covered whatever a command does on their way.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use super::{Place, as_ordinary_user};

const CONNECT: &str = "connect() { python3 -c 'import socket, sys; socket.socket(1).connect(sys.argv[1]); \
                       print(\"OPEN\")' $1 2> /dev/null; }";

#[test]
fn a_socket_stays_covered_when_a_link_or_a_folder_on_its_way_goes() {
    let place = Place::new();
    let root = place.root();
    for folder in ["releases/1/run", "srv/run"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    symlink("releases/1", root.join("current")).unwrap();
    // By a link from a folder that is private for commands.
    let link = root.join("../home/work");
    symlink(root, &link).unwrap();
    let at = [root.join("current/run/s"), root.join("srv/run/s"), link.join("srv/h")];
    let _servers = at.map(|path| UnixListener::bind(path).unwrap());
    let all =
        "for s in releases/1/run/s current/run/s srv/run/s srv/h; do connect $s; done; echo end";
    let closes = "mv current away; chmod 000 srv; echo end";
    let opens = "chmod 755 srv";
    for script in [all.to_owned(), closes.to_owned(), format!("{opens}; {all}")] {
        assert_eq!(place.run(&format!("{CONNECT}; {script}")).1, "end\n", "{script}");
    }
}

#[test]
fn a_socket_stays_covered_for_an_ordinary_user() {
    as_ordinary_user("sockets::a_socket_stays_covered_when_a_link_or_a_folder_on_its_way_goes");
}
