//! A site's side: makes loads when the router asks for them, and checks those that arrive.

use quinn::RecvStream;
use tokio::io::AsyncReadExt;

use super::content::LoadContent;
use super::wire::{BLOCK, LoadHeader, LoadLabel, check_load};
use crate::quic::Connection;

/// Number of bytes that may wait here until they are checked.
const UNREAD: u32 = 64 << 20;

/// Serves the router until the connection ends. Failures of a load are noticed by the router, which misses it.
pub async fn serve_router(connection: Connection) {
    connection.take_loads(UNREAD);
    while let Ok(stream) = connection.accept_uni().await {
        let connection = connection.clone();
        tokio::spawn(async move {
            if let Err(error) = answer_stream(&connection, stream).await {
                tracing::warn!(%error, "a load is lost");
            }
        });
    }
}

async fn answer_stream(connection: &Connection, mut stream: RecvStream) -> std::io::Result<()> {
    match LoadHeader::read_from(&mut stream).await? {
        LoadHeader::Send(label) => send_load(connection, label, stream).await,
        LoadHeader::Data(label) => {
            let verdict = check_load(label, &mut stream).await?;
            let mut out = connection.open_uni().await?;
            out.write_all(&LoadHeader::Verdict(verdict).to_bytes()).await?;
            out.finish()
        }
        LoadHeader::Verdict(_) => Err(std::io::Error::other("a router gives no verdicts")),
    }
}

/// Sends a load as fast as the router gives credit.
async fn send_load(connection: &Connection, label: LoadLabel, mut credits: RecvStream) -> std::io::Result<()> {
    let mut out = connection.open_uni().await?;
    out.write_all(&LoadHeader::Data(label).to_bytes()).await?;
    let mut content = LoadContent::new(label.seed, label.bytes);
    let mut left = label.bytes;
    let mut credit = 0;
    let mut block = vec![0; BLOCK];
    while left > 0 {
        while credit < left.min(BLOCK as u64) {
            credit += u64::from(credits.read_u32_le().await?);
        }
        let count = content.next(&mut block) as u64;
        out.write_all(&block[..count as usize]).await?;
        (left, credit) = (left - count, credit - count);
    }
    out.finish()
}
