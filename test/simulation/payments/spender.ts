/** Somebody who uploads with credits, lends them to others, takes them back, and has others pay. */
import { parseItemHeader } from '../../../src/formats/ans104/item-header.ts';
import { textOf, tryParseJson } from '../../../src/formats/json.ts';
import { signItem, solanaSigner } from '../../../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../../src/wallets/testing/keys.ts';
import { minute } from '../person.ts';
import type { Life } from '../process.ts';
import type { Said } from '../restorer.ts';
import { Customer, type CustomerOptions } from './customer.ts';

const pauseMs = 12 * minute;
const chunkSize = 5 * 1024 * 1024;

export class Spender extends Customer {
  /** Items that have a receipt. */
  readonly receipts = new Map<string, Said>();
  readonly #signer;
  readonly #friends: () => readonly string[];
  #count = 0;

  constructor(options: CustomerOptions & { readonly friends: () => readonly string[] }) {
    super(options);
    this.#signer = solanaSigner(ed25519TestKey(options.name));
    this.#friends = options.friends;
  }

  readonly program = (life: Life): Promise<void> =>
    this.live(life, pauseMs, async () => {
      const { random } = this;
      const friend = random.pick(this.#friends());
      const kind = random.below(8);
      const tags =
        kind === 0
          ? [
              { name: 'x-approve-payment', value: friend },
              { name: 'x-amount', value: String(random.between(1_000, 1_000_000)) },
              ...(random.below(2) === 0
                ? [{ name: 'x-expires-seconds', value: String(random.between(60, 20_000)) }]
                : []),
            ]
          : kind === 1
            ? [{ name: 'x-delete-payment-approval', value: friend }]
            : [];
      await this.#upload(life, tags, random.below(3) === 0 ? friend : undefined);
    });

  async #upload(
    life: Life,
    tags: { readonly name: string; readonly value: string }[],
    paidBy: string | undefined,
  ): Promise<void> {
    const anchor = Buffer.from(`${this.process.name} ${this.#count++}`.padStart(32, '0'));
    const data = this.random.bytes(this.random.between(1, 12_000));
    const bytes = await signItem({ data, anchor, tags }, this.#signer);
    const header = parseItemHeader(bytes);
    if (typeof header === 'string') throw new Error(header);
    const headers = {
      'content-type': 'application/octet-stream',
      ...(paidBy !== undefined && { 'x-paid-by': paidBy }),
    };
    const answer =
      this.random.below(4) === 0
        ? await this.#inParts(life, bytes, headers)
        : await this.insist(life, () => this.upload(), {
            path: '/v1/tx',
            method: 'POST',
            body: bytes,
            headers,
          });
    if (answer === undefined || answer.status >= 300) return;
    this.receipts.set(header.id, { askedAt: answer.askedAt, at: life.world.time });
    this.tell(
      `has a receipt of ${header.id.slice(0, 6)}${tags.length === 0 ? '' : `, with ${tags[0]?.name}`}`,
    );
  }

  /** The same item as an upload in parts: finalized by whoever is asked, at two addresses at once at times. */
  async #inParts(life: Life, body: Buffer, headers: Readonly<Record<string, string>>) {
    const to = () => this.upload();
    const begun = await this.insist(life, to, { path: `/v1/chunks/solana/-1/-1?chunkSize=${chunkSize}` });
    const id = textOf(tryParseJson(begun?.body.toString() ?? ''), 'id');
    if (begun?.status !== 200 || id === undefined) return undefined;
    const part = { path: `/v1/chunks/solana/${id}/0`, method: 'POST', body, headers } as const;
    if ((await this.insist(life, to, part))?.status !== 200) return undefined;
    const paidBy = headers['x-paid-by'];
    const end = {
      path: `/v1/chunks/solana/${id}/-1`,
      method: 'POST',
      headers: paidBy === undefined ? {} : { 'x-paid-by': paidBy },
    } as const;
    if (this.random.below(3) === 0) void this.ask(this.upload(), end);
    return this.insist(life, to, end);
  }
}
