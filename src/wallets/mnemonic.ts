/** Keys from a mnemonic, as wallets derive them: BIP-39, BIP-32 on secp256k1, SLIP-10 on Ed25519. */
import { createHmac, pbkdf2Sync } from 'node:crypto';
import { publicKeyOf } from './ethereum/secp256k1.ts';

const hardened = 0x80000000;
/** Of the group of secp256k1. */
const order = BigInt('0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141');

interface Node {
  readonly key: Buffer;
  readonly chainCode: Buffer;
}

/** BIP-39, without a passphrase. Whether the words are of the list is not looked at. */
export function seedOfMnemonic(words: string): Buffer {
  return pbkdf2Sync(words.normalize('NFKD'), 'mnemonic', 2_048, 64, 'sha512');
}

/** The private key at a path such as `m/44'/60'/0'/0/0` (BIP-32). */
export function secp256k1KeyAt(seed: Uint8Array, path: string): Buffer {
  let node = split(createHmac('sha512', 'Bitcoin seed').update(seed).digest());
  for (const index of indexesOf(path)) {
    const parent = index >= hardened ? Buffer.concat([Buffer.of(0), node.key]) : compressed(node.key);
    const child = derive(node.chainCode, parent, index);
    const scalar = (toNumber(child.key) + toNumber(node.key)) % order;
    // One in 2^127 paths has no key; BIP-32 goes on to the next index there.
    if (toNumber(child.key) >= order || scalar === 0n) throw new Error(`there is no key at ${path}`);
    node = { key: Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex'), chainCode: child.chainCode };
  }
  return node.key;
}

/** The seed of the Ed25519 key at a path whose every step is hardened, such as `m/44'/501'/0'/0'` (SLIP-10). */
export function ed25519SeedAt(seed: Uint8Array, path: string): Buffer {
  let node = split(createHmac('sha512', 'ed25519 seed').update(seed).digest());
  for (const index of indexesOf(path)) {
    if (index < hardened) throw new Error(`Ed25519 has hardened steps only: ${path}`);
    node = derive(node.chainCode, Buffer.concat([Buffer.of(0), node.key]), index);
  }
  return node.key;
}

function indexesOf(path: string): number[] {
  const [root, ...steps] = path.split('/');
  if (root !== 'm') throw new Error(`a path begins with m: ${path}`);
  return steps.map((step) => {
    if (!/^[0-9]{1,9}'?$/.test(step)) throw new Error(`not a step of a path: ${step}`);
    return step.endsWith("'") ? Number(step.slice(0, -1)) + hardened : Number(step);
  });
}

function derive(chainCode: Buffer, parent: Uint8Array, index: number): Node {
  const place = Buffer.alloc(4);
  place.writeUInt32BE(index);
  return split(createHmac('sha512', chainCode).update(parent).update(place).digest());
}

const split = (bytes: Buffer): Node => ({ key: bytes.subarray(0, 32), chainCode: bytes.subarray(32) });

const toNumber = (bytes: Buffer): bigint => BigInt(`0x${bytes.toString('hex')}`);

/** The public key in its 33-byte form. */
function compressed(privateKey: Buffer): Buffer {
  const point = publicKeyOf(privateKey);
  return Buffer.concat([Buffer.of(2 + (point[64]! & 1)), point.subarray(1, 33)]);
}
