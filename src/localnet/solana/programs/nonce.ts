/** Nonce accounts of the System program: made, advanced, emptied, handed on. */
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import { decodeNonce, encodeNonce } from '../../../formats/solana/nonce.ts';
import { lamportsPerSignature, rentExemptMinimum, sysvars } from '../../../formats/solana/programs.ts';
import { fail, failCustom, parsed } from '../runtime/errors.ts';
import type { Invocation } from '../runtime/invocation.ts';

const nonceBlockhashNotExpired = 7;

export function advanceNonce(call: Invocation): void {
  const address = call.address(0);
  requireSysvar(call, 1, sysvars.recentBlockhashes);
  requireWritable(call, address);
  const nonce = readNonce(call, address) ?? fail('InvalidAccountData');
  requireAuthority(call, nonce.authority);
  const value = call.scope.nextNonce();
  if (nonce.value.equals(value)) {
    call.scope.logs.add('Advance nonce account: nonce can only advance once per slot');
    failCustom(nonceBlockhashNotExpired);
  }
  call.writeData(address, encodeNonce({ authority: nonce.authority, value, lamportsPerSignature }));
}

/** All of it closes the account; less leaves what the rent asks for. */
export function withdrawNonce(call: Invocation, lamports: bigint): void {
  const [address, to] = [call.address(0), call.address(1)];
  requireSysvar(call, 2, sysvars.recentBlockhashes);
  requireSysvar(call, 3, sysvars.rent);
  requireWritable(call, address);
  const nonce = readNonce(call, address);
  const account = call.account(address);
  const isAll = lamports === account.lamports;
  if (nonce !== undefined && isAll && nonce.value.equals(call.scope.nextNonce())) {
    call.scope.logs.add('Withdraw nonce account: nonce can only advance once per slot');
    failCustom(nonceBlockhashNotExpired);
  }
  const kept = nonce === undefined || isAll ? 0n : rentExemptMinimum(account.data.length);
  if (lamports + kept > account.lamports) {
    call.scope.logs.add(
      `Withdraw nonce account: insufficient lamports ${account.lamports}, need ${lamports + kept}`,
    );
    fail('InsufficientFunds');
  }
  requireAuthority(call, nonce?.authority ?? address);
  if (nonce !== undefined && isAll) call.writeData(address, encodeNonce(undefined));
  call.moveLamports(address, to, lamports);
}

export function initializeNonce(call: Invocation, authority: SolanaAddress): void {
  const address = call.address(0);
  requireSysvar(call, 1, sysvars.recentBlockhashes);
  requireSysvar(call, 2, sysvars.rent);
  requireWritable(call, address);
  if (readNonce(call, address) !== undefined) {
    call.scope.logs.add(`Initialize nonce account: Account ${address} state is invalid`);
    fail('InvalidAccountData');
  }
  const account = call.account(address);
  if (account.lamports < rentExemptMinimum(account.data.length)) fail('InsufficientFunds');
  call.writeData(address, encodeNonce({ authority, value: call.scope.nextNonce(), lamportsPerSignature }));
}

export function authorizeNonce(call: Invocation, authority: SolanaAddress): void {
  const address = call.address(0);
  requireWritable(call, address);
  const nonce = readNonce(call, address) ?? fail('InvalidAccountData');
  requireAuthority(call, nonce.authority);
  call.writeData(address, encodeNonce({ ...nonce, authority }));
}

/** Only accounts from before nonces had a domain of their own can be upgraded, and this ledger never made one. */
export function upgradeNonce(call: Invocation): void {
  const address = call.address(0);
  if (call.account(address).owner !== call.programId) fail('InvalidAccountOwner');
  requireWritable(call, address);
  readNonce(call, address);
  fail('InvalidArgument');
}

const readNonce = (call: Invocation, address: SolanaAddress) =>
  parsed(() => decodeNonce(call.account(address).data), 'InvalidAccountData');

function requireSysvar(call: Invocation, index: number, address: SolanaAddress): void {
  const given = call.accounts[index]?.address ?? fail('MissingAccount');
  if (given !== address) fail('InvalidArgument');
}

function requireWritable(call: Invocation, address: SolanaAddress): void {
  if (call.isWritable(address)) return;
  call.scope.logs.add(`Nonce account ${address} must be writeable`);
  fail('InvalidArgument');
}

function requireAuthority(call: Invocation, authority: SolanaAddress): void {
  if (call.isSigner(authority)) return;
  call.scope.logs.add(`Nonce account: Account ${authority} must be a signer`);
  fail('MissingRequiredSignature');
}
