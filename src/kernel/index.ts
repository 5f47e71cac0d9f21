/**
 * What every surface stands on. It knows nothing of any surface and may import only `config`.
 *
 *   errors      errors that are answers, and the one that stops a start
 *   log         structured lines with secrets hidden
 *   metrics     one Prometheus registry per surface
 *   surface     what has a life;  lifecycle  the program's life: start, signals, drain, stop
 *   tracing/    spans for OpenTelemetry, off unless asked for
 *   http/       the server every surface is mounted on, and the path on which bytes leave it
 *   pool/       threads for CPU work
 *   keys        secrets made on first start
 *   fast-ticks  one line that keeps the event loop fast;  young-memory  frees what passed through soon
 *   testing     stand-ins for tests
 *
 * Import the file you need; this one only says what there is.
 */
export type { Surface } from './part.ts';
