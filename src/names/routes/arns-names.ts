/**
 * Names as they stand on the chain now: whether one is free, who owns it, what it points at, what was done with it, and
 * which ones an address owns. Receipts (`my-names`) say who bought; only this says who has.
 */
import { Type } from 'typebox';
import { hashName } from '../../formats/solana/accounts-arns.ts';
import { isSolanaAddress } from '../../formats/solana/address.ts';
import { auctionSeconds, extendableYears, gracePeriodSeconds } from '../../formats/solana/name-prices.ts';
import { protocolIpfs, rootUndername } from '../../formats/solana/name-rules.ts';
import { Together } from '../../kernel/background/together.ts';
import type { App } from '../../kernel/http/app.ts';
import type { NameHistory } from '../../registry/name-history.ts';
import {
  type AntState,
  indexOf,
  maxOwned,
  type NameRegistry,
  type NameState,
} from '../../registry/name-registry.ts';
import { badRequest } from '../errors.ts';
import { nameOf } from '../requests/fields.ts';
import type { NamesContext } from './context.ts';
import { errorText, nameEvents, nameNow, ownedNames } from './schemas.ts';

/** Of one name; the registry itself sets no limit to what a token holds. */
const maxRecords = 1_000;
const Params = Type.Object({ name: Type.String({ maxLength: 100 }) });
const errors = { 400: errorText, 503: errorText };

export function arnsNamesRoutes(app: App, { registry, history, actions, now }: NamesContext): void {
  /** Who asks for the same name at the same time shares one reading. */
  const names = new Together<string, Awaited<ReturnType<typeof readName>>>();
  const histories = new Together<string, Awaited<ReturnType<typeof readHistory>>>();
  const owners = new Together<string, Awaited<ReturnType<NameRegistry['ownedNames']>>>();
  const seconds = () => Math.floor(now() / 1_000);

  app.get(
    '/arns/names/:name',
    {
      schema: {
        summary: 'A name as it stands on the chain',
        params: Params,
        response: { 200: nameNow, ...errors },
      },
    },
    async (request, reply) => {
      const name = nameOf(request.params.name);
      reply.header('cache-control', 'no-store');
      return names.run(name, () => readName(registry, name, seconds(), actions?.key.address));
    },
  );

  app.get(
    '/arns/names/:name/history',
    {
      schema: {
        summary: 'What was done with a name, as the chain tells it',
        params: Params,
        response: { 200: nameEvents, ...errors },
      },
      config: { clientLimit: 'chain-reading' },
    },
    async (request, reply) => {
      const name = nameOf(request.params.name);
      reply.header('cache-control', 'no-store');
      return histories.run(name, () => readHistory(registry, history, name));
    },
  );

  app.get(
    '/arns/owned/:address',
    {
      schema: {
        summary: 'The names that a Solana address owns on the chain',
        description: `At most ${maxOwned}.`,
        params: Type.Object({ address: Type.String({ maxLength: 100 }) }),
        response: { 200: ownedNames, ...errors },
      },
      config: { clientLimit: 'chain-reading' },
    },
    async (request, reply) => {
      const { address } = request.params;
      if (!isSolanaAddress(address)) throw badRequest('address must be a Solana address');
      reply.header('cache-control', 'no-store');
      const owned = await owners.run(address, () => registry.ownedNames(address));
      return {
        names: owned.map(({ record, ant }) => ({
          name: record.name,
          antId: ant.asset,
          ...leaseOf({ record, returned: undefined, reserved: undefined }, seconds()),
        })),
      };
    },
  );
}

async function readName(registry: NameRegistry, name: string, now: number, service: string | undefined) {
  const state = await registry.name(name);
  const base = { name, ...leaseOf(state, now), ...(service !== undefined && { service }) };
  if (state.record === undefined) return base;
  const asset = state.record.ant;
  const [token, records, metadata] = await Promise.all([
    registry.ant(asset),
    registry.records(asset),
    registry.allMetadata(asset),
  ]);
  const byHash = new Map(metadata.map((entry) => [entry.undernameHash.toString('hex'), entry]));
  return {
    ...base,
    antId: asset,
    ...(token !== undefined && { token: tokenJson(token) }),
    records: records
      .map((record) => {
        const about = byHash.get(hashName(record.undername).toString('hex'));
        return {
          undername: record.undername,
          target: record.target,
          protocol: record.targetProtocol === protocolIpfs ? 'ipfs' : 'arweave',
          ttlSeconds: record.ttlSeconds,
          index: record.undername === rootUndername ? 0 : indexOf(records, record.undername),
          ...(record.owner !== undefined &&
            record.lastReconciledOwner === token?.owner && { owner: record.owner }),
          ...(about?.displayName !== undefined && { displayName: about.displayName }),
          ...(about?.logo !== undefined && { logo: about.logo }),
          ...(about?.description !== undefined && { description: about.description }),
          ...(about?.keywords !== undefined && { keywords: about.keywords }),
        };
      })
      .sort((a, b) => a.index - b.index)
      .slice(0, maxRecords),
  };
}

function tokenJson({ owner, program, controllers, config }: AntState) {
  const { name, ticker, logo, description, keywords } = config;
  return { owner, program, controllers: [...controllers], name, ticker, logo, description, keywords };
}

/** Whether a name can be bought and, where it is registered, for how long. `now` in Unix seconds. */
function leaseOf({ record, returned, reserved }: NameState, now: number) {
  if (record === undefined) {
    if (reserved !== undefined && (reserved.expiresAt === undefined || reserved.expiresAt > now)) {
      return { state: 'reserved' };
    }
    if (returned === undefined) return { state: 'free' };
    return { state: 'returned', auctionEndsAt: iso(returned.returnedAt + auctionSeconds) };
  }
  const { type, start, end, undernameLimit } = record;
  const base = { type, startedAt: iso(start), undernameLimit };
  if (end === undefined) return { state: 'registered', ...base };
  const graceEnd = end + gracePeriodSeconds;
  const state = now <= end ? 'registered' : now <= graceEnd ? 'grace' : 'lapsed';
  return {
    state,
    ...base,
    endsAt: iso(end),
    graceEndsAt: iso(graceEnd),
    extendableYears: state === 'lapsed' ? 0 : extendableYears(end, now),
  };
}

async function readHistory(registry: NameRegistry, history: NameHistory, name: string) {
  const { record } = await registry.name(name);
  const asset = record?.ant;
  const token = asset && { asset, program: await registry.antProgram(asset) };
  const events = await history.of(name, token);
  return {
    events: events.map(({ signature, slot, at, failed, steps }) => ({
      signature,
      slot,
      ...(at !== undefined && { at: iso(at) }),
      failed,
      steps: [...steps],
    })),
  };
}

const iso = (seconds: number): string => new Date(seconds * 1_000).toISOString();
