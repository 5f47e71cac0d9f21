/** Reading, at gateways over a chain that forks and at routers between gateways that lie: never a wrong byte, and in the end all of it. */
import { testArweaveKey } from '../../../src/wallets/testing/keys.ts';
import { type ArweaveNetwork, short } from '../arweave.ts';
import { clockFaults, databaseFaults, networkFaults, processFaults } from '../faults.ts';
import type { Network } from '../network.ts';
import { currentLife, type Life } from '../process.ts';
import { type Fault, followed, type Scenario } from '../scenario.ts';
import { blobFaults, nodeFaults } from '../uploads/faults.ts';
import type { World } from '../world.ts';
import { Blocks } from './blocks.ts';
import { Evening } from './evening.ts';
import { foreignFaults, registryFaults, tornAnswers } from './faults.ts';
import { ForeignGateway } from './foreign-gateway.ts';
import { Indexer } from './indexer.ts';
import { createReading, type ReadingServer } from './installation.ts';
import { Judge } from './judge.ts';
import { Library } from './library.ts';
import { complaintOf, Operator } from './operator.ts';
import { Publisher } from './publisher.ts';
import { Reader } from './reader.ts';
import { Registry } from './registry.ts';
import { disorderOf, walk } from './walk.ts';

interface ReadingOptions {
  readonly world: World;
  readonly network: Network;
  readonly arweave: ArweaveNetwork;
  readonly isDay: () => boolean;
  readonly isCalm: () => boolean;
}

const readers = 3;
/** For which a router keeps out a gateway that it caught. */
const longestQuarantineMs = 24 * 3_600_000;
const foreigners = 2;
/** Blocks by which an index may be behind the chain where nothing is wrong. */
const mostBehind = 3;
const minute = 60_000;
const mostLooks = 5;
/** A bundle that nobody had for long is asked for again after as long a pause, and half as long again: an hour and a half at most. */
const bundlePauseMs = 10 * minute;
const mostBundlePauses = 10;

export function readingScenario({ world, network, arweave, isDay, isCalm }: ReadingOptions): Scenario {
  const random = world.random('reading');
  const library = new Library(arweave, world.random('library'));
  const registry = new Registry(world);
  const foreign = Array.from(
    { length: foreigners },
    (_, index) =>
      new ForeignGateway({
        process: world.process(`foreign-${index + 1}`),
        ...{ network, library, registry, number: index + 1 },
      }),
  );
  const installation = createReading({
    ...{ world, random, arweave, registry },
    foreignUrls: foreign.map(({ url }) => url),
  });
  const { gateways, routers, databases, caches } = installation;
  const servers = [...gateways, ...routers];
  const quietSince = quietness(
    world,
    () => (isCalm() || !isDay()) && servers.every(({ process }) => process.isAwake),
  );
  /** Two must agree on a name: the operator's own gateway, and those that no router has in quarantine. */
  const canAgree = (at: number, isRefused: boolean) =>
    foreign.filter(({ liedAt }) => at - liedAt > longestQuarantineMs).length >= (isRefused ? 2 : 1);
  const settled = new Map<string, number>();
  const people = { network, library, registry, isDay };
  const one = (name: string) => ({ process: world.process(name), random: world.random(name) });
  const blocks = new Blocks({ ...one('moderator'), ...people, ...installation, quietSince });
  const judge = new Judge({ world, library, registry, blocks, settled, isCalm, quietSince, canAgree });
  const looks = { arweave, blocks, judge, servers, settled, canAgree };
  const evening = new Evening({ ...one('evening'), ...people, ...looks });
  const trouble = troubles(world, arweave, installation);

  return {
    name: 'reading',
    servers,
    clients: [
      new Publisher({ ...one('publisher'), ...people, arweave }),
      ...Array.from(
        { length: readers },
        (_, index) => new Reader({ ...one(`reader-${index + 1}`), ...people, judge, servers }),
      ),
      new Indexer({ ...one('indexer'), ...people, gateways, settled }),
      new Operator({ ...one('operator'), network, servers, trouble: trouble.of }),
      blocks,
      evening,
    ],
    faults: trouble.watched([
      ...processFaults(servers),
      ...clockFaults(servers, databases),
      ...databaseFaults(databases),
      ...networkFaults(
        network,
        [...arweave.nodes, ...servers, ...foreign].map(({ url }) => url),
        servers,
      ),
      ...tornAnswers(
        network,
        [...servers, ...foreign].map(({ url }) => url),
        servers,
      ),
      ...caches.flatMap((cache) => blobFaults(cache, () => {})),
      ...nodeFaults(arweave, testArweaveKey.address),
      ...foreignFaults(foreign),
      ...registryFaults(registry),
    ]),

    watch() {
      quietSince();
    },

    open() {
      return blocks.isUndecided ? ['a block', ...evening.open()] : evening.open();
    },

    async settled() {
      const life = currentLife();
      const wrong: string[] = [];
      for (const server of servers) {
        const complaint = await complaintOf(life, network, server);
        if (complaint !== undefined) wrong.push(`${server.process.name} is not well: ${complaint}`);
      }
      for (const gateway of gateways) {
        wrong.push(...(await differencesAfterAll(life, gateway)));
        const behind = await behindAfterAll(life, gateway);
        if (behind !== undefined) wrong.push(behind);
      }
      return wrong;
    },
  };

  /** What an index lacks it may have after the next try of a bundle; all else is wrong at once. */
  async function differencesAfterAll(life: Life, gateway: ReadingServer): Promise<string[]> {
    for (let pauses = 0; ; pauses += 1) {
      const wrong: string[] = [];
      const lacking: string[] = [];
      for (const sort of ['HEIGHT_DESC', 'HEIGHT_ASC'] as const) {
        const indexed = await walk(life, network, gateway, sort, 100);
        const problem = indexed === undefined ? 'no answer' : disorderOf(indexed, sort);
        if (problem !== undefined) wrong.push(`the pages of ${gateway.process.name}, ${sort}: ${problem}`);
        wrong.push(...differences(gateway, indexed ?? [], library));
        lacking.push(...lacks(gateway, indexed ?? [], library));
      }
      if (wrong.length > 0 || lacking.length === 0 || pauses === mostBundlePauses)
        return [...wrong, ...lacking];
      await life.wait(bundlePauseMs);
    }
  }

  /** Some blocks come faster than they are asked for: that it is behind the chain for minutes is wrong. */
  async function behindAfterAll(life: Life, gateway: ReadingServer): Promise<string | undefined> {
    const database = databases[gateways.indexOf(gateway)];
    for (let looks = 1; ; looks += 1) {
      const [row] = database?.look<{ height: number }>('SELECT MAX(height) AS height FROM blocks') ?? [];
      const { height } = arweave.best;
      if (row !== undefined && height - row.height <= mostBehind) return undefined;
      if (looks === mostLooks)
        return `${gateway.process.name} is at ${row?.height}, and the chain at ${height}`;
      await life.wait(minute);
    }
  }
}

interface Indexed {
  readonly id: string;
  readonly height: number | undefined;
}

/** Where an index has more than the chain, or something else: each id once, at its height. */
function differences({ process }: ReadingServer, indexed: readonly Indexed[], library: Library): string[] {
  const wrong: string[] = [];
  const seen = new Set<string>();
  for (const { id, height } of indexed) {
    if (seen.has(id)) wrong.push(`${process.name} has ${short(id)} twice`);
    seen.add(id);
    const entry = library.entries.get(id);
    if (entry === undefined) wrong.push(`${process.name} has ${short(id)}, which nobody published`);
    else if (height !== library.heightOf(entry))
      wrong.push(
        `${process.name} has ${short(id)} at ${height}, and the chain at ${library.heightOf(entry)}`,
      );
  }
  return wrong;
}

function lacks({ process }: ReadingServer, indexed: readonly Indexed[], library: Library): string[] {
  const has = new Set(indexed.map(({ id }) => id));
  return library.published().flatMap(({ id }) => (has.has(id) ? [] : `${process.name} lacks ${short(id)}`));
}

/** Since when something has been so; undefined while it is not. It is asked at least once a minute. */
function quietness(world: World, isQuiet: () => boolean): () => number | undefined {
  let since: number | undefined;
  return () => {
    if (!isQuiet()) since = undefined;
    else since ??= world.time;
    return since;
  };
}

/**
 * What servers must say of themselves after a while: no node answers them, or their database is away. Since when is known
 * to the moment: a server may have noticed that something came back for a second.
 */
function troubles(
  world: World,
  arweave: ArweaveNetwork,
  { gateways, databases }: Pick<ReturnType<typeof createReading>, 'gateways' | 'databases'>,
) {
  const since = new Map<string, number>();
  const note = (what: string, isSo: boolean) => {
    if (!isSo) since.delete(what);
    else if (!since.has(what)) since.set(what, world.time);
  };
  const noNodes = 'no node answers';
  const awayOf = (name: string) => `the database of ${name} is away`;
  const noteAll = () => {
    note(
      noNodes,
      arweave.nodes.every(({ isUp }) => !isUp),
    );
    for (const { name, weather } of databases) note(awayOf(name), weather.down);
  };
  return {
    /** Only these faults bring such troubles, and end them. */
    watched: (faults: readonly Fault[]) =>
      faults.map((fault) => followed(fault, { begun: noteAll, ended: noteAll })),
    of(server: ReadingServer) {
      const database = server.kind === 'router' ? databases.at(-1) : databases[gateways.indexOf(server)];
      const known = [awayOf(database?.name ?? ''), ...(server.kind === 'gateway' ? [noNodes] : [])];
      for (const what of known) {
        const at = since.get(what);
        // Who slept has to look first.
        if (at !== undefined) return { what, since: Math.max(at, server.process.heldUntil) };
      }
      return undefined;
    },
  };
}
