/** Executed transactions as JSON: raw, as the message's parts, or with the common instructions spelled out. */
import { encodeBase58 } from '../../../formats/base58.ts';
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import { Reader } from '../../../formats/solana/bytes.ts';
import { isWritableKey, type Message } from '../../../formats/solana/message.ts';
import { memoProgram, memoProgramV1, systemProgram, tokenProgram } from '../../../formats/solana/programs.ts';
import { systemInstruction } from '../../../formats/solana/system.ts';
import { tokenInstruction } from '../../../formats/solana/token.ts';
import { parseTransaction } from '../../../formats/solana/transaction.ts';
import type { TokenBalance, TransactionMeta } from '../meta.ts';
import type { StoredTransaction } from '../store.ts';
import { tokenAmount } from './accounts-json.ts';

export type TransactionEncoding = 'json' | 'jsonParsed' | 'base64' | 'base58';

export function transactionJson(wire: Buffer, encoding: TransactionEncoding): unknown {
  if (encoding === 'base64') return [wire.toString('base64'), 'base64'];
  if (encoding === 'base58') return [encodeBase58(wire), 'base58'];
  const { signatures, message } = parseTransaction(wire);
  return {
    signatures: signatures.map((signature) => encodeBase58(signature)),
    message: encoding === 'json' ? messageJson(message) : parsedMessageJson(message),
  };
}

function messageJson(message: Message): object {
  return {
    header: {
      numRequiredSignatures: message.requiredSignatures,
      numReadonlySignedAccounts: message.readonlySigned,
      numReadonlyUnsignedAccounts: message.readonlyUnsigned,
    },
    accountKeys: message.keys,
    recentBlockhash: message.blockhash,
    instructions: message.instructions.map(({ programIndex, accounts, data }) => ({
      programIdIndex: programIndex,
      accounts,
      data: encodeBase58(data),
      stackHeight: 1,
    })),
    ...(message.version === 0 && { addressTableLookups: [] }),
  };
}

function parsedMessageJson(message: Message): object {
  return {
    accountKeys: message.keys.map((pubkey, index) => ({
      pubkey,
      signer: index < message.requiredSignatures,
      writable: isWritableKey(message, index),
      source: 'transaction',
    })),
    recentBlockhash: message.blockhash,
    instructions: message.instructions.map(({ programIndex, accounts, data }) =>
      parsedInstruction(
        message.keys[programIndex]!,
        accounts.map((index) => message.keys[index]!),
        data,
      ),
    ),
    ...(message.version === 0 && { addressTableLookups: [] }),
  };
}

function parsedInstruction(
  programId: SolanaAddress,
  accounts: readonly SolanaAddress[],
  data: Buffer,
): object {
  const known = spell(programId, accounts, data);
  if (known !== undefined) return { ...known, programId, stackHeight: 1 };
  return { programId, accounts, data: encodeBase58(data), stackHeight: 1 };
}

function spell(
  programId: SolanaAddress,
  accounts: readonly SolanaAddress[],
  data: Buffer,
): object | undefined {
  if (programId === memoProgram || programId === memoProgramV1) {
    return { program: 'spl-memo', parsed: data.toString('utf8') };
  }
  if (programId === systemProgram && data.length === 12) {
    const reader = new Reader(data);
    if (reader.u32() !== systemInstruction.transfer) return undefined;
    const info = { source: accounts[0], destination: accounts[1], lamports: reader.u64() };
    return { program: 'system', parsed: { info, type: 'transfer' } };
  }
  if (programId !== tokenProgram) return undefined;
  if (data.length === 9 && data[0] === tokenInstruction.transfer) {
    const amount = new Reader(data.subarray(1)).u64().toString();
    const info = { source: accounts[0], destination: accounts[1], authority: accounts[2], amount };
    return { program: 'spl-token', parsed: { info, type: 'transfer' } };
  }
  if (data.length === 10 && data[0] === tokenInstruction.transferChecked) {
    const reader = new Reader(data.subarray(1));
    const info = {
      source: accounts[0],
      mint: accounts[1],
      destination: accounts[2],
      authority: accounts[3],
      tokenAmount: tokenAmount(reader.u64(), reader.u8()),
    };
    return { program: 'spl-token', parsed: { info, type: 'transferChecked' } };
  }
  return undefined;
}

export function statusJson(err: TransactionMeta['err']): object {
  return err === null ? { Ok: null } : { Err: err };
}

export function metaJson(meta: TransactionMeta): object {
  return {
    err: meta.err,
    status: statusJson(meta.err),
    fee: BigInt(meta.fee),
    preBalances: meta.pre.map(BigInt),
    postBalances: meta.post.map(BigInt),
    innerInstructions: innerJson(meta),
    logMessages: meta.logs,
    preTokenBalances: meta.preTokens.map(tokenBalanceJson),
    postTokenBalances: meta.postTokens.map(tokenBalanceJson),
    rewards: [],
    loadedAddresses: { writable: [], readonly: [] },
    computeUnitsConsumed: meta.units,
    ...(meta.returnData && {
      returnData: { programId: meta.returnData.programId, data: [meta.returnData.data, 'base64'] },
    }),
  };
}

function innerJson(meta: TransactionMeta): object[] {
  const groups = new Map<number, object[]>();
  for (const { outer, ...instruction } of meta.inner) {
    const group = groups.get(outer);
    if (group === undefined) groups.set(outer, [instruction]);
    else group.push(instruction);
  }
  return [...groups].map(([index, instructions]) => ({ index, instructions }));
}

function tokenBalanceJson(balance: TokenBalance): object {
  return {
    accountIndex: balance.accountIndex,
    mint: balance.mint,
    owner: balance.owner,
    programId: tokenProgram,
    uiTokenAmount: tokenAmount(BigInt(balance.amount), balance.decimals),
  };
}

export function isVersioned(entry: StoredTransaction): boolean {
  return parseTransaction(entry.wire).message.version === 0;
}
