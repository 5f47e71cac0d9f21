/** Somebody who uploads, tries again, reads what was uploaded, and remembers every receipt. */
import { hash } from 'node:crypto';
import { parseItemHeader } from '../../../src/formats/ans104/item-header.ts';
import { memberOf, tryParseJson } from '../../../src/formats/json.ts';
import { type HttpAnswer, HttpClient } from '../../../src/outside/http.ts';
import { itemOwner } from '../../../src/wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../../src/wallets/testing/keys.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import { short } from '../arweave.ts';
import { skewed } from '../faults.ts';
import type { Life, SimulatedProcess } from '../process.ts';
import type { Said } from '../restorer.ts';
import { isLost, uploadInParts } from './in-parts.ts';

/** Asked when it was first sent. */
export interface UploadPromise extends Said {
  readonly id: string;
  /** The whole item, header included. */
  readonly bytes: Buffer;
  readonly payload: Buffer;
  /** Of its blobs, where it is large enough to have any, and of those of each time that it was sent in parts. */
  readonly digests: readonly string[];
  readonly deadlineHeight: number;
}

interface UploaderOptions {
  readonly process: SimulatedProcess;
  readonly random: SeededRandom;
  /** Of the upload service, any of which takes an item. */
  readonly urls: readonly string[];
  readonly gatewayUrl: string | undefined;
  /** Most are sent in parts. */
  readonly inParts: boolean;
  /** Blobs that are gone for good. */
  readonly spoiled: ReadonlySet<string>;
  readonly isDay: () => boolean;
  readonly isCalm: () => boolean;
  /** When the ledger was last restored: the service has forgotten what it promised shortly before. */
  readonly restoredAt: () => number | undefined;
}

const second = 1_000;
const minute = 60 * second;
/** Between two uploads, on average. */
const pauseMs = 12 * minute;
/** The same, where nothing is wrong and there is a gateway to be told of items at once. */
const calmPauseMs = 2 * minute;
/** Between two items that come in a row: as long as it takes to tell a gateway of one. */
const rowMs = 80;
const mostTries = 8;
const toldMs = second;

export class Uploader {
  readonly promises = new Map<string, UploadPromise>();
  readonly process: SimulatedProcess;
  readonly address: string;
  readonly #options: UploaderOptions;
  readonly #signer;
  #count = 0;

  constructor(options: UploaderOptions) {
    this.#options = options;
    this.process = options.process;
    this.#signer = solanaSigner(ed25519TestKey(options.process.name));
    this.address = itemOwner(4, this.#signer.owner).wallet.address;
  }

  readonly program = async (life: Life): Promise<void> => {
    const { random, isDay, isCalm, gatewayUrl } = this.#options;
    const http = new HttpClient({ timeoutMs: 60 * second, maxBytes: 4 * 1024 * 1024 });
    for (;;) {
      const pause = isCalm() && gatewayUrl !== undefined ? calmPauseMs : pauseMs;
      await life.idle(random, pause);
      if (!isDay()) continue;
      // Some come in bursts: each after the answer to the one before, in a row, or all at once.
      const count = random.below(3) === 0 ? random.between(2, 6) : 1;
      const way = random.pick(['in turn', 'in a row', 'at once'] as const);
      const uploads: Promise<void>[] = [];
      for (let index = 0; index < count; index += 1) {
        const upload = this.#upload(life, http);
        uploads.push(upload);
        if (way === 'in turn') await upload;
        if (way === 'in a row') await life.wait(rowMs * random.fraction());
      }
      await Promise.all(uploads);
    }
  };

  async #upload(life: Life, http: HttpClient): Promise<void> {
    const { random, inParts, spoiled } = this.#options;
    this.#count += 1;
    const payload = random.bytes(sizeOf(random));
    const bytes = await signItem(
      { data: payload, anchor: Buffer.from(String(this.#count).padStart(32, '0')) },
      this.#signer,
    );
    const header = parseItemHeader(bytes);
    if (typeof header === 'string') throw new Error(header);
    const askedAt = life.world.time;
    const digests = [hash('sha256', payload, 'hex')];
    const isCut = inParts && random.below(4) > 0;
    const send = () => (isCut ? this.#sendInParts(life, bytes, digests) : this.#send(http, bytes));
    for (let tried = 0; tried < mostTries; tried += 1) {
      const answer = await send();
      const receipt = answer && tryParseJson(answer.body.toString());
      const deadlineHeight = Number(memberOf(receipt, 'deadlineHeight'));
      if (answer !== undefined && answer.status < 300) {
        this.promises.set(header.id, {
          id: header.id,
          bytes,
          payload,
          digests,
          deadlineHeight,
          askedAt,
          at: life.world.time,
        });
        this.process.tell(
          `has a receipt of ${short(header.id)}, ${bytes.length} bytes${isCut ? ', in parts' : ''}`,
        );
        void this.#isTold(life, http, header.id);
        await this.#read(life, http, header.id, payload);
        return;
      }
      const isExcused = answer !== undefined && isLost(answer) && digests.some((one) => spoiled.has(one));
      if (answer !== undefined && answer.status < 500 && !isExcused) {
        life.world.broken(`${short(header.id)} was refused with ${answer.status}: ${answer.body.toString()}`);
        return;
      }
      await life.wait(skewed(random, second, 5 * minute));
    }
    this.process.tell(`gave up uploading ${short(header.id)}`);
  }

  #send(http: HttpClient, body: Buffer): Promise<HttpAnswer | undefined> {
    const { random, urls } = this.#options;
    const headers = { 'content-type': 'application/octet-stream' };
    return http.call(`${random.pick(urls)}/v1/tx`, { method: 'POST', body, headers }).catch(() => undefined);
  }

  #sendInParts(life: Life, item: Buffer, digests: string[]): Promise<HttpAnswer | undefined> {
    const { random, urls } = this.#options;
    const address = () => random.pick(urls);
    return uploadInParts({ life, random, address }, item, (digest) => digests.push(digest));
  }

  /** Where nothing is wrong, the gateway knows an item at once. */
  async #isTold(life: Life, http: HttpClient, id: string): Promise<void> {
    const { gatewayUrl, isCalm } = this.#options;
    if (gatewayUrl === undefined || !isCalm()) return;
    await life.wait(toldMs);
    const query = { query: 'query($id: ID!) { transaction(id: $id) { id } }', variables: { id } };
    const answer = await http.postJson(`${gatewayUrl}/graphql`, query).catch(() => undefined);
    if (isCalm() && !answer?.body.toString().includes(`"id":"${id}"`))
      life.world.broken(
        `${short(id)} has had a receipt for ${toldMs / second} s, and the gateway does not know it`,
      );
  }

  /** What has a receipt is readable at once; whoever cannot tell says so, and nobody says something else. */
  async #read(life: Life, http: HttpClient, id: string, payload: Buffer): Promise<void> {
    const { gatewayUrl, restoredAt } = this.#options;
    if (gatewayUrl === undefined) return;
    const before = restoredAt();
    const answer = await http.call(`${gatewayUrl}/raw/${id}`).catch(() => undefined);
    if (answer === undefined || answer.status >= 500 || restoredAt() !== before) return;
    if (answer.status !== 200)
      life.world.broken(`${short(id)} has a receipt, and the gateway answers ${answer.status}`);
    else if (!answer.body.equals(payload)) life.world.broken(`${short(id)} is served with wrong bytes`);
  }
}

/** Some small enough to be kept in the database, some of several chunks. */
function sizeOf(random: SeededRandom): number {
  const kind = random.below(10);
  if (kind < 4) return random.between(1, 4_000);
  if (kind < 9) return random.between(9_000, 40_000);
  return random.between(100_000, 600_000);
}
