/**
 * What the parts of the gateway share. It is made in one place (`surface.ts`) and handed to each part; a part
 * takes from it what it needs and adds its routes, background work and health reasons.
 */
import type { Config } from '../config/config.ts';
import type { App, Reply, Request } from '../kernel/http/server.ts';
import type { Logger } from '../kernel/log.ts';
import type { Metrics } from '../kernel/metrics.ts';
import type { ByteSource } from './chain/byte-source.ts';
import type { NodeChunks } from './chain/node-chunks.ts';
import type { NodePool } from './chain/node-pool.ts';
import type { SqlGatewayIndex } from './chain-index/sql-index.ts';
import type { Blocklist } from './content/blocklist.ts';
import type { Writers } from './import/part.ts';
import type { Meter } from './metering/token-meter.ts';

export interface GatewayContext {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly index: SqlGatewayIndex;
  readonly nodes: NodePool;
  readonly chunks: NodeChunks;
  /** Where background work reads bytes; the content part puts its cache in front of the nodes. */
  bytes: ByteSource;
  /** Queues of the writing side; set before any later part is made. */
  writers: Writers | undefined;
  /** What is not served; the admin part keeps it. */
  blocklist: Blocklist | undefined;
  /** The block list changed: removes the copies of content with those hashes (base64url), and ready answers. */
  dropCopies: (hashes: Iterable<string>) => Promise<void>;
  /** Base64url SHA-256 of content that nobody has hashed yet: it is read to its end. undefined where it is not to be had. */
  contentHash: (id: string) => Promise<string | undefined>;
  /** Charges what is read; free where no meter is switched on. */
  meter: Meter;
  /** Answers `GET /` in place of the gateway info, where an apex is configured. */
  apex: ((request: Request, reply: Reply) => Promise<unknown>) | undefined;
  /** Added to `/gw/info` by parts that are switched on. */
  readonly info: Record<string, unknown>;
  /** Gateways that this one asks, shown by `/gw/peers`. */
  peers: () => readonly PeerGateway[];
}

/** Weights are 1 to 100, the better the higher, and begin in the middle. */
export interface PeerGateway {
  readonly url: string;
  readonly dataWeight: number;
  readonly chunkWeight: number;
}

/** A part of the gateway. */
export interface GatewayPart {
  readonly name: string;
  /** Adds routes and hooks to the gateway's own scope: errors there are plain text. */
  routes?(app: App): void | Promise<void>;
  /** Called in order once the database is open and nodes were asked; must not wait for the chain. */
  start?(): Promise<void>;
  /** Called in reverse order before the database is closed. */
  stop?(): Promise<void>;
  /** Why the gateway is not healthy, as far as this part knows. */
  reasons?(): readonly string[] | Promise<readonly string[]>;
}

export type CreatePart = (context: GatewayContext) => GatewayPart;
