//! Downloads of large files without a key: resumable, redirects followed.

use bytes::Bytes;
use reqwest::header::{CONTENT_RANGE, RANGE};

use super::{HttpClient, HttpReply, Use, configuration};
use crate::provider::ProviderError;

/// A download whose head has come.
pub struct Download {
    /// The status: 200 for the whole file, 206 for its rest, 416 where nothing is left.
    pub status: u16,
    /// The size of the whole file in bytes, where the server says it.
    pub total_bytes: Option<u64>,
    reply: HttpReply,
}

impl HttpClient {
    /// Gets `url` from byte `offset` on. The server may answer with the whole file all the same:
    /// see [`Download::status`]. Sends no key; follows at most five redirects.
    pub async fn get_from(&self, url: &str, offset: u64) -> Result<Download, ProviderError> {
        let url = reqwest::Url::parse(url)
            .map_err(|error| configuration(format!("{url:?} is not a URL: {error}")))?;
        let client = self.client(&url, [Use::PlainDownload, Use::SecureDownload])?;
        let mut request = client.get(url.clone());
        if offset > 0 {
            request = request.header(RANGE, format!("bytes={offset}-"));
        }
        let reply = self.send(request, &url).await?;
        let range = reply.headers.get(CONTENT_RANGE).and_then(|value| value.to_str().ok());
        let total_bytes = match range {
            Some(range) => range.rsplit('/').next().and_then(|total| total.parse().ok()),
            None => reply.inner.content_length(),
        };
        Ok(Download { status: reply.status.as_u16(), total_bytes, reply })
    }
}

impl Download {
    /// Returns the next bytes, `None` at the end. The idle limit of the client's options holds.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, ProviderError> {
        self.reply.chunk().await
    }
}
