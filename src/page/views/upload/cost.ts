/** What the draft costs with the wallet in use. */
import { useMemo } from 'preact/hooks';
import { itemBytes } from '../../items/item.ts';
import { type Load, useLoad } from '../../kit/load.tsx';
import { priceOfBytes } from '../../services/payment.ts';
import type { UploadTerms } from '../../services/upload.ts';
import type { Wallet } from '../../wallet/wallet.ts';
import { itemTags, type UploadEntry } from './engine/entry.ts';
import { manifestItemBytes } from './engine/manifest.ts';
import { type Price, priceOf, type Samples, sampledSizes } from './engine/price.ts';
import { type Batch, uploadTerms } from './state.ts';

export interface Cost {
  readonly terms: UploadTerms;
  readonly total: Price;
  /** How many items there are, the manifest among them: each is signed. */
  readonly items: number;
  /** Of one file; undefined while it is not known. */
  priceOf(entry: UploadEntry): Price | undefined;
  readonly hasTooLarge: boolean;
}

/** Before a wallet is chosen, prices are those of the commonest: the signature is the difference. */
const usualSignatureType = 1;
const samplesAtOnce = 4;

export function useCost(
  batch: Batch,
  entries: readonly UploadEntry[],
  wallet: Pick<Wallet, 'signatureType'> | undefined,
): Load<Cost> {
  const signatureType = wallet?.signatureType ?? usualSignatureType;
  const sizes = useMemo(
    () => new Map(entries.map((entry) => [entry.key, itemBytes(signatureType, itemTags(entry), entry.size)])),
    [entries, signatureType],
  );
  const { hasManifest, plan } = batch;
  const manifest = useMemo(() => {
    const paths = entries.map(({ path }) => path);
    return hasManifest ? [manifestItemBytes(signatureType, paths, plan)] : [];
  }, [entries, signatureType, hasManifest, plan]);
  return useLoad(
    async (signal) => {
      const terms = await uploadTerms();
      const all = [...sizes.values(), ...manifest];
      const paid = sampledSizes(all.filter((size) => size > terms.freeBytes));
      const samples = await askPrices(paid, signal);
      return {
        terms,
        total: priceOf(all, samples, terms.freeBytes) ?? { winc: 0n, isExact: false },
        items: all.length,
        priceOf: ({ key }) => {
          const size = sizes.get(key);
          return size === undefined ? undefined : priceOf([size], samples, terms.freeBytes);
        },
        hasTooLarge: all.some((size) => size > terms.maxItemBytes),
      };
    },
    [sizes, manifest],
  );
}

/** The list changes with every click, prices do not. */
const known = new Map<number, { readonly winc: bigint; readonly until: number }>();
const knownMs = 60_000;
const mostKnown = 1_000;

/** A few at a time. */
async function askPrices(sizes: readonly number[], signal: AbortSignal): Promise<Samples> {
  const samples = new Map<number, bigint>();
  const left = [...sizes];
  const askNext = async (): Promise<void> => {
    for (let size = left.shift(); size !== undefined; size = left.shift()) {
      samples.set(size, await askPrice(size, signal));
    }
  };
  await Promise.all(Array.from({ length: samplesAtOnce }, askNext));
  return samples;
}

async function askPrice(size: number, signal: AbortSignal): Promise<bigint> {
  const before = known.get(size);
  if (before !== undefined && before.until > Date.now()) return before.winc;
  const winc = await priceOfBytes(BigInt(size), signal);
  if (known.size >= mostKnown) known.clear();
  known.set(size, { winc, until: Date.now() + knownMs });
  return winc;
}
