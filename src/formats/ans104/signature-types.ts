/**
 * The signature types of ANS-104 that the program reads and writes, with the widths of their fields. Type 101
 * (kyve) is never on the wire: such items say 3, and the upload route says whose address the key stands for.
 */
export const signatureTypes = {
  arweave: 1,
  ed25519: 2,
  ethereum: 3,
  solana: 4,
  injectedAptos: 5,
  multiAptos: 6,
  typedEthereum: 7,
  kyve: 101,
} as const;

export type SignatureTypeName = keyof typeof signatureTypes;
/** A type that items carry in their first two bytes. */
export type SignatureType = Exclude<(typeof signatureTypes)[SignatureTypeName], 101>;

export interface SignatureLayout {
  readonly type: SignatureType;
  readonly name: SignatureTypeName;
  readonly signatureBytes: number;
  readonly ownerBytes: number;
}

const layouts: readonly (SignatureLayout | undefined)[] = [
  undefined,
  { type: 1, name: 'arweave', signatureBytes: 512, ownerBytes: 512 },
  { type: 2, name: 'ed25519', signatureBytes: 64, ownerBytes: 32 },
  { type: 3, name: 'ethereum', signatureBytes: 65, ownerBytes: 65 },
  { type: 4, name: 'solana', signatureBytes: 64, ownerBytes: 32 },
  { type: 5, name: 'injectedAptos', signatureBytes: 64, ownerBytes: 32 },
  { type: 6, name: 'multiAptos', signatureBytes: 32 * 64 + 4, ownerBytes: 32 * 32 + 1 },
  { type: 7, name: 'typedEthereum', signatureBytes: 65, ownerBytes: 42 },
];

/** The layout of a type, or undefined for one that is not known. */
export function signatureLayout(type: number): SignatureLayout | undefined {
  return layouts[type];
}

/** The widest signature and owner there are. */
export const maxSignatureBytes = 2_052;
export const maxOwnerBytes = 1_025;
