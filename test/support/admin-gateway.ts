/** A gateway with its content and operator's sides over the local node, and a caller with the admin key, for tests. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { bundleTags, encodeBundleHeader } from '../../src/formats/ans104/bundle-header.ts';
import { parseItem } from '../../src/formats/ans104/item.ts';
import { type JobStatus, SharedJob } from '../../src/gateway/admin/shared-job.ts';
import type { NameSource } from '../../src/gateway/content/names/resolver.ts';
import { openContentCache } from '../../src/gateway/content/part.ts';
import { ed25519Signer, type ItemContents, signItem } from '../../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../src/wallets/testing/keys.ts';
import {
  adminKey,
  type Inside,
  type LocalStack,
  type LocalStackOptions,
  makeTransaction,
  startLocalStack,
  text,
} from './local-gateway.ts';

export { adminKey } from './local-gateway.ts';

export interface AdminGateway {
  readonly stack: LocalStack;
  readonly inside: Inside;
  /** Where cached content lies on disk. */
  readonly cacheFolder: string;
  readonly url: string;
  /** An admin call with the key; the body is sent as JSON. */
  call(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: unknown; headers: Headers }>;
  get(
    path: string,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: string; headers: Headers }>;
  /** A new gateway on the same data. */
  restart(overrides?: Record<string, string>): Promise<void>;
  stop(): Promise<void>;
}

export interface AdminGatewayOptions extends LocalStackOptions {
  readonly names?: readonly NameSource[];
}

export async function startAdminGateway(options: AdminGatewayOptions = {}): Promise<AdminGateway> {
  const cacheFolder = mkdtempSync(join(tmpdir(), 'turnpike-cache-'));
  const openCache = () =>
    openContentCache({ DATA_DIR: cacheFolder, CONTIGUOUS_DATA_CACHE_MAX_BYTES: 64 * 1024 * 1024 });
  const stack = await startLocalStack({
    ...options,
    deps: async () => ({ cache: await openCache(), names: options.names ?? [], ...(await options.deps?.()) }),
  });
  return {
    stack,
    cacheFolder,
    get inside() {
      return stack.inside;
    },
    restart: (overrides) => stack.restartGateway(overrides),
    get url() {
      return stack.gateway.url;
    },
    async call(method, path, body) {
      const answer = await fetch(`${stack.gateway.url}/gw/admin/${path}`, {
        method,
        headers: {
          authorization: `Bearer ${adminKey}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: answer.status, body: await answer.json(), headers: answer.headers };
    },
    async get(path, headers = {}) {
      const answer = await fetch(`${stack.gateway.url}${path}`, { headers, redirect: 'manual' });
      return { status: answer.status, body: await answer.text(), headers: answer.headers };
    },
    async stop() {
      await stack.stop();
      rmSync(cacheFolder, { recursive: true, force: true });
    },
  };
}

const signer = ed25519Signer(ed25519TestKey('operator'));

export interface MadeItem {
  readonly id: string;
  readonly bytes: Buffer;
  /** As `queue-data-item` takes it. */
  readonly header: Record<string, unknown>;
}

export async function makeItem(contents: ItemContents): Promise<MadeItem> {
  const bytes = await signItem(contents, signer);
  const parsed = parseItem(bytes);
  assert.ok(typeof parsed !== 'string');
  const { header } = parsed;
  return {
    id: header.id,
    bytes,
    header: {
      id: header.id,
      owner: header.owner.toString('base64url'),
      owner_address: header.ownerAddress,
      signature: header.signature.toString('base64url'),
      data_size: contents.data.length,
      target: '',
      content_type: '',
      tags: (contents.tags ?? []).map(({ name, value }) => ({
        name: Buffer.from(name).toString('base64url'),
        value: Buffer.from(value).toString('base64url'),
      })),
      bundlr_signature: '',
      uploaded_at: 1_700_000_000_000,
    },
  };
}

export function bundleOf(items: readonly Pick<MadeItem, 'id' | 'bytes'>[]): Buffer {
  const header = encodeBundleHeader(
    items.map(({ id, bytes }) => ({ id: Buffer.from(id, 'base64url'), size: bytes.length })),
  );
  return Buffer.concat([header, ...items.map(({ bytes }) => bytes)]);
}

/** Posts the items as one bundle and mines it; answers the bundle's id. */
export async function postBundle(
  stack: Pick<LocalStack, 'node'>,
  items: readonly MadeItem[],
): Promise<string> {
  const data = bundleOf(items);
  const { transaction, post } = await makeTransaction(stack.node.url, data, [...bundleTags]);
  await post();
  await text(`${stack.node.url}/mine`);
  return transaction.id.toString('base64url');
}

/** Names as the table has them; an undername is written `under_name`. */
export function namesOf(targets: ReadonlyMap<string, string>): NameSource {
  return {
    name: 'table',
    async resolve(name, undername) {
      const id = targets.get(undername === '@' ? name : `${undername}_${name}`);
      return id === undefined ? undefined : { id, ttlSeconds: 60, antId: 'ant', resolvedAt: 0 };
    },
  };
}

/** Jobs that begin from now on are not over before what is answered is called: a small one is done in no time. */
export function holdJobs(t: TestContext): () => void {
  const { follow } = SharedJob.prototype;
  const released = Promise.withResolvers<void>();
  let isHeld = true;
  const held = function (
    this: SharedJob,
    current: () => JobStatus,
    ended: Promise<unknown>,
    cancel?: () => void,
  ) {
    const shown = (): JobStatus => (isHeld ? { ...current(), status: 'running' } : current());
    return follow.call(this, shown, Promise.all([ended, released.promise]), cancel);
  };
  t.mock.method(SharedJob.prototype, 'follow', held);
  return () => {
    isHeld = false;
    released.resolve();
  };
}
