/** The local network as its control and its stand-ins tell it, through the console's own server. */
import type { ArweaveFaults, FacilitatorFaults, WebhookFaults } from '../../formats/local-faults.ts';
import { askConsole, messageIn, ServiceError } from './console.ts';
import { serviceUrl } from './settings.ts';

export type MiningMode = 'demand' | 'interval' | 'transaction' | 'none';

export interface LocalSnapshot {
  readonly name: string;
  /** ISO 8601 */
  readonly createdAt: string;
  readonly height: number;
}

export interface LocalNetwork {
  readonly instance: string;
  readonly height?: number;
  readonly mining?: { readonly mode: MiningMode; readonly intervalMs: number };
  readonly clock: { readonly now: string; readonly offsetSeconds: number };
  readonly snapshots: readonly LocalSnapshot[];
  readonly fork: {
    readonly gateway: string | null;
    readonly solana: string | null;
    readonly height: number | null;
  } | null;
  readonly addresses: readonly { readonly name: string; readonly url: string; readonly what: string }[];
}

export interface FundedWallets {
  readonly arweave: readonly { readonly address: string; readonly jwk: unknown }[];
  readonly ethereum: readonly { readonly address: string; readonly privateKey: string }[];
  readonly solana: readonly { readonly address: string; readonly secretKey: string }[];
  readonly mnemonic?: string;
}

export type FaucetCoin = 'credits' | 'ar' | 'sol' | 'ario' | 'usdc';

export type DeliveryState = 'waiting' | 'delivered' | 'dropped' | 'failed';

export interface Webhooks {
  readonly url: string | null;
  readonly faults: WebhookFaults;
  readonly deliveries: Readonly<Record<DeliveryState, number>>;
}

export interface Delivery {
  readonly seq: number;
  readonly event: string;
  readonly type: string;
  /** Unix seconds. */
  readonly created: number;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly answer: string | null;
}

export interface SolanaEntry {
  readonly signature: string;
  readonly slot: number;
  readonly err: unknown;
  readonly fee: number;
  readonly logs: readonly string[];
  /** Unix seconds. */
  readonly blockTime: number;
}

/** Credits bought for an email address. */
export interface WaitingGift {
  readonly receiptId: string;
  /** HTML-escaped. */
  readonly email: string;
  readonly amount: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

const base = '/api/local';
const name = (text: string): string => encodeURIComponent(text);

export const readNetwork = () => askConsole<LocalNetwork>('GET', base);
export const resetNetwork = () => askConsole<LocalNetwork>('POST', `${base}/reset`);
export const mineBlocks = (blocks: number) =>
  askConsole<{ readonly height: number }>('POST', `${base}/mine`, { blocks });
export const setMining = (mode: MiningMode, intervalMs?: number) =>
  askConsole<unknown>('POST', `${base}/mining`, { mode, ...(intervalMs !== undefined && { intervalMs }) });
export const advanceClock = (seconds: number) =>
  askConsole<LocalNetwork['clock']>('POST', `${base}/clock`, { advance: seconds });
/** ISO 8601 */
export const setClock = (to: string) => askConsole<LocalNetwork['clock']>('POST', `${base}/clock`, { to });
export const takeBlocksBack = (depth: number) =>
  askConsole<{ readonly height: number }>('POST', `${base}/arweave/fork`, { depth });

export const makeSnapshot = (given: string) =>
  askConsole<LocalSnapshot>('POST', `${base}/snapshots`, given === '' ? {} : { name: given });
export const revertTo = (snapshot: string) =>
  askConsole<LocalSnapshot>('POST', `${base}/snapshots/${name(snapshot)}/revert`);
export const forgetSnapshot = (snapshot: string) =>
  askConsole<void>('DELETE', `${base}/snapshots/${name(snapshot)}`);

export async function saveState(): Promise<Blob> {
  return await (await exchangeState('GET')).blob();
}

export async function loadState(file: Blob): Promise<void> {
  await exchangeState('PUT', file);
}

async function exchangeState(method: 'GET' | 'PUT', body?: Blob): Promise<Response> {
  const headers = { 'x-turnpike-console': '1' };
  const answer = await fetch(`${base}/state`, { method, headers, ...(body !== undefined && { body }) });
  if (!answer.ok) throw new ServiceError(answer.status, messageIn(await answer.text()));
  return answer;
}

export const readWallets = () => askConsole<FundedWallets>('GET', `${base}/wallets`);
export const giveCoins = (address: string, coin: FaucetCoin, amount: string) =>
  askConsole<{ readonly balance: string }>('POST', `${base}/faucet`, { address, coin, amount });

export const readArweaveFaults = () => askConsole<ArweaveFaults>('GET', `${base}/arweave/faults`);
export const setArweaveFaults = (faults: ArweaveFaults) =>
  askConsole<ArweaveFaults>('POST', `${base}/arweave/faults`, faults);
export const clearArweaveFaults = () => askConsole<unknown>('DELETE', `${base}/arweave/faults`);
export const readFacilitatorFaults = () => askConsole<FacilitatorFaults>('GET', `${base}/x402/faults`);
export const setFacilitatorFaults = (faults: FacilitatorFaults) =>
  askConsole<FacilitatorFaults>('POST', `${base}/x402/faults`, faults);
export async function readNodeRequests(): Promise<string> {
  const answer = await fetch(`${base}/arweave/logs`, { headers: { 'x-turnpike-console': '1' } });
  if (!answer.ok) throw new ServiceError(answer.status, messageIn(await answer.text()));
  return await answer.text();
}

export const readWebhooks = () => askConsole<Webhooks>('GET', `${base}/card/webhooks`);
export const setWebhookFaults = (faults: WebhookFaults) =>
  askConsole<Webhooks>('POST', `${base}/card/webhooks`, faults);

const newestDeliveries = 100;

/** The newest, newest first. */
export async function readDeliveries(): Promise<readonly Delivery[]> {
  interface Page {
    readonly newest: number;
    readonly deliveries: readonly Delivery[];
  }
  const { newest } = await askConsole<Page>('GET', `${base}/card/deliveries?after=999999999999999`);
  const after = Math.max(0, newest - newestDeliveries);
  const { deliveries } = await askConsole<Page>('GET', `${base}/card/deliveries?after=${after}`);
  return deliveries.toReversed();
}

/** The events that the provider has, newest first. */
export const readCardEvents = () =>
  askConsole<{ readonly data: readonly { readonly id: string }[] }>('GET', `${base}/card/events?limit=100`);
export const resendEvent = (event: string) =>
  askConsole<unknown>('POST', `${base}/card/events/${name(event)}/resend`);

export const readSolanaEntries = () =>
  askConsole<readonly SolanaEntry[]>('GET', `${base}/solana/transactions?limit=100`);

/** As `getTransaction` tells it with every instruction that it knows spelled out; undefined where there is none. */
export async function readSolanaTransaction(signature: string, signal: AbortSignal): Promise<unknown> {
  const options = { encoding: 'jsonParsed', commitment: 'confirmed', maxSupportedTransactionVersion: 0 };
  const answer = await fetch(serviceUrl('solana') ?? '', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getTransaction', params: [signature, options] }),
    signal,
  });
  const { result, error } = (await answer.json()) as {
    result?: unknown;
    error?: { readonly message?: string };
  };
  if (error !== undefined) throw new ServiceError(answer.status, error.message ?? '');
  return result ?? undefined;
}

export async function readGifts(): Promise<readonly WaitingGift[]> {
  return (await askConsole<{ readonly gifts: readonly WaitingGift[] }>('GET', `${base}/payment/gifts`)).gifts;
}
