/** Uploads from receipt to chain: what clients were promised, held against the ledger, the chain and the gateway. */

import { winc } from '../../../src/credits/credits.ts';
import { createCredits } from '../../../src/credits/ledger/ledger.ts';
import { parseBundleHeader } from '../../../src/formats/ans104/bundle-header.ts';
import { type HttpAnswer, HttpClient } from '../../../src/outside/http.ts';
import { deadlineBlocks } from '../../../src/upload/intake/receipts.ts';
import { worryingTries } from '../../../src/upload/reports/why.ts';
import { testArweaveKey } from '../../../src/wallets/testing/keys.ts';
import { type ArweaveNetwork, type MinedTransaction, short } from '../arweave.ts';
import { clockFaults, databaseFaults, networkFaults, processFaults } from '../faults.ts';
import type { Network } from '../network.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import { blobFaults, nodeFaults } from './faults.ts';
import { createGateway, gatewayUrl } from './gateway.ts';
import { createUploads } from './installation.ts';
import { UploadRestorer } from './restorer.ts';
import { Uploader, type UploadPromise } from './uploader.ts';

interface UploadsOptions {
  readonly world: World;
  readonly network: Network;
  readonly arweave: ArweaveNetwork;
  readonly isDay: () => boolean;
  /** Nothing is wrong anywhere. */
  readonly isCalm: () => boolean;
  /** The operator loses the ledger and restores it. */
  readonly restores: boolean;
  /** Most items are sent in parts. */
  readonly inParts: boolean;
}

interface ItemRow {
  readonly id: string;
  readonly state: string;
  readonly winc: string;
  readonly signer: string;
}

const uploaders = 2;
const gift = 10n ** 12n;
/** Between two looks of the operator at what a process says about itself. */
const probeMs = 10 * 60_000;
/** More than a blob is missed. */
const mostReads = 5;

export function uploadsScenario(options: UploadsOptions): Scenario {
  const { world, network, arweave, isDay, isCalm, restores, inParts } = options;
  const random = world.random('uploads');
  // Faults last as long where the chain is fast, and more blocks pass than receipts allow for.
  const moreBlocks = deadlineBlocks * (1 / world.pace - 1);
  // It looks for work every second, and makes a run four times as long. After a restore it is asked what is on the chain.
  const hasGateway = random.below(4) === 0 || restores;
  const { ledger, blobs, processes } = createUploads(world, arweave, {
    processes: 1 + random.below(2),
    gatewayUrl: hasGateway ? gatewayUrl : undefined,
  });
  const gateways = hasGateway ? [createGateway(world, arweave, processes[0]?.url ?? '')] : [];
  const restorer = new UploadRestorer({ world, name: 'restorer', isDay, isCalm, ledger, processes });
  /** Blobs that are gone for good: their items may be given up, and are paid back. */
  const spoiled = new Set<string>();
  const clients = Array.from(
    { length: uploaders },
    (_, index) =>
      new Uploader({
        process: world.process(`uploader-${index + 1}`),
        random: world.random(`uploader ${index + 1}`),
        urls: processes.map(({ url }) => url),
        gatewayUrl: hasGateway ? gatewayUrl : undefined,
        inParts,
        spoiled,
        isDay,
        isCalm,
        restoredAt: () => restorer.restoredAt,
      }),
  );
  const promises = () => clients.flatMap((client) => [...client.promises.values()]);
  const isExcused = ({ digests }: UploadPromise) => digests.some((digest) => spoiled.has(digest));
  /** The ledger may have forgotten it, or that it was sent before. */
  const isForgotten = (promise: UploadPromise) => restorer.covers(promise);
  const servers = [...processes, ...gateways];
  const databases = [ledger, ...gateways.map(({ index }) => index)];
  const origins = [...arweave.nodes, ...servers].map(({ url }) => url);
  /** Bundles that failed so often that operators must be told. */
  const worrying = () =>
    ledger.isQuiet &&
    ledger.look(
      "SELECT 1 AS one FROM upload_bundles WHERE state NOT IN ('permanent', 'dropped') AND attempts >= ? LIMIT 1",
      worryingTries,
    ).length > 0;

  return {
    name: restores ? 'upload-restores' : inParts ? 'upload-parts' : 'uploads',
    servers,
    clients: [
      {
        process: world.process('operator'),
        async program(life) {
          const credits = createCredits({ sql: ledger.open() });
          for (const { address } of clients) {
            const given = { address, addressType: 'solana', amount: winc(gift), reason: 'payment' } as const;
            await credits.credit({ ...given, id: `gift ${address}` });
          }
          const http = new HttpClient({ timeoutMs: 60_000, maxBytes: 65_536 });
          for (;;) {
            await life.wait(probeMs);
            const { url, process } = random.pick(processes);
            if (!worrying()) continue;
            const answer = await http.call(`${url}/health?strict=true`).catch(() => undefined);
            if (answer?.status === 200 && worrying())
              world.broken(`a bundle fails again and again, and ${process.name} says that all is well`);
          }
        },
      },
      ...clients,
      ...(restores ? [restorer] : []),
    ],
    faults: [
      ...processFaults(servers),
      ...clockFaults(servers, databases),
      ...databaseFaults(databases),
      ...networkFaults(network, origins, servers),
      ...blobFaults(blobs, (digest) => spoiled.add(digest)),
      ...nodeFaults(arweave, testArweaveKey.address),
    ],

    watch() {
      if (!ledger.isQuiet) return;
      for (const { id } of ledger.look<{ id: string }>(
        "SELECT id FROM upload_items WHERE state = 'failed'",
      )) {
        const promise = promises().find((one) => one.id === id);
        if (promise !== undefined && !isExcused(promise))
          world.broken(`${short(id)} was promised, and is given up`);
      }
    },

    open() {
      if (!ledger.isQuiet) return ['a transaction'];
      const items = ledger.look<ItemRow>(
        "SELECT id, state, winc, signer FROM upload_items WHERE state NOT IN ('permanent', 'failed')",
      );
      const sessions = ledger.look<{ id: string }>(
        "SELECT id FROM upload_sessions WHERE state = 'finalizing'",
      );
      return [
        ...items.map(({ id, state }) => `${short(id)} is ${state}`),
        ...sessions.map(({ id }) => `upload ${id} is being finalized`),
      ];
    },

    async settled() {
      const wrong: string[] = [];
      const sql = ledger.open();
      const bundles = await sql.all<{ tx_id: string; state: string }>(
        'SELECT tx_id, state FROM upload_bundles WHERE tx_id IS NOT NULL',
      );
      const stateOf = new Map(bundles.map((row) => [row.tx_id, row.state]));
      const items = await sql.all<ItemRow>('SELECT id, state, winc, signer FROM upload_items');
      // One for each item at most whose bytes were lost when its bundle was posted, and not seeded yet.
      let givenUp = items.filter(({ state }) => state === 'failed').length;
      // As bytes are found by their root, those of one bundle are there with a later one of the same items.
      const isSeededByAnother = ({ id, dataRoot }: MinedTransaction): boolean =>
        restores &&
        !stateOf.has(id) &&
        [...arweave.best.mined.values()].some(
          (other) =>
            other.dataRoot === dataRoot &&
            stateOf.has(other.id) &&
            (arweave.takenAt.get(other.id) ?? Number.POSITIVE_INFINITY) <=
              (arweave.seededAt.get(dataRoot) ?? 0),
        );
      const onChain = bundledItems(arweave, isSeededByAnother, (id) => {
        // What the lost machine has posted and not seeded, nobody seeds.
        if (restores && !stateOf.has(id)) return;
        if (stateOf.get(id) === 'dropped' && givenUp > 0) givenUp -= 1;
        else wrong.push(`no node has all of ${short(id)}`);
      });
      const rows = new Map(items.map((row) => [row.id, row]));
      for (const promise of promises()) {
        const { id, bytes, deadlineHeight } = promise;
        const row = rows.get(id);
        const places = onChain.get(id) ?? [];
        const excused = isExcused(promise);
        if (isForgotten(promise) && (row === undefined || places.length > 0)) continue;
        if (row === undefined) wrong.push(`${short(id)} is not in the ledger`);
        if (row?.state === 'failed' && excused) continue;
        if (places.length !== 1) wrong.push(`${short(id)} is in ${places.length} bundles on the chain`);
        const [place] = places;
        if (place === undefined) continue;
        if (!place.bytes.equals(bytes)) wrong.push(`${short(id)} is on the chain with other bytes`);
        if (place.height > deadlineHeight + moreBlocks && !excused)
          wrong.push(
            `${short(id)} came to the chain at ${place.height}, after its deadline ${deadlineHeight}`,
          );
      }
      const credits = createCredits({ sql });
      const { ok, problems } = await credits.selfCheck();
      if (!ok) wrong.push(`the ledger does not add up: ${JSON.stringify(problems).slice(0, 300)}`);
      for (const { address } of clients) {
        const spent = items
          .filter(({ signer, state }) => signer === address && state !== 'failed')
          .reduce((sum, one) => sum + BigInt(one.winc), 0n);
        const balance = (await credits.balance(address))?.winc ?? 0n;
        if (balance !== gift - spent)
          wrong.push(`${address} has ${balance}, and should have ${gift - spent}`);
      }
      const http = new HttpClient({ timeoutMs: 60_000, maxBytes: 4 * 1024 * 1024 });
      for (const { id, payload } of hasGateway ? promises() : []) {
        if (rows.get(id) === undefined || rows.get(id)?.state === 'failed') continue;
        const answer = await readAtLast(http, id);
        if (answer?.status !== 200) wrong.push(`the gateway answers ${answer?.status} for ${short(id)}`);
        else if (!answer.body.equals(payload)) wrong.push(`the gateway serves ${short(id)} with other bytes`);
      }
      const noted = await sql.all<{ digest: string }>('SELECT digest FROM upload_blobs');
      const known = new Set(noted.map(({ digest }) => digest));
      for (const digest of blobs.digests) {
        if (!known.has(digest) && !restorer.forgotten.has(digest))
          wrong.push(`blob ${digest.slice(0, 8)} is stored, and nobody knows of it`);
      }
      for (const { url, process } of processes) {
        const answer = await healthAtLast(http, url);
        if (answer?.status !== 200)
          wrong.push(`${process.name} is not healthy: ${answer?.status} ${answer?.body}`);
      }
      return wrong;
    },
  };
}

/** The store of blobs may miss one several times more. */
async function readAtLast(http: HttpClient, id: string): Promise<HttpAnswer | undefined> {
  for (let tried = 1; ; tried += 1) {
    const answer = await http.call(`${gatewayUrl}/raw/${id}`).catch(() => undefined);
    if (answer?.status === 200 || tried === mostReads) return answer;
  }
}

/** A process looks at itself every half minute. */
async function healthAtLast(http: HttpClient, url: string): Promise<HttpAnswer | undefined> {
  const ask = () => http.call(`${url}/health?strict=true`).catch(() => undefined);
  const answer = await ask();
  if (answer?.status === 200) return answer;
  await new Promise((looked) => setTimeout(looked, 60_000));
  return ask();
}

interface Place {
  readonly tx: string;
  readonly height: number;
  readonly bytes: Buffer;
}

/** Every item of every bundle on the chain that the nodes follow. */
function bundledItems(
  arweave: ArweaveNetwork,
  isOmitted: (mined: MinedTransaction) => boolean,
  torn: (id: string) => void,
): Map<string, Place[]> {
  const items = new Map<string, Place[]>();
  for (const mined of arweave.best.mined.values()) {
    if (isOmitted(mined)) continue;
    const data = arweave.dataOf(mined);
    if (data === undefined) {
      torn(mined.id);
      continue;
    }
    for (const { id, bytes } of itemsOf(data, mined)) {
      items.set(id, [...(items.get(id) ?? []), { tx: mined.id, height: mined.height, bytes }]);
    }
  }
  return items;
}

function itemsOf(data: Buffer, { id }: MinedTransaction): { id: string; bytes: Buffer }[] {
  const header = parseBundleHeader(data);
  if (typeof header === 'string') throw new Error(`${id} is no bundle: ${header}`);
  return Array.from({ length: header.count }, (_, index) => {
    return { id: header.id(index), bytes: data.subarray(header.offsets[index], header.offsets[index + 1]) };
  });
}
