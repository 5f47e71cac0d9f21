/**
 * Metaplex Core assets, as far as name tokens use them: the asset with one internal plugin (its traits) behind
 * it. The owner in the asset is the only truth about who holds an ANT.
 */
import { FormatError } from '../format-error.ts';
import { isSolanaAddress, type SolanaAddress } from './address.ts';
import { Reader, Writer } from './bytes.ts';
import { address, list, option, string, struct, u64 } from './codec.ts';

export interface Trait {
  key: string;
  value: string;
}

export const traits = list(struct<Trait>({ key: string, value: string }));

/** The trait by which clients find the program that governs an asset. */
export const antProgramTrait = 'ANT Program';

export interface CoreAsset {
  owner: SolanaAddress;
  /** The address that may change the asset; undefined where there is none. */
  updateAuthority: SolanaAddress | undefined;
  name: string;
  uri: string;
  /** Undefined where the asset carries no plugin of traits. */
  traits: Trait[] | undefined;
}

const assetKey = 1;
const pluginHeaderKey = 3;
const pluginRegistryKey = 4;
const attributesPlugin = 6;
/** Plugin authority "update authority" and update authority "address", as their enums number them. */
const byUpdateAuthority = 2;
const addressAuthority = 1;
const collectionAuthority = 2;

export function encodeCoreAsset(asset: CoreAsset): Buffer {
  const head = new Writer().u8(assetKey);
  address.write(head, asset.owner);
  head.u8(asset.updateAuthority === undefined ? 0 : addressAuthority);
  if (asset.updateAuthority !== undefined) address.write(head, asset.updateAuthority);
  string.write(head, asset.name);
  string.write(head, asset.uri);
  option(u64).write(head, undefined);
  const headBytes = head.finish();
  if (asset.traits === undefined) return headBytes;
  const plugin = new Writer().u8(attributesPlugin);
  traits.write(plugin, asset.traits);
  const pluginBytes = plugin.finish();
  const pluginOffset = headBytes.length + 9;
  return new Writer()
    .bytes(headBytes)
    .u8(pluginHeaderKey)
    .u64(BigInt(pluginOffset + pluginBytes.length))
    .bytes(pluginBytes)
    .u8(pluginRegistryKey)
    .u32(1)
    .u8(attributesPlugin)
    .u8(byUpdateAuthority)
    .u64(BigInt(pluginOffset))
    .u32(0)
    .finish();
}

/** Reads the asset and, where its first registered plugin holds traits, those. */
export function decodeCoreAsset(data: Uint8Array): CoreAsset {
  const reader = new Reader(data);
  if (reader.u8() !== assetKey) throw new FormatError('not a Metaplex Core asset');
  const owner = reader.address();
  const kind = reader.u8();
  if (kind > collectionAuthority) throw new FormatError('an asset has an unknown update authority');
  const authority = kind === 0 ? undefined : reader.address();
  const name = string.read(reader);
  const uri = string.read(reader);
  option(u64).read(reader);
  return {
    owner,
    updateAuthority: kind === addressAuthority ? authority : undefined,
    name,
    uri,
    traits: reader.remaining === 0 ? undefined : readTraits(data, reader),
  };
}

function readTraits(data: Uint8Array, reader: Reader): Trait[] | undefined {
  if (reader.u8() !== pluginHeaderKey) throw new FormatError('an asset has no plugin header');
  const registryOffset = Number(reader.u64());
  if (registryOffset > data.length) throw new FormatError('an asset points beyond its bytes');
  const registry = new Reader(data.subarray(registryOffset));
  if (registry.u8() !== pluginRegistryKey) throw new FormatError('an asset has no plugin registry');
  for (let count = registry.u32(); count > 0; count -= 1) {
    const type = registry.u8();
    const authorityKind = registry.u8();
    if (authorityKind === 3) registry.address();
    const offset = Number(registry.u64());
    if (type !== attributesPlugin) continue;
    if (offset > data.length) throw new FormatError('an asset points beyond its bytes');
    const plugin = new Reader(data.subarray(offset));
    if (plugin.u8() !== attributesPlugin) throw new FormatError('an asset has no traits where it says');
    return traits.read(plugin);
  }
  return undefined;
}

/** The token program that an asset names; undefined where it names none, or nothing that could be one. */
export function antProgramOf(data: Uint8Array): SolanaAddress | undefined {
  try {
    const named = decodeCoreAsset(data).traits?.find(({ key }) => key === antProgramTrait)?.value;
    return named !== undefined && isSolanaAddress(named) ? named : undefined;
  } catch (error) {
    // Plugins that are not known here are no reason not to look where tokens usually are.
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}

/** The owner alone: bytes 1 to 32. */
export function coreAssetOwner(data: Uint8Array): SolanaAddress {
  const reader = new Reader(data);
  if (reader.u8() !== assetKey) throw new FormatError('not a Metaplex Core asset');
  return reader.address();
}
