//! Compressed bodies, and bodies of refused requests.

use std::io::Write as _;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use flate2::Compression;
use flate2::write::GzEncoder;
use reflect_server::Settings;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::support::{Answer, Service, at};

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

async fn post(service: &Service, encoding: &str, body: Vec<u8>) -> Answer {
    let request = Request::post(at("/traces"))
        .header("authorization", format!("Bearer {}", service.master))
        .header("content-encoding", encoding)
        .body(Body::from(body))
        .unwrap();
    service.send(request).await
}

fn trace(length: usize) -> String {
    json!({"task": "t", "trajectory": "x".repeat(length)}).to_string()
}

#[tokio::test]
async fn gzip_bodies_are_read_and_other_encodings_are_415() {
    let service = Service::start().await;
    let stored = post(&service, "gzip", gzip(&trace(100))).await;
    assert_eq!(stored.status, StatusCode::CREATED, "{stored:?}");
    let plain = post(&service, "identity", trace(100).into()).await;
    assert_eq!(plain.status, StatusCode::CREATED, "{plain:?}");
    for encoding in ["br", "zstd", "deflate", "gzip, gzip", "\u{fc}"] {
        let refused = post(&service, encoding, gzip(&trace(100))).await;
        let found = (refused.status, refused.code());
        let expected = (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type");
        assert_eq!(found, expected, "{encoding}");
        assert_eq!(refused.headers["accept-encoding"], "gzip");
    }
    let broken = post(&service, "gzip", trace(100).into()).await;
    assert_eq!(
        (broken.status, broken.code()),
        (StatusCode::BAD_REQUEST, "malformed_json")
    );
}

#[tokio::test]
async fn body_limit_applies_to_decompressed_bytes() {
    let settings = Settings {
        body_limit: 10_000,
        ..Settings::default()
    };
    let service = Service::with(settings).await;
    let fits = post(&service, "gzip", gzip(&trace(9_000))).await;
    assert_eq!(fits.status, StatusCode::CREATED, "{fits:?}");
    let bomb = gzip(&trace(100_000_000));
    assert!(bomb.len() < 200_000);
    let refused = post(&service, "gzip", bomb).await;
    assert_eq!(
        (refused.status, refused.code()),
        (StatusCode::PAYLOAD_TOO_LARGE, "too_large")
    );
}

#[tokio::test]
async fn refused_long_body_gets_its_reply() {
    let service = Service::start().await;
    let live = service.listen().await;
    let address = live.url.strip_prefix("http://").unwrap();
    for (key, length, status) in [
        ("rf_live_x_wrong", 5_000_000, "401"),
        (service.master.as_str(), 20_000_000, "413"),
    ] {
        let mut client = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {key}\r\n\
             connection: close\r\ncontent-length: {length}\r\n\r\n",
            at("/traces")
        );
        client.write_all(head.as_bytes()).await.unwrap();
        // Everything before the reply is looked at, as most clients do.
        let chunk = vec![b'x'; 100_000];
        for _ in 0..length / chunk.len() {
            client.write_all(&chunk).await.unwrap();
        }
        let mut reply = String::new();
        client.read_to_string(&mut reply).await.unwrap();
        assert!(reply.starts_with(&format!("HTTP/1.1 {status}")), "{reply}");
    }
}

#[tokio::test]
async fn refused_requests_without_their_body_give_way_to_others() {
    let settings = Settings {
        max_connections: 4,
        ..Settings::default()
    };
    let service = Service::with(settings).await;
    let live = service.listen().await;
    let address = live.url.strip_prefix("http://").unwrap();
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n",
        at("/traces")
    );
    let mut silent = Vec::new();
    for _ in 0..4 {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(head.as_bytes()).await.unwrap();
        silent.push(client);
    }
    let refused = r#"route="/v1/projects/{project_id}/traces",status="401"} 4"#;
    while !service
        .get("/metrics")
        .await
        .body
        .as_str()
        .unwrap()
        .contains(refused)
    {
        tokio::task::yield_now().await;
    }
    let mut client = TcpStream::connect(address).await.unwrap();
    let health = b"GET /health HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    client.write_all(health).await.unwrap();
    let mut reply = String::new();
    client.read_to_string(&mut reply).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
}
