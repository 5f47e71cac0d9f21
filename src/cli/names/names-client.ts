/**
 * Asks a name service for things, signed by the payer and, where the action needs it, by the owner. Every signature
 * names the service and covers the request, so that it is good for nothing else.
 */
import { randomUUID } from 'node:crypto';
import { tryParseJson } from '../../formats/json.ts';
import { addressBytes } from '../../formats/solana/address.ts';
import { parseTransaction, serializeTransaction, signersOf } from '../../formats/solana/transaction.ts';
import { StartupError } from '../../kernel/errors.ts';
import { ownerText, proofMessages } from '../../names/actions/owner-proof.ts';
import type { RecordRequest } from '../../names/requests/action.ts';
import type { OwnerKey, PersonKey } from '../person-key.ts';
import { ServiceClient } from '../service-client.ts';
import { serviceAddress, signedHeaders } from '../signed-request.ts';

export type Answer = Readonly<Record<string, unknown>>;

/** The service answered no, in its own words. */
export class NamesRefused extends StartupError {
  readonly status: number;
  readonly path: string;

  constructor(message: string, status: number, path: string) {
    super(message);
    this.status = status;
    this.path = path;
  }

  /** Nothing was begun, so that nothing was charged. */
  get isForGood(): boolean {
    return this.status < 500 && !this.path.endsWith('/sign');
  }
}

/** A machine that is slow may sign too late more than once. */
const mostSignatures = 3;

export class NamesClient {
  readonly #service: ServiceClient;

  constructor(url: string) {
    this.#service = new ServiceClient('name service', url, 60_000);
  }

  get(path: string): Promise<Answer> {
    return this.#call('GET', path);
  }

  /**
   * Creates an action and, where the owner must sign, signs and submits it; answers the completed one. `record`: what is
   * done with a record, which the owner proves to want.
   */
  async act(
    action: string,
    fields: Answer,
    payer: PersonKey,
    owner: OwnerKey | undefined,
    record?: RecordRequest,
  ): Promise<Answer> {
    const service = serviceAddress(await this.get('/info'), this.#service.url);
    // A transaction that nobody has signed yet is made anew where it comes too late, and wallets do not warn of it.
    const body = owner === undefined ? fields : { ...fields, signOrder: 'owner-first' };
    const path = `/arns/actions/${action}`;
    const headers = await signedHeaders(payer, { service, method: 'POST', path: `/v1${path}`, body });
    if (owner !== undefined && record !== undefined) Object.assign(headers, proof(record, owner, service));
    const created = await this.#call('POST', path, body, headers);
    if (created.status === 'completed') return created;
    let answer = created;
    for (let tries = 0; answer.status !== 'completed'; tries += 1) {
      const { nonce, transaction } = answer;
      if (owner === undefined || typeof transaction !== 'string' || tries === mostSignatures) {
        throw new StartupError(
          `the action ${String(nonce)} is ${String(answer.status)} and cannot be signed here`,
        );
      }
      answer = await this.#call('POST', `/arns/actions/${String(nonce)}/sign`, {
        transaction: signed(transaction, owner),
      });
    }
    return answer;
  }

  async #call(
    method: 'GET' | 'POST',
    path: string,
    body?: Answer,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const { status, text } = await this.#service.call(`/v1${path}`, { method, headers }, body);
    const read = tryParseJson(text) ?? text;
    if (status >= 400) throw new NamesRefused(String(read).slice(0, 1_000), status, path);
    if (typeof read !== 'object') throw new StartupError(`${this.#service.url} answered nonsense`);
    return { ...read };
  }
}

/** The owner's proof of what is done with a record (interface §5), with a nonce, for this service alone. */
function proof(record: RecordRequest, owner: OwnerKey, service: string): Record<string, string> {
  const nonce = randomUUID();
  // The stricter of two texts, where there are two: a field that is left out is told from one that is cleared.
  const message = ownerText(proofMessages(record).at(-1) ?? '', { nonce, service });
  return {
    'x-owner-service-address': service,
    'x-owner-public-key': addressBytes(owner.address).toString('base64url'),
    'x-owner-nonce': nonce,
    'x-owner-signature': owner.sign(Buffer.from(message)).toString('base64url'),
    'x-owner-signature-type': '4',
  };
}

/** The very bytes that were handed out, with the owner's signature in its slot. */
function signed(transaction: string, owner: OwnerKey): string {
  const parts = parseTransaction(Buffer.from(transaction, 'base64'));
  const place = signersOf(parts.message).indexOf(owner.address);
  if (place < 0) throw new StartupError('the service asks for the signature of somebody else');
  const signature = owner.sign(parts.messageBytes);
  const signatures = parts.signatures.map((own, index) => (index === place ? signature : own));
  return serializeTransaction(signatures, parts.messageBytes).toString('base64');
}
