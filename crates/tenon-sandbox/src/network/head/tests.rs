//! Tables of heads: what is taken, what goes on, what is refused.

use proptest::prelude::*;

use super::*;

/// Shows a request as its target and the head that is sent on, or as what is wrong with it.
fn check(head: &str, expected: &str) {
    let shown = match parse_request(head.as_bytes()) {
        Ok(Request::Tunnel(target)) => format!("tunnel {}:{}", target.host, target.port),
        Ok(Request::Forward(forward)) => format!(
            "{}:{} {}+{}",
            forward.target.host,
            forward.target.port,
            String::from_utf8(forward.head).unwrap(),
            forward.body_bytes
        ),
        Err(bad) => format!("{}: {}", bad.status, bad.what),
    };
    assert_eq!(shown, expected, "{head:?}");
}

#[test]
fn connect_names_a_host_and_a_port() {
    check("CONNECT Example.com:443 HTTP/1.1\r\n\r\n", "tunnel example.com:443");
    check("CONNECT [::1]:22 HTTP/1.0\r\nHost: whatever\r\n\r\n", "tunnel [::1]:22");
    check("CONNECT a.example:80 HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "tunnel a.example:80");
    for target in
        ["example.com", "example.com@evil.org:443", "http://example.com:443/", "/", "*", "a b:1"]
    {
        let head = format!("CONNECT {target} HTTP/1.1\r\n\r\n");
        assert!(parse_request(head.as_bytes()).is_err(), "{target}");
    }
    check(
        "CONNECT a.example:80 HTTP/1.1\r\nContent-Length: 5\r\n\r\n",
        "400 Bad Request: CONNECT has no body",
    );
}

#[test]
fn a_plain_request_goes_on_in_origin_form() {
    check(
        "GET HTTP://Example.COM/a?b=c HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\n\r\n",
        "example.com:80 GET /a?b=c HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\n\
         Connection: close\r\n\r\n+0",
    );
    check(
        "POST http://example.com:8080?q HTTP/1.1\r\nHost: EXAMPLE.com.:8080\r\n\
         Content-Length: 12\r\nExpect: 100-continue\r\n\r\n",
        "example.com:8080 POST /?q HTTP/1.1\r\nHost: example.com:8080\r\nExpect: 100-continue\r\n\
         Content-Length: 12\r\nConnection: close\r\n\r\n+12",
    );
    check(
        "GET http://example.com HTTP/1.0\r\n\r\n",
        "example.com:80 GET / HTTP/1.0\r\nHost: example.com\r\nConnection: close\r\n\r\n+0",
    );
}

#[test]
fn what_is_between_neighbours_stays_there() {
    check(
        "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nProxy-Authorization: Basic eA==\r\n\
         Proxy-Connection: keep-alive\r\nConnection: keep-alive, X-Hop , content-length,host\r\n\
         X-Hop: 1\r\nX-End: 2\r\nTE: trailers\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\
         Content-Length: 3\r\n\r\n",
        "a.example:80 GET / HTTP/1.1\r\nHost: a.example\r\nX-End: 2\r\nContent-Length: 3\r\n\
         Connection: close\r\n\r\n+3",
    );
}

#[test]
fn a_request_that_can_be_read_in_two_ways_is_refused() {
    let with = |fields: &str| {
        format!("POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\n{fields}\r\n")
    };
    for (fields, expected) in [
        (
            "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
            "400 Bad Request: it has a length and a transfer encoding",
        ),
        (
            "Transfer-Encoding: chunked\r\n",
            "411 Length Required: a plain HTTP request needs a Content-Length",
        ),
        (
            "transfer-encoding: identity\r\n",
            "411 Length Required: a plain HTTP request needs a Content-Length",
        ),
        ("Content-Length: 3\r\nContent-length: 3\r\n", "400 Bad Request: it has two lengths"),
        ("Content-Length: 3, 3\r\n", "400 Bad Request: its length is no number"),
        ("Content-Length: +3\r\n", "400 Bad Request: its length is no number"),
        ("Content-Length: -1\r\n", "400 Bad Request: its length is no number"),
        ("Content-Length: 0x3\r\n", "400 Bad Request: its length is no number"),
        ("Content-Length:\r\n", "400 Bad Request: its length is no number"),
        ("Content-Length: 99999999999999999999\r\n", "400 Bad Request: its length is no number"),
        ("Content-Length : 3\r\n", "400 Bad Request: its head is not one of HTTP/1.1"),
        ("X: 1\r\n folded\r\n", "400 Bad Request: its head is not one of HTTP/1.1"),
        ("X: 1\r\n\tfolded\r\n", "400 Bad Request: its head is not one of HTTP/1.1"),
        (" X: 1\r\n", "400 Bad Request: its head is not one of HTTP/1.1"),
        ("X\r\n", "400 Bad Request: its head is not one of HTTP/1.1"),
        ("X: a\rb\r\n", "400 Bad Request: its head has a bare carriage return, line feed or NUL"),
        (
            "X: a\nb: c\r\n",
            "400 Bad Request: its head has a bare carriage return, line feed or NUL",
        ),
        ("X: a\0b\r\n", "400 Bad Request: its head has a bare carriage return, line feed or NUL"),
        ("Host: a.example\r\n", "400 Bad Request: it has two Host fields"),
    ] {
        check(&with(fields), expected);
    }
    let many = "X: 1\r\n".repeat(HEADERS_MAX);
    check(&with(&many), "400 Bad Request: its head has too many fields");
}

#[test]
fn the_host_field_and_the_target_are_the_same_host() {
    for (target, host, expected) in [
        ("http://a.example/", "Host: b.example\r\n", "its Host field names another host"),
        ("http://a.example/", "Host: a.example:81\r\n", "its Host field names another host"),
        ("http://a.example/", "Host: a.example@b.example\r\n", "its Host field names another host"),
        ("http://a.example/", "Host:\r\n", "its Host field names another host"),
        ("http://a.example/", "", "it has no Host field"),
        ("http://a.example@b.example/", "Host: b.example\r\n", "its host is no host"),
        ("http://b.example\\@a.example/", "Host: a.example\r\n", "its host is no host"),
        ("http://127.1/", "Host: 127.1\r\n", "its host is no host"),
        ("http:///x", "Host: a.example\r\n", "its host is no host"),
        (
            "https://a.example/",
            "Host: a.example\r\n",
            "a proxy takes CONNECT host:port and http://host/path",
        ),
        ("/", "Host: a.example\r\n", "a proxy takes CONNECT host:port and http://host/path"),
        ("*", "Host: a.example\r\n", "a proxy takes CONNECT host:port and http://host/path"),
        (
            "http://a.example/#b",
            "Host: a.example\r\n",
            "its path has a character that paths do not have",
        ),
    ] {
        let head = format!("GET {target} HTTP/1.1\r\n{host}\r\n");
        check(&head, &format!("400 Bad Request: {expected}"));
    }
}

#[test]
fn a_response_says_that_the_connection_ends() {
    let head = b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: 5\r\n\
                 Transfer-Encoding: chunked\r\nX: 1\r\n\r\n";
    let expected = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: 1\r\n\
                     Connection: close\r\n\r\n";
    let response = parse_response(head).unwrap();
    assert_eq!((response.code, response.head), (200, expected.to_vec()));
    let interim = parse_response(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
    assert!(interim.is_interim());
    assert_eq!(interim.head, b"HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(parse_response(b"SSH-2.0-server\r\n\r\n"), None);
}

fn read(mut bytes: &[u8]) -> (Result<Vec<u8>, HeadError>, &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    (runtime.block_on(read_head(&mut bytes)), bytes)
}

#[test]
fn a_head_is_read_to_its_end_and_no_further() {
    let (head, rest) = read(b"GET / HTTP/1.1\r\n\r\nGET /second");
    assert_eq!(head.unwrap(), b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(rest, b"GET /second");
    assert!(matches!(read(b"GET / HTTP/1.1\r\n").0, Err(HeadError::Gone)));
    let endless = vec![b'a'; 2 * HEAD_BYTES_MAX];
    let (head, rest) = read(&endless);
    assert!(matches!(head, Err(HeadError::TooLong)));
    assert_eq!(rest.len(), HEAD_BYTES_MAX - 1);
}

/// Pieces that heads are made of, and pieces that they should not be made of.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"CONNECT ".to_vec()),
        Just(b"GET ".to_vec()),
        Just(b"http://a.example".to_vec()),
        Just(b"a.example:443".to_vec()),
        Just(b" HTTP/1.1\r\n".to_vec()),
        Just(b"Host: a.example\r\n".to_vec()),
        Just(b"Host: b.example\r\n".to_vec()),
        Just(b"Content-Length: 5\r\n".to_vec()),
        Just(b"Transfer-Encoding: chunked\r\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"@".to_vec()),
        prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse_request(&bytes);
        let _ = parse_response(&bytes);
        let _ = read(&bytes);
    }

    #[test]
    fn what_goes_on_is_one_request_to_the_one_host(mut bytes in pieces()) {
        bytes.extend_from_slice(b"\r\n\r\n");
        let (Ok(head), _) = read(&bytes) else { return Ok(()) };
        let Ok(Request::Forward(forward)) = parse_request(&head) else { return Ok(()) };
        let (again, rest) = read(&forward.head);
        prop_assert_eq!(again.ok(), Some(forward.head.clone()));
        prop_assert!(rest.is_empty());
        let mut fields = [EMPTY_HEADER; HEADERS_MAX + 3];
        let mut request = httparse::Request::new(&mut fields);
        prop_assert_eq!(request.parse(&forward.head), Ok(Status::Complete(forward.head.len())));
        prop_assert_eq!(values(request.headers, "host").count(), 1);
        prop_assert_eq!(values(request.headers, "transfer-encoding").count(), 0);
        let lengths: Vec<&[u8]> = values(request.headers, "content-length").collect();
        let expected = forward.body_bytes.to_string();
        prop_assert!(lengths.is_empty() && expected == "0" || lengths == [expected.as_bytes()]);
    }
}
