/**
 * How much a client may read: token buckets per client and per resource, one token a KiB of body, refilled with time;
 * what a client pays with x402 comes on top (interface §8; 402 and 429 of §7). Off by default.
 *
 * - `meter.ts`    the one function that the byte routes call
 * - `buckets.ts`  buckets in bounded memory
 * - `paid.ts`     paid tokens, kept in the database, each payment counted once
 * - `shared.ts`   buckets shared by processes through PostgreSQL
 * - `client.ts`   who a request comes from, believed only from trusted proxies
 * - `prices.ts`   what bytes cost
 */

export { meterMigrations } from './migrations.ts';
export { createMeter, type MeterDeps } from './part.ts';
export type { Meter } from './token-meter.ts';
