/** A running local network in the hands of a test: its addresses, wallets, clients and controls. */
import type { ArweaveFaults, FacilitatorFaults, WebhookFaults } from '../formats/local-faults.ts';
import { type Clients, createClients } from './clients.ts';
import type { ControlClient } from './control-client.ts';
import type { MiningMode, MiningModeName } from './options.ts';
import { type Urls, variablesOf } from './urls.ts';
import type { Wallets } from './wallets.ts';

export type Coin = 'ar' | 'sol' | 'ario' | 'usdc' | 'credits';

/** Their sum; a year has 365 days. */
export interface Duration {
  readonly years?: number;
  readonly weeks?: number;
  readonly days?: number;
  readonly hours?: number;
  readonly minutes?: number;
  readonly seconds?: number;
}

export interface SnapshotInfo {
  readonly name: string;
  readonly height: number;
  readonly createdAt: string;
}

export interface LocalInfo {
  /** Another after each change of the whole state. */
  readonly instance: string;
  readonly world: string;
  readonly version: string;
  readonly height: number;
  readonly clock: { readonly now: string; readonly offsetSeconds: number };
  readonly mining: MiningMode;
  readonly snapshots: readonly SnapshotInfo[];
}

/** What goes wrong on purpose, as docs/local-network.md tells for each part. */
export interface FaultSwitches {
  readonly arweave: ArweaveFaults;
  readonly card: Partial<WebhookFaults>;
  readonly x402: Partial<FacilitatorFaults>;
}

/** What another process needs to have the same network: `connectTurnpike(json)`. */
export interface TurnpikeJson {
  readonly url: string;
  readonly cardSecretKey?: string;
}

export interface Turnpike extends AsyncDisposable {
  /** Everything of the network on one port, shaped like ArLocal's. */
  readonly url: string;
  readonly urls: Urls;
  /** Funded, and the same on every machine. */
  readonly wallets: Wallets;
  /** The addresses under the names that an app has in its `.env`. */
  readonly env: Readonly<Record<string, string>>;
  readonly clients: Clients;
  /** Where its data is; undefined where another process started it. */
  readonly dataDir: string | undefined;
  /** Mines blocks, and answers when the gateway has them. */
  mine(blocks?: number): Promise<{ height: number }>;
  /** Money out of nothing: so many whole coins, as a decimal number; AR unless another coin is named. */
  mint(address: string, amount: string | number | bigint, coin?: Coin): Promise<void>;
  /** Keeps the state of the whole network under a name. */
  snapshot(name?: string): Promise<SnapshotInfo>;
  /** Goes back to the snapshot, which stays; those made after it are dropped. Without a name to the newest. */
  revert(name?: string): Promise<SnapshotInfo>;
  forget(name: string): Promise<void>;
  /** A fresh network with the same wallets, on the same addresses. */
  reset(): Promise<LocalInfo>;
  /** Puts the clock of everything ahead: by seconds or a duration, or to a moment. */
  advance(by: number | Duration | Date): Promise<LocalInfo>;
  setMining(mode: MiningModeName | MiningMode): Promise<MiningMode>;
  /** Makes a part of the network misbehave; null makes it behave again. */
  faults<Part extends keyof FaultSwitches>(part: Part, switches: FaultSwitches[Part] | null): Promise<void>;
  /** Writes the state into a file that another machine can load. */
  save(file: string): Promise<void>;
  load(file: string): Promise<LocalInfo>;
  info(): Promise<LocalInfo>;
  /** The log as ArLocal tells it at `/logs` where another process started the network, else the program's own. */
  logs(): Promise<string>;
  /** Ends the network, and removes what it was not asked to keep. One that another process started goes on. */
  stop(): Promise<void>;
  toJSON(): TurnpikeJson;
}

export interface TurnpikeParts {
  readonly dataDir: string | undefined;
  readonly urls: Urls;
  readonly wallets: Wallets;
  readonly cardSecretKey: string | undefined;
  readonly control: ControlClient;
  readonly logs: () => Promise<string>;
  readonly stop: () => Promise<void>;
}

export function createTurnpike(parts: TurnpikeParts): Turnpike {
  const { urls, wallets, control } = parts;
  const url = urls.arweave;
  const local = (path: string): string => `${url}/local${path}`;
  const cardSecretKey = (): string => {
    if (parts.cardSecretKey === undefined)
      throw new Error('the key of the local card provider is not known here');
    return parts.cardSecretKey;
  };
  const post = (address: string, body: object = {}, headers: Record<string, string> = {}): Promise<unknown> =>
    control.json(address, { method: 'POST', body, headers });
  const named = (name: string): string => local(`/snapshots/${encodeURIComponent(name)}`);
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= parts.stop();
    return stopping;
  };

  return {
    url,
    urls,
    wallets,
    env: variablesOf(urls),
    clients: createClients({ urls, wallets, cardSecretKey }),
    dataDir: parts.dataDir,
    mine: async (blocks = 1) => (await post(local('/mine'), { blocks })) as { height: number },
    async mint(address, amount, coin = 'ar') {
      await post(local('/faucet'), { address, coin, amount: decimal(amount) });
    },
    snapshot: async (name) =>
      (await post(local('/snapshots'), name === undefined ? {} : { name })) as SnapshotInfo,
    revert: async (name) =>
      (await post(name === undefined ? local('/revert') : `${named(name)}/revert`)) as SnapshotInfo,
    async forget(name) {
      await control.json(named(name), { method: 'DELETE' });
    },
    reset: async () => (await post(local('/reset'))) as LocalInfo,
    advance: async (by) =>
      (await post(
        local('/clock'),
        by instanceof Date ? { to: by.toISOString() } : { advance: secondsOf(by) },
      )) as LocalInfo,
    setMining: async (mode) =>
      (await post(local('/mining'), typeof mode === 'string' ? { mode } : mode)) as MiningMode,
    async faults(part, switches) {
      if (part === 'arweave') {
        const address = `${url}/faults`;
        await (switches === null ? control.json(address, { method: 'DELETE' }) : post(address, switches));
      } else if (part === 'card') {
        const authorization = `Bearer ${cardSecretKey()}`;
        await post(`${urls.card}/test/webhooks`, switches ?? {}, { authorization });
      } else {
        await post(`${urls.x402}/test/faults`, switches ?? {});
      }
    },
    save: (file) => control.download(local('/state'), file),
    load: async (file) => (await control.sendFile(local('/state'), file)) as LocalInfo,
    info: async () => (await control.json(local(''))) as LocalInfo,
    logs: parts.logs,
    stop,
    toJSON: () => ({
      url,
      ...(parts.cardSecretKey === undefined ? {} : { cardSecretKey: parts.cardSecretKey }),
    }),
    [Symbol.asyncDispose]: stop,
  };
}

const secondsPer = {
  years: 365 * 86_400,
  weeks: 7 * 86_400,
  days: 86_400,
  hours: 3_600,
  minutes: 60,
  seconds: 1,
};

function secondsOf(by: number | Duration): number {
  if (typeof by === 'number') return by;
  let seconds = 0;
  for (const [unit, count] of Object.entries(by)) {
    if (!isUnit(unit))
      throw new TypeError(`there is no unit "${unit}"; there are ${Object.keys(secondsPer).join(', ')}`);
    seconds += count * secondsPer[unit];
  }
  return seconds;
}

const isUnit = (unit: string): unit is keyof typeof secondsPer => Object.hasOwn(secondsPer, unit);

/** Numbers are written out: `String(1e21)` and `String(1e-7)` are not decimal. */
function decimal(amount: string | number | bigint): string {
  if (typeof amount !== 'number') return String(amount);
  const text = String(amount);
  if (!/^\d+(\.\d+)?$/.test(text))
    throw new TypeError(`an amount is a decimal number, not ${text}: give it as text`);
  return text;
}
