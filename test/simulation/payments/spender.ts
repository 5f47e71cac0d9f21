/** Somebody who uploads with credits, lends them to others, takes them back, and has others pay. */
import { parseItemHeader } from '../../../src/formats/ans104/item-header.ts';
import { signItem, solanaSigner } from '../../../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../../src/wallets/testing/keys.ts';
import type { Life } from '../process.ts';
import { minute, Person, type PersonOptions } from './person.ts';

const pauseMs = 12 * minute;

export class Spender extends Person {
  /** Items that have a receipt. */
  readonly receipts = new Set<string>();
  readonly #signer;
  readonly #friends: () => readonly string[];
  #count = 0;

  constructor(options: PersonOptions & { readonly friends: () => readonly string[] }) {
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
    const asked = { path: '/v1/tx', method: 'POST', body: bytes, headers } as const;
    const answer = await this.insist(life, () => this.upload(), asked);
    if (answer === undefined || answer.status >= 300) return;
    this.receipts.add(header.id);
    this.tell(
      `has a receipt of ${header.id.slice(0, 6)}${tags.length === 0 ? '' : `, with ${tags[0]?.name}`}`,
    );
  }
}
