//! Tests of the providers over real HTTP, against a fake server on loopback.

#[cfg(test)]
#[path = "../../../../tests/support/fake_server/mod.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod fake_server;

#[cfg(test)]
mod support;

#[cfg(test)]
mod anthropic;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod network;
#[cfg(test)]
mod openai;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod tls;
