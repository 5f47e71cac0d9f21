/** The upload surface beside an Arweave node whose every word a test can choose, and a clock that only it moves. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { winc } from '../../credits/credits.ts';
import { parseItemHeader } from '../../formats/ans104/item-header.ts';
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { itemOwner } from '../../wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../wallets/testing/keys.ts';
import { inlineBytes } from '../intake/payload-sink.ts';
import { noteBlobs, useNoted } from '../items/blob-uses.ts';
import { insertItem } from '../items/item-rows.ts';
import { startTestUpload, type TestUpload } from '../testing.ts';

export const signer = solanaSigner(ed25519TestKey('bundler faults'));
export const { address } = itemOwner(4, signer.owner).wallet;

interface ScriptedNode {
  /** Transactions that were posted. */
  readonly posted: Set<string>;
  refuses: boolean;
  /** Confirmations it answers for what was posted. */
  confirmations: number;
  /** What every wallet has, in winston. */
  balance: string;
  /** Whether it has the chunks that it was given, and how they are. */
  chunks: 'none' | 'as given' | 'altered';
}

const hourMs = 3_600_000;

/** Time stands still but for `pass`, by an hour: what the bundler tries again it tries once for each. */
export async function withNode(
  work: (node: ScriptedNode, upload: TestUpload, pass: () => Promise<void>) => Promise<void>,
  maxWaitMs = 0,
): Promise<void> {
  const node: ScriptedNode = {
    posted: new Set(),
    refuses: false,
    confirmations: 0,
    balance: '1000000000000',
    chunks: 'none',
  };
  const given: GivenChunk[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const asked = `${request.method} ${request.url}`;
      const [status, body] = answerOf(node, given, asked, Buffer.concat(parts));
      response.statusCode = status;
      response.end(body);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const place = server.address();
  assert.ok(place !== null && typeof place === 'object');
  let now = Date.now();
  const upload = await startTestUpload(
    { BUNDLE_MAX_WAIT_MS: String(maxWaitMs), BUNDLE_POLL_MS: '10', BUNDLE_CONFIRMATIONS: '3' },
    { arweaveNodeUrls: [`http://127.0.0.1:${place.port}`], now: () => now },
  );
  try {
    await upload.give(address, 'solana', 10n ** 12n);
    await work(node, upload, async () => {
      // By the database's clock.
      await upload.sql.run('UPDATE upload_items SET missed_since = missed_since - ?', hourMs);
      await upload.sql.run('UPDATE upload_bundles SET unreadable_since = unreadable_since - ?', hourMs);
      now += hourMs;
    });
  } finally {
    await upload.close();
    server.closeAllConnections();
    server.close();
  }
}

/** Of a bundle that is one chunk. */
interface GivenChunk {
  readonly data_size: string;
  readonly data_path: string;
  readonly chunk: string;
}

function answerOf(node: ScriptedNode, given: GivenChunk[], asked: string, body: Buffer): [number, string] {
  if (asked === 'GET /height') return [200, '1500000'];
  if (asked === 'GET /tx_anchor') return [200, Buffer.alloc(48, 7).toString('base64url')];
  if (asked.startsWith('GET /price/')) return [200, '1000'];
  if (asked.includes('/balance')) return [200, node.balance];
  if (asked === 'POST /chunk') {
    given.push(JSON.parse(body.toString()));
    return [200, 'OK'];
  }
  if (asked === 'POST /tx') {
    if (node.refuses) return [400, 'Transaction verification failed.'];
    node.posted.add(String(JSON.parse(body.toString()).id));
    return [200, 'OK'];
  }
  const last = given.at(-1);
  if (last !== undefined && node.chunks !== 'none') {
    if (asked.startsWith('GET /chunk/')) return [200, JSON.stringify(chunkAnswer(node, last))];
    if (asked.endsWith('/offset')) {
      return [200, JSON.stringify({ offset: last.data_size, size: last.data_size })];
    }
  }
  const id = /^GET \/tx\/([\w-]{43})\/status$/.exec(asked)?.[1];
  if (id === undefined || !node.posted.has(id)) return [404, 'Not Found'];
  return [200, JSON.stringify({ block_height: 9, number_of_confirmations: node.confirmations })];
}

function chunkAnswer(node: ScriptedNode, { chunk, data_path }: GivenChunk): Record<string, string> {
  const bytes = Buffer.from(chunk, 'base64url');
  if (node.chunks === 'altered') bytes.fill(bytes[0] === 0 ? 1 : 0, 0, 1);
  return { chunk: bytes.toString('base64url'), data_path };
}

interface StoredTestItem {
  readonly id: string;
  readonly bytes: Buffer;
  readonly payload: Buffer;
  /** Of its blob, where it has one. */
  readonly digest: string | undefined;
}

/** Items with these payloads, signed and stored as intake stores them, the first the oldest. */
export async function storeItems(
  { sql, blobs }: { readonly sql: Sql; readonly blobs: BlobStore },
  payloads: readonly Buffer[],
  /** Where others clean up meanwhile by a clock of their own. */
  now?: () => number,
): Promise<StoredTestItem[]> {
  const stored: StoredTestItem[] = [];
  for (const [index, payload] of payloads.entries()) {
    const bytes = await signItem(
      { data: payload, anchor: Buffer.from(String(index).padStart(32, '0')) },
      signer,
    );
    const header = parseItemHeader(bytes);
    assert.ok(typeof header !== 'string');
    const isInline = payload.length <= inlineBytes;
    const segments = isInline ? [] : [{ ...(await blobs.put(payload)), start: 0 }];
    const notedAt = now?.() ?? index;
    await noteBlobs(sql, segments, notedAt);
    await sql.transaction(async (tx) => {
      await insertItem(tx, {
        ...{ id: header.id, owner: header.ownerAddress, signer: address, signatureType: 4 },
        ...{ size: bytes.length, payloadStart: header.length, contentType: 'text/plain' },
        ...{ winc: winc(0n), receivedAt: index, deadlineHeight: 1_000_000, answer: {}, segments },
        ...{ isNoted: true, head: isInline ? bytes : header.bytes, announceAt: undefined },
      });
      await useNoted(tx, segments, notedAt);
    });
    stored.push({ id: header.id, bytes, payload, digest: segments[0]?.digest });
  }
  return stored;
}

/** The same database, with something that happens before each statement. */
export const watchedSql = (sql: Sql, before: (method: PropertyKey) => Promise<void>): Sql =>
  new Proxy(sql, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return async (...values: unknown[]) => {
        await before(name);
        return value.apply(target, values);
      };
    },
  });
