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
  /** Bytes of an entry's item. */
  sizeOf(entry: UploadEntry): number;
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
  const all = [...sizes.values(), ...manifest];
  const asked = sampledSizes(all).join();
  return useLoad(
    async (signal) => {
      const terms = await uploadTerms();
      const paid = sampledSizes(all.filter((size) => size > terms.freeBytes));
      const samples = await askPrices(paid, signal);
      const sizeOf = (entry: UploadEntry): number => sizes.get(entry.key) ?? 0;
      return {
        terms,
        total: priceOf(all, samples, terms.freeBytes) ?? { winc: 0n, isExact: false },
        items: all.length,
        sizeOf,
        priceOf: (entry) => priceOf([sizeOf(entry)], samples, terms.freeBytes),
        hasTooLarge: all.some((size) => size > terms.maxItemBytes),
      };
    },
    [asked, entries.length, hasManifest],
    { keep: true },
  );
}

/** A few at a time. */
async function askPrices(sizes: readonly number[], signal: AbortSignal): Promise<Samples> {
  const samples = new Map<number, bigint>();
  const left = [...sizes];
  const askNext = async (): Promise<void> => {
    for (let size = left.shift(); size !== undefined; size = left.shift()) {
      samples.set(size, await priceOfBytes(BigInt(size), signal));
    }
  };
  await Promise.all(Array.from({ length: samplesAtOnce }, askNext));
  return samples;
}
