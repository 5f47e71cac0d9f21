/** Transactions and accounts of the name chain. */
import assert from 'node:assert/strict';
import { FormatError } from '../../../src/formats/format-error.ts';
import {
  aclConfig,
  aclPage,
  antConfig,
  antControllers,
  antRecord,
  antRecordMetadata,
} from '../../../src/formats/solana/accounts-ant.ts';
import {
  arnsConfig,
  arnsRecord,
  demandFactor,
  nameRegistry,
  reservedName,
  returnedName,
} from '../../../src/formats/solana/accounts-arns.ts';
import { isOnCurve, isSolanaAddress, parseSolanaAddress } from '../../../src/formats/solana/address.ts';
import {
  antProgramOf,
  coreAssetOwner,
  decodeCoreAsset,
  encodeCoreAsset,
} from '../../../src/formats/solana/core-asset.ts';
import { antInstructions } from '../../../src/formats/solana/instructions-ant.ts';
import { arnsInstructions } from '../../../src/formats/solana/instructions-arns.ts';
import {
  decodeLookupTable,
  encodeLookupTable,
  neverDeactivated,
} from '../../../src/formats/solana/lookup-table.ts';
import { compileMessage, isWritableKey, parseMessage } from '../../../src/formats/solana/message.ts';
import { isArnsName, isTarget, isUndername } from '../../../src/formats/solana/name-rules.ts';
import { decodeNonce, nonceAccountSize } from '../../../src/formats/solana/nonce.ts';
import { memo, transferLamports } from '../../../src/formats/solana/system.ts';
import {
  decodeMint,
  decodeMultisig,
  decodeTokenAccount,
  mintSize,
  multisigSize,
  tokenAccountSize,
} from '../../../src/formats/solana/token.ts';
import {
  emptySignature,
  parseTransaction,
  serializeTransaction,
  signersOf,
  transactionId,
} from '../../../src/formats/solana/transaction.ts';
import { isOnCurve as isWalletOnCurve } from '../../../src/wallets/solana/address.ts';
import { ed25519PublicKey, verifyEd25519 } from '../../../src/wallets/solana/ed25519.ts';
import { optionsOf, readOrRefused, type Target, textsOf } from '../target.ts';

const payer = parseSolanaAddress('4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS');
const other = parseSolanaAddress('9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin');
const blockhash = '11111111111111111111111111111111';
const messages = (['legacy', 0] as const).map((version) =>
  compileMessage({
    version,
    feePayer: payer,
    blockhash,
    instructions: [transferLamports(payer, other, 5n), memo('hello', payer)],
  }),
);

const accounts = [
  antConfig,
  antControllers,
  antRecord,
  antRecordMetadata,
  aclConfig,
  aclPage,
  arnsConfig,
  arnsRecord,
  demandFactor,
  returnedName,
  reservedName,
];
const instructions = [...Object.values(arnsInstructions), ...Object.values(antInstructions)];

export const targets: readonly Target[] = [
  {
    name: 'solana-transaction',
    longest: 1_400,
    seeds: () => messages.map((message) => serializeTransaction([emptySignature], message)),
    run(input) {
      const read = readOrRefused([FormatError], () => parseTransaction(input));
      if (read === undefined) return;
      const { signatures, messageBytes } = read;
      const again = parseTransaction(serializeTransaction(signatures, messageBytes));
      assert.deepEqual(again, read);
      const message = parseMessage(messageBytes);
      assert.equal(signersOf(message).length, message.requiredSignatures);
      assert.equal(signatures.length, message.requiredSignatures);
      assert.ok(transactionId(read).length > 0);
      assert.ok(isWritableKey(message, 0));
      for (const { programIndex, accounts: places } of message.instructions) {
        const count =
          message.keys.length +
          message.lookups.reduce((sum, { writable, readonly }) => sum + writable.length + readonly.length, 0);
        assert.ok(programIndex < message.keys.length && places.every((place) => place < count));
      }
    },
  },
  {
    name: 'solana-account',
    seeds: () =>
      accounts.map(({ discriminator, space }) => Buffer.concat([discriminator, Buffer.alloc(space - 8)])),
    run(input) {
      for (const kind of accounts) {
        assert.equal(kind.matches(input), kind.discriminator.equals(input.subarray(0, 8)));
        readOrRefused([FormatError], () => kind.decode(input));
      }
      readOrRefused([FormatError], () => nameRegistry.head(input));
    },
  },
  {
    name: 'solana-instruction',
    seeds: () => instructions.map((_, index) => Buffer.from([index, 1, 0, 0, 0, 97, 0, 0, 0, 0])),
    run(input) {
      const { bits, rest } = optionsOf(input);
      const kind = instructions[bits % instructions.length]!;
      readOrRefused([FormatError], () => kind.decode(rest));
    },
  },
  {
    name: 'solana-programs-accounts',
    seeds: () => [
      encodeCoreAsset({
        owner: payer,
        updateAuthority: other,
        name: 'n',
        uri: 'u',
        traits: [{ key: 'ANT Program', value: payer }],
      }),
      encodeLookupTable({
        deactivationSlot: neverDeactivated,
        lastExtendedSlot: 1n,
        lastExtendedStart: 0,
        authority: payer,
        addresses: [payer, other],
      }),
      ...[mintSize, tokenAccountSize, multisigSize, nonceAccountSize].map((size) => Buffer.alloc(size, 1)),
    ],
    run(input) {
      const asset = readOrRefused([FormatError], () => decodeCoreAsset(input));
      if (asset !== undefined) assert.equal(coreAssetOwner(input), asset.owner);
      antProgramOf(input);
      const table = readOrRefused([FormatError], () => decodeLookupTable(input));
      if (table !== undefined) assert.ok(table.addresses.length <= 256);
      for (const decode of [decodeMint, decodeTokenAccount, decodeMultisig, decodeNonce]) {
        readOrRefused<unknown>([FormatError], () => decode(input));
      }
    },
  },
  {
    name: 'solana-address',
    seeds: () => [`${payer}\0name`, `${blockhash}\0@`, 'x\0a_b'],
    run(input) {
      const text = textsOf(input);
      const address = text(0);
      if (isSolanaAddress(address)) assert.equal(parseSolanaAddress(address), address);
      else
        assert.equal(
          readOrRefused([FormatError], () => parseSolanaAddress(address)),
          undefined,
        );
      assert.ok(!isArnsName(text(1)) || text(1).length <= 51);
      assert.ok(!isUndername(text(1)) || text(1).length <= 61);
      for (const protocol of [0, 1, 2]) isTarget(text(1), protocol);
      if (input.length < 32) return;
      const key = input.subarray(0, 32);
      isOnCurve(key);
      const isWallet = isWalletOnCurve(key);
      const object = ed25519PublicKey(key);
      if (object !== undefined) {
        assert.ok(isWallet || !isOnCurve(key));
        verifyEd25519(object, input, Buffer.alloc(64, input[0]));
      }
    },
  },
];
