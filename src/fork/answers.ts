/** What a node answers below `/tx/{id}`, from the fork. Places in the weave and blocks are those of another chain: not here. */
import { isRecord } from '../formats/json.ts';
import { readLimited } from '../outside/http.ts';
import type { ForkedContent } from './content.ts';
import type { ForkedTransactions } from './transactions.ts';

export interface ForkedAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
}

/** More data is not sent so, by nodes neither. */
const maxDataBytes = 12 * 1024 * 1024;

export class ForkedAnswers {
  readonly #transactions: ForkedTransactions;
  readonly #content: ForkedContent;

  constructor(transactions: ForkedTransactions, content: ForkedContent) {
    this.#transactions = transactions;
    this.#content = content;
  }

  /** `field` is what follows the id: nothing, `status`, `data`, `data.html`, or a field of the header. */
  async answer(id: string, field: string): Promise<ForkedAnswer | undefined> {
    if (field === 'status') {
      const status = await this.#transactions.status(id);
      return status && json(status);
    }
    if (field === 'offset') return undefined;
    if (field === 'data') {
      const data = await this.data(id);
      return data?.status === 200 ? text(data.body.toString('base64url')) : data;
    }
    if (field.startsWith('data.')) return await this.data(id);
    const header = await this.#transactions.header(id);
    if (header === undefined) return undefined;
    if (field === '') return json(header);
    const value = Object.hasOwn(header, field) ? header[field] : undefined;
    if (value === undefined) return undefined;
    return isRecord(value) || Array.isArray(value) ? json(value) : text(String(value));
  }

  /** The bytes as they are, where there are not too many. */
  async data(id: string): Promise<ForkedAnswer | undefined> {
    const opened = await this.#content.open(id, undefined, new AbortController().signal);
    if (opened === undefined || opened === 'not-asked') return undefined;
    if (opened.size > maxDataBytes) {
      opened.discard();
      return { ...json({ error: 'tx_data_too_big' }), status: 400 };
    }
    const contentType = opened.contentType ?? 'application/octet-stream';
    return { status: 200, contentType, body: await readLimited(opened.stream, maxDataBytes) };
  }
}

const json = (value: unknown): ForkedAnswer => ({
  status: 200,
  contentType: 'application/json; charset=utf-8',
  body: Buffer.from(JSON.stringify(value)),
});

const text = (value: string): ForkedAnswer => ({
  status: 200,
  contentType: 'text/plain; charset=utf-8',
  body: Buffer.from(value),
});
