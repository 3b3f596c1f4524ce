//! Serves the page, the stream of what happens, and the changes that the page asks for.

use super::access::{self, Token};
use super::broadcast::Broadcast;
use super::change::{self, Change, Outcome};
use super::page;
use super::places::{Place, Places};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::BroadcastStream;

/// Bytes of a change, at most.
const CHANGE_BYTES: usize = 16 << 10;
/// For the head of a request, and for its body.
const PATIENCE: Duration = Duration::from_secs(5);

/// What every request needs.
#[derive(Debug)]
pub struct Site {
    pub dir: PathBuf,
    pub token: Token,
    pub broadcast: Broadcast,
}

/// Serves until the process ends.
pub fn serve(listener: TcpListener, site: Arc<Site>) -> anyhow::Result<()> {
    listener.set_nonblocking(true)?;
    let app = Router::new()
        .route("/", get(document))
        .route("/stream", get(stream))
        .route("/set", post(set))
        .route("/policy", post(policy))
        .with_state(site);
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(accept(listener, app))
}

async fn accept(listener: TcpListener, app: Router) -> anyhow::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let places = Arc::new(Places::default());
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files, for example: others end.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let place = Places::enter(&places);
        let service = TowerToHyperService::new(app.clone().layer(Extension(Arc::clone(&place))));
        let serving = async move {
            let mut server = hyper::server::conn::http1::Builder::new();
            // One request each: all answers but the stream fit into the kernel's buffer, so nobody
            // holds a connection by reading nothing.
            server.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(64 << 10).keep_alive(false);
            // A connection that ends badly is the other side's affair.
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        };
        let pushed_out = place.pushed_out();
        tokio::spawn(async move {
            tokio::select! {
                () = serving => {}
                () = pushed_out => {}
            }
            place.leave();
        });
    }
}

/// Lets a request in that bears the token: its connection has a place of its own from then on.
fn admit(site: &Site, headers: &HeaderMap, place: &Place) -> Result<(), StatusCode> {
    access::check(headers, &site.token)?;
    if place.keep() { Ok(()) } else { Err(StatusCode::SERVICE_UNAVAILABLE) }
}

/// The page tells nothing by itself.
async fn document(headers: HeaderMap) -> Response {
    if !access::is_from_here(&headers) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let Ok(nonce) = Token::new() else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        nonce.text()
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, policy.as_str()),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, page::live(nonce.text())).into_response()
}

async fn stream(
    State(site): State<Arc<Site>>,
    Extension(place): Extension<Arc<Place>>,
    headers: HeaderMap,
) -> Response {
    if let Err(status) = admit(&site, &headers, &place) {
        return status.into_response();
    }
    let (known, news) = site.broadcast.attend();
    let known = tokio_stream::iter(known.into_iter().map(Ok));
    // A page that is too far behind is cut off, and comes again.
    let lines =
        known.chain(BroadcastStream::new(news)).map(|line| line.map(|line| Bytes::copy_from_slice(line.as_bytes())));
    let headers = [(header::CONTENT_TYPE, "application/x-ndjson"), (header::CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(lines)).into_response()
}

async fn set(
    State(site): State<Arc<Site>>,
    Extension(place): Extension<Arc<Place>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let read = |body: &[u8]| serde_json::from_slice(body).map(Change::Set);
    answer(&site, &place, &headers, body, read).await
}

async fn policy(
    State(site): State<Arc<Site>>,
    Extension(place): Extension<Arc<Place>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let read = |body: &[u8]| serde_json::from_slice(body).map(Change::Policy);
    answer(&site, &place, &headers, body, read).await
}

async fn answer(
    site: &Site,
    place: &Place,
    headers: &HeaderMap,
    body: Body,
    read: impl FnOnce(&[u8]) -> serde_json::Result<Change>,
) -> Response {
    let outcome = match read_body(site, place, headers, body).await {
        Ok(body) => match read(&body) {
            Ok(change) => {
                let dir = site.dir.clone();
                let asked = tokio::task::spawn_blocking(move || change::ask(dir, change)).await;
                asked.unwrap_or_else(|_| Outcome::refused(StatusCode::INTERNAL_SERVER_ERROR, "the request failed"))
            }
            Err(problem) => Outcome::refused(StatusCode::BAD_REQUEST, &format!("not understood: {problem}")),
        },
        Err(status) => Outcome::refused(status, status.canonical_reason().unwrap_or_default()),
    };
    (outcome.status, axum::Json(outcome.said)).into_response()
}

async fn read_body(site: &Site, place: &Place, headers: &HeaderMap, body: Body) -> Result<Bytes, StatusCode> {
    admit(site, headers, place)?;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if kind.is_none_or(|kind| kind.split(';').next() != Some("application/json")) {
        return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    match tokio::time::timeout(PATIENCE, axum::body::to_bytes(body, CHANGE_BYTES)).await {
        Ok(body) => body.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}
