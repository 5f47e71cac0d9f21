/** The programs of the local ledger beside litesvm: the same transactions give the same fees, errors, balances and bytes. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  ACCOUNT_SIZE,
  AuthorityType,
  createAmountToUiAmountInstruction,
  createApproveCheckedInstruction,
  createApproveInstruction,
  createAssociatedTokenAccountInstruction,
  createBurnCheckedInstruction,
  createBurnInstruction,
  createCloseAccountInstruction,
  createFreezeAccountInstruction,
  createInitializeAccount2Instruction,
  createInitializeAccount3Instruction,
  createInitializeAccountInstruction,
  createInitializeImmutableOwnerInstruction,
  createInitializeMint2Instruction,
  createInitializeMintInstruction,
  createInitializeMultisigInstruction,
  createMintToCheckedInstruction,
  createMintToInstruction,
  createRecoverNestedInstruction,
  createRevokeInstruction,
  createSetAuthorityInstruction,
  createSyncNativeInstruction,
  createThawAccountInstruction,
  createTransferCheckedInstruction,
  createTransferInstruction,
  createUiAmountToAmountInstruction,
  getAssociatedTokenAddressSync,
  MINT_SIZE,
  MULTISIG_SIZE,
  NATIVE_MINT,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import {
  AddressLookupTableAccount,
  AddressLookupTableProgram,
  NONCE_ACCOUNT_LENGTH,
  PublicKey,
  SystemProgram,
  TransactionInstruction,
  TransactionMessage,
} from '@solana/web3.js';
import { addressBytes, parseSolanaAddress } from '../../src/formats/solana/address.ts';
import { Writer } from '../../src/formats/solana/bytes.ts';
import { type Instruction, readOnly, signer, writable } from '../../src/formats/solana/message.ts';
import { rentExemptMinimum, tokenProgram } from '../../src/formats/solana/programs.ts';
import { computeBudget, createAccount, memo, transferLamports } from '../../src/formats/solana/system.ts';
import {
  associatedTokenAddress,
  createAssociatedTokenAccount,
  mintSize,
  mintTo,
  tokenInstruction,
  transferToken,
} from '../../src/formats/solana/token.ts';
import { serializeTransaction } from '../../src/formats/solana/transaction.ts';
import type { Keypair } from '../../src/localnet/solana/genesis.ts';
import { wallet } from '../../src/localnet/solana/testing.ts';
import { signEd25519 } from '../../src/wallets/solana/ed25519.ts';
import { fromClassic, SideBySide } from './solana-machine.ts';

const alice = wallet('alice');
const bob = wallet('bob');
const mint = wallet('mint');
const fresh = wallet('fresh');
const poor = wallet('poor');
let both: SideBySide;
before(async () => {
  both = await SideBySide.start(alice, bob);
  for (const key of [mint, fresh, poor]) both.watched.add(key.address);
});
after(() => both.stop());

test('transfers, fees and rent', async () => {
  assert.equal(await both.same('transfer', [transferLamports(alice.address, bob.address, 5n)], alice), null);
  await both.same(
    'priority',
    [...computeBudget(10_000, 12_345n), transferLamports(alice.address, bob.address, 7n)],
    alice,
  );
  await both.same('two signers', [transferLamports(bob.address, alice.address, 9n)], alice, bob);
  assert.equal(
    await both.same('too much', [transferLamports(alice.address, bob.address, 10n ** 12n)], alice),
    'instruction 0 custom 1',
  );
  assert.equal(
    await both.same('below rent', [transferLamports(alice.address, fresh.address, 890_879n)], alice),
    'rent 1',
  );
  await both.same('exempt', [transferLamports(alice.address, fresh.address, 890_880n)], alice);
  await both.same('nobody', [memo('x')], wallet('nobody'));
  await both.same('poor', [transferLamports(alice.address, poor.address, 890_880n)], alice);
  assert.equal(await both.same('fee below rent', [memo('x')], poor), 'rent 0');
  await both.same('more', [transferLamports(alice.address, poor.address, 1_000_000n)], alice);
  await both.same('all of it', [transferLamports(poor.address, bob.address, 1_885_880n)], poor);
  await both.same('memo', [memo('hello', bob.address)], alice, bob);
  await both.same(
    'duplicate budget',
    [...computeBudget(1_000, 1n), ...computeBudget(1_000, 1n), memo('x')],
    alice,
  );
});

test('accounts and tokens', async () => {
  const rent = rentExemptMinimum(mintSize);
  const initialize = (): Instruction => ({
    programId: tokenProgram,
    accounts: [writable(mint.address)],
    data: new Writer()
      .u8(tokenInstruction.initializeMint2)
      .u8(6)
      .bytes(addressBytes(alice.address))
      .u8(0)
      .finish(),
  });
  const create = createAccount(alice.address, mint.address, rent, mintSize, tokenProgram);
  await both.same(
    'mint below rent',
    [createAccount(alice.address, mint.address, rent - 1n, mintSize, tokenProgram)],
    alice,
    mint,
  );
  await both.same('mint', [create, initialize()], alice, mint);
  await both.same('mint again', [create], alice, mint);
  await both.same('initialize again', [initialize()], alice);
  const aliceTokens = associatedTokenAddress(alice.address, mint.address);
  const bobTokens = associatedTokenAddress(bob.address, mint.address);
  await both.same(
    'associated',
    [createAssociatedTokenAccount(alice.address, alice.address, mint.address)],
    alice,
  );
  await both.same(
    'associated again',
    [createAssociatedTokenAccount(alice.address, alice.address, mint.address)],
    alice,
  );
  const strict = {
    ...createAssociatedTokenAccount(alice.address, alice.address, mint.address),
    data: Uint8Array.of(0),
  };
  await both.same('associated strictly again', [strict], alice);
  await both.same('for bob', [createAssociatedTokenAccount(alice.address, bob.address, mint.address)], alice);
  await both.same('mint to', [mintTo(mint.address, aliceTokens, alice.address, 1_000n)], alice);
  await both.same('mint by another', [mintTo(mint.address, aliceTokens, bob.address, 1_000n)], alice, bob);
  await both.same('transfer', [transferToken(aliceTokens, bobTokens, alice.address, 400n)], alice);
  assert.equal(
    await both.same('too much', [transferToken(aliceTokens, bobTokens, alice.address, 601n)], alice),
    'instruction 0 custom 1',
  );
  assert.equal(
    await both.same('not his', [transferToken(aliceTokens, bobTokens, bob.address, 1n)], alice, bob),
    'instruction 0 custom 4',
  );
  const close = (owner: Keypair, from: ReturnType<typeof associatedTokenAddress>): Instruction => ({
    programId: tokenProgram,
    accounts: [writable(from), writable(owner.address), signer(owner.address)],
    data: Uint8Array.of(tokenInstruction.closeAccount),
  });
  await both.same('close with tokens', [close(alice, aliceTokens)], alice);
  await both.same(
    'empty and close',
    [transferToken(aliceTokens, bobTokens, alice.address, 600n), close(alice, aliceTokens)],
    alice,
  );
  await both.same(
    'wrong program',
    [{ programId: tokenProgram, accounts: [readOnly(bob.address)], data: Uint8Array.of(99) }],
    alice,
  );
  for (const key of [bobTokens, aliceTokens]) both.sameBytes(key);
});

const web3Key = (key: Keypair | string): PublicKey =>
  new PublicKey(typeof key === 'string' ? key : key.address);
const our = (key: PublicKey) => parseSolanaAddress(key.toBase58());
const classic = (...instructions: readonly TransactionInstruction[]): Instruction[] =>
  instructions.map(fromClassic);

test('seeds: accounts made, filled, handed on and spent by the wallet they are derived from', async () => {
  const { programId } = SystemProgram;
  const base = web3Key(alice);
  const owner = web3Key(wallet('some program'));
  const vault = await PublicKey.createWithSeed(base, 'vault', programId);
  const record = await PublicKey.createWithSeed(base, 'record', owner);
  both.watched.add(our(vault)).add(our(record));
  const create = (seed: string, newAccountPubkey = record) =>
    SystemProgram.createAccountWithSeed({
      fromPubkey: base,
      basePubkey: base,
      seed,
      newAccountPubkey,
      lamports: 2_000_000,
      space: 10,
      programId: owner,
    });
  assert.equal(await both.same('wrong seed', classic(create('other')), alice), 'instruction 0 custom 5');
  assert.equal(
    await both.same('long seed', classic(create('x'.repeat(33))), alice),
    'instruction 0 custom 0',
  );
  assert.equal(await both.same('create', classic(create('record')), alice), null);
  assert.equal(await both.same('again', classic(create('record')), alice), 'instruction 0 custom 0');
  await both.same('fund', [transferLamports(alice.address, our(vault), 5_000_000n)], alice);
  const spend = (seed: string, lamports: number) =>
    SystemProgram.transfer({
      fromPubkey: vault,
      basePubkey: base,
      toPubkey: web3Key(bob),
      lamports,
      seed,
      programId,
    });
  assert.equal(await both.same('spend', classic(spend('vault', 1_000_000)), alice), null);
  assert.equal(
    await both.same('spend too much', classic(spend('vault', 9_000_000)), alice),
    'instruction 0 custom 1',
  );
  assert.equal(
    await both.same('spend by another seed', classic(spend('purse', 1)), alice),
    'instruction 0 custom 5',
  );
  const other = await PublicKey.createWithSeed(base, 'other', owner);
  both.watched.add(our(other));
  await both.same('fund other', [transferLamports(alice.address, our(other), 5_000_000n)], alice);
  await both.same(
    'allocate',
    classic(
      SystemProgram.allocate({
        accountPubkey: other,
        basePubkey: base,
        seed: 'other',
        space: 33,
        programId: owner,
      }),
    ),
    alice,
  );
  await both.same(
    'assign what is assigned',
    classic(
      SystemProgram.assign({ accountPubkey: other, basePubkey: base, seed: 'other', programId: owner }),
    ),
    alice,
  );
  await both.same(
    'allocate plain',
    classic(SystemProgram.allocate({ accountPubkey: web3Key(fresh), space: 3 })),
    alice,
    fresh,
  );
  await both.same('no longer a payer', [memo('x')], fresh);
  await both.same(
    'assign plain',
    classic(SystemProgram.assign({ accountPubkey: web3Key(fresh), programId: owner })),
    alice,
    fresh,
  );
  await both.same('to the system program', [transferLamports(alice.address, our(programId), 5n)], alice);
  for (const key of [record, other]) both.sameBytes(our(key));
});

test('nonces: made, advanced, handed on, emptied', async () => {
  const nonce = wallet('nonce');
  const key = web3Key(nonce);
  both.watched.add(nonce.address);
  const rent = rentExemptMinimum(NONCE_ACCOUNT_LENGTH);
  const make = createAccount(
    alice.address,
    nonce.address,
    rent,
    NONCE_ACCOUNT_LENGTH,
    our(SystemProgram.programId),
  );
  const initialize = fromClassic(
    SystemProgram.nonceInitialize({ noncePubkey: key, authorizedPubkey: web3Key(alice) }),
  );
  const advance = (authority: Keypair) =>
    fromClassic(SystemProgram.nonceAdvance({ noncePubkey: key, authorizedPubkey: web3Key(authority) }));
  const withdraw = (authority: Keypair, lamports: bigint) =>
    fromClassic(
      SystemProgram.nonceWithdraw({
        noncePubkey: key,
        authorizedPubkey: web3Key(authority),
        toPubkey: web3Key(bob),
        lamports: Number(lamports),
      }),
    );
  const authorize = (from: Keypair, to: Keypair) =>
    fromClassic(
      SystemProgram.nonceAuthorize({
        noncePubkey: key,
        authorizedPubkey: web3Key(from),
        newAuthorizedPubkey: web3Key(to),
      }),
    );
  const value: [number, number] = [40, 72];
  await both.same('nothing there', [initialize], alice);
  assert.equal(
    await both.same('advanced where it is made', [make, initialize, advance(alice)], alice, nonce),
    'instruction 2 custom 7',
  );
  assert.equal(await both.same('make', [make, initialize], alice, nonce), null);
  both.sameBytes(nonce.address, value);
  assert.equal(await both.same('again', [initialize], alice), 'instruction 0 InvalidAccountData');
  assert.equal(await both.same('advance', [advance(alice)], alice), null);
  assert.equal(
    await both.same('not the authority', [advance(bob)], alice, bob),
    'instruction 0 MissingRequiredSignature',
  );
  assert.equal(await both.same('hand on', [authorize(alice, bob)], alice), null);
  await both.same('hand on what is gone', [authorize(alice, bob)], alice);
  await both.same('more', [transferLamports(alice.address, nonce.address, 1_000n)], alice);
  assert.equal(
    await both.same('not by the old', [withdraw(alice, 1_000n)], alice),
    'instruction 0 MissingRequiredSignature',
  );
  assert.equal(
    await both.same('below rent', [withdraw(bob, 1_001n)], alice, bob),
    'instruction 0 InsufficientFunds',
  );
  assert.equal(await both.same('some', [withdraw(bob, 1_000n)], alice, bob), null);
  both.sameBytes(nonce.address, value);
  await both.same('a nonce sends nothing', [transferLamports(nonce.address, bob.address, 1n)], alice, nonce);
  const swapped = { ...advance(bob), accounts: [...advance(bob).accounts].reverse() };
  await both.same('accounts in the wrong places', [swapped], alice, bob);
  const short = { ...advance(bob), accounts: advance(bob).accounts.slice(0, 1) };
  await both.same('too few accounts', [short], alice, bob);
  assert.equal(await both.same('all', [withdraw(bob, rent)], alice, bob), null);
  both.sameBytes(nonce.address);
});

test('wrapped SOL: lamports in, tokens about, lamports back', async () => {
  const native = NATIVE_MINT;
  const mine = getAssociatedTokenAddressSync(native, web3Key(alice));
  const yours = getAssociatedTokenAddressSync(native, web3Key(bob));
  both.watched.add(our(mine)).add(our(yours));
  both.sameBytes(our(native));
  await both.same(
    'open',
    classic(
      createAssociatedTokenAccountInstruction(web3Key(alice), mine, web3Key(alice), native),
      createAssociatedTokenAccountInstruction(web3Key(alice), yours, web3Key(bob), native),
    ),
    alice,
  );
  await both.same('lamports', [transferLamports(alice.address, our(mine), 7_000_000n)], alice);
  both.sameBytes(our(mine));
  assert.equal(await both.same('wrap', classic(createSyncNativeInstruction(mine)), alice), null);
  assert.equal(both.sameBytes(our(mine)).readBigUInt64LE(64), 7_000_000n);
  await both.same('send', classic(createTransferInstruction(mine, yours, web3Key(alice), 3_000_000)), alice);
  await both.same(
    'send too much',
    classic(createTransferInstruction(mine, yours, web3Key(alice), 3e9)),
    alice,
  );
  await both.same('mint', classic(createMintToInstruction(native, mine, web3Key(alice), 1)), alice);
  await both.same('burn', classic(createBurnInstruction(mine, native, web3Key(alice), 1)), alice);
  await both.same('freeze', classic(createFreezeAccountInstruction(mine, native, web3Key(alice))), alice);
  both.sameBytes(our(yours));
  await both.same(
    'unwrap',
    classic(createCloseAccountInstruction(mine, web3Key(alice), web3Key(alice))),
    alice,
  );
  await both.same(
    'unwrap to another',
    classic(createCloseAccountInstruction(yours, web3Key(alice), web3Key(bob))),
    alice,
    bob,
  );
  const made = wallet('made with lamports');
  const size = rentExemptMinimum(ACCOUNT_SIZE);
  await both.same(
    'made with lamports',
    [
      createAccount(alice.address, made.address, size + 55n, ACCOUNT_SIZE, tokenProgram),
      ...classic(createInitializeAccountInstruction(web3Key(made), native, web3Key(alice))),
    ],
    alice,
    made,
  );
  assert.equal(both.sameBytes(made.address).readBigUInt64LE(64), 55n);
});

test('tokens: authorities, delegates, frozen accounts, many signers, views', async () => {
  const coin = wallet('coin');
  const [a, b] = [wallet('tokens of alice'), wallet('tokens of bob')];
  const many = wallet('many signers');
  const carol = wallet('carol');
  const key = web3Key;
  for (const account of [coin, a, b, many]) both.watched.add(account.address);
  const make = (account: Keypair, size: number) =>
    createAccount(alice.address, account.address, rentExemptMinimum(size), size, tokenProgram);
  const ok = async (what: string, signers: readonly Keypair[], ...list: TransactionInstruction[]) =>
    assert.equal(await both.same(what, classic(...list), alice, ...signers), null, what);
  const fails = async (
    what: string,
    error: string,
    signers: readonly Keypair[],
    ...list: TransactionInstruction[]
  ) =>
    assert.equal(await both.same(what, classic(...list), alice, ...signers), `instruction 0 ${error}`, what);

  await both.same(
    'mint',
    [make(coin, MINT_SIZE), ...classic(createInitializeMintInstruction(key(coin), 3, key(alice), key(bob)))],
    alice,
    coin,
  );
  await both.same(
    'accounts',
    [
      make(a, ACCOUNT_SIZE),
      make(b, ACCOUNT_SIZE),
      ...classic(
        createInitializeImmutableOwnerInstruction(key(a), TOKEN_PROGRAM_ID),
        createInitializeAccount2Instruction(key(a), key(coin), key(alice)),
        createInitializeAccount3Instruction(key(b), key(coin), key(bob)),
      ),
    ],
    alice,
    a,
    b,
  );
  await fails('in use', 'custom 6', [], createInitializeAccount3Instruction(key(b), key(coin), key(bob)));
  await fails(
    'owner of one in use',
    'custom 6',
    [],
    createInitializeImmutableOwnerInstruction(key(a), TOKEN_PROGRAM_ID),
  );
  await ok('mint checked', [], createMintToCheckedInstruction(key(coin), key(a), key(alice), 10_000, 3));
  await fails(
    'other decimals',
    'custom 18',
    [],
    createMintToCheckedInstruction(key(coin), key(a), key(alice), 1, 2),
  );
  await fails(
    'too many',
    'custom 14',
    [],
    createMintToInstruction(key(coin), key(a), key(alice), 2n ** 64n - 1n),
  );
  await ok(
    'send checked',
    [],
    createTransferCheckedInstruction(key(a), key(coin), key(b), key(alice), 500, 3),
  );
  await fails(
    'send with other decimals',
    'custom 18',
    [],
    createTransferCheckedInstruction(key(a), key(coin), key(b), key(alice), 1, 9),
  );
  await fails(
    'send with another mint',
    'custom 3',
    [],
    createTransferCheckedInstruction(key(a), NATIVE_MINT, key(b), key(alice), 1, 9),
  );
  await ok('to itself', [], createTransferInstruction(key(a), key(a), key(alice), 5));

  await ok('approve', [], createApproveInstruction(key(a), key(bob), key(alice), 100));
  both.sameBytes(a.address);
  await ok('delegate sends', [bob], createTransferInstruction(key(a), key(b), key(bob), 60));
  await fails(
    'delegate sends more',
    'custom 1',
    [bob],
    createTransferInstruction(key(a), key(b), key(bob), 60),
  );
  await ok('delegate burns', [bob], createBurnInstruction(key(a), key(coin), key(bob), 40));
  await fails('used up', 'custom 4', [bob], createTransferInstruction(key(a), key(b), key(bob), 1));
  await ok(
    'approve checked',
    [],
    createApproveCheckedInstruction(key(a), key(coin), key(bob), key(alice), 7, 3),
  );
  await fails(
    'approve with other decimals',
    'custom 18',
    [],
    createApproveCheckedInstruction(key(a), key(coin), key(bob), key(alice), 7, 4),
  );
  await ok('revoke', [], createRevokeInstruction(key(a), key(alice)));
  await fails('revoke by another', 'custom 4', [bob], createRevokeInstruction(key(a), key(bob)));
  await ok('burn checked', [], createBurnCheckedInstruction(key(a), key(coin), key(alice), 10, 3));
  await fails(
    'burn with other decimals',
    'custom 18',
    [],
    createBurnCheckedInstruction(key(a), key(coin), key(alice), 10, 4),
  );
  for (const account of [a, b, coin]) both.sameBytes(account.address);

  await fails(
    'freeze by another',
    'custom 4',
    [],
    createFreezeAccountInstruction(key(a), key(coin), key(alice)),
  );
  await ok('freeze', [bob], createFreezeAccountInstruction(key(a), key(coin), key(bob)));
  both.sameBytes(a.address);
  await fails(
    'freeze again',
    'custom 13',
    [bob],
    createFreezeAccountInstruction(key(a), key(coin), key(bob)),
  );
  await fails('send frozen', 'custom 17', [], createTransferInstruction(key(a), key(b), key(alice), 1));
  await fails('receive frozen', 'custom 17', [bob], createTransferInstruction(key(b), key(a), key(bob), 1));
  await fails('mint frozen', 'custom 17', [], createMintToInstruction(key(coin), key(a), key(alice), 1));
  await fails('approve frozen', 'custom 17', [], createApproveInstruction(key(a), key(bob), key(alice), 1));
  await fails('burn frozen', 'custom 17', [], createBurnInstruction(key(a), key(coin), key(alice), 1));
  await fails(
    'hand on frozen',
    'custom 17',
    [],
    createSetAuthorityInstruction(key(a), key(alice), AuthorityType.AccountOwner, key(bob)),
  );
  await ok('thaw', [bob], createThawAccountInstruction(key(a), key(coin), key(bob)));
  await fails('thaw again', 'custom 13', [bob], createThawAccountInstruction(key(a), key(coin), key(bob)));

  await ok(
    'close authority',
    [],
    createSetAuthorityInstruction(key(a), key(alice), AuthorityType.CloseAccount, key(carol)),
  );
  both.sameBytes(a.address);
  await fails(
    'close authority by the owner',
    'custom 4',
    [],
    createSetAuthorityInstruction(key(a), key(alice), AuthorityType.CloseAccount, null),
  );
  await ok(
    'close authority back',
    [carol],
    createSetAuthorityInstruction(key(a), key(carol), AuthorityType.CloseAccount, null),
  );
  await fails(
    'no owner',
    'custom 12',
    [],
    createSetAuthorityInstruction(key(a), key(alice), AuthorityType.AccountOwner, null),
  );
  await fails(
    'mint authority of an account',
    'custom 15',
    [],
    createSetAuthorityInstruction(key(a), key(alice), AuthorityType.MintTokens, key(bob)),
  );
  await fails(
    'owner of a mint',
    'custom 15',
    [],
    createSetAuthorityInstruction(key(coin), key(alice), AuthorityType.AccountOwner, key(bob)),
  );
  await fails(
    'authority of neither',
    'InvalidArgument',
    [],
    createSetAuthorityInstruction(key(alice), key(alice), AuthorityType.AccountOwner, key(bob)),
  );
  await ok(
    'nobody freezes',
    [bob],
    createSetAuthorityInstruction(key(coin), key(bob), AuthorityType.FreezeAccount, null),
  );
  await fails(
    'freeze by nobody',
    'custom 16',
    [bob],
    createFreezeAccountInstruction(key(a), key(coin), key(bob)),
  );

  const members = [alice, bob, carol].map(key);
  await both.same(
    'two of three',
    [make(many, MULTISIG_SIZE), ...classic(createInitializeMultisigInstruction(key(many), members, 2))],
    alice,
    many,
  );
  both.sameBytes(many.address);
  await fails('made again', 'custom 6', [], createInitializeMultisigInstruction(key(many), members, 2));
  await ok(
    'owned by many',
    [],
    createSetAuthorityInstruction(key(a), key(alice), AuthorityType.AccountOwner, key(many)),
  );
  await ok(
    'two sign',
    [bob],
    createTransferInstruction(key(a), key(b), key(many), 5, [key(alice), key(bob)]),
  );
  await fails(
    'one signs',
    'MissingRequiredSignature',
    [],
    createTransferInstruction(key(a), key(b), key(many), 5, [key(alice)]),
  );
  await fails(
    'one signs twice',
    'MissingRequiredSignature',
    [],
    createTransferInstruction(key(a), key(b), key(many), 5, [key(alice), key(alice)]),
  );
  await ok(
    'minted by many',
    [],
    createSetAuthorityInstruction(key(coin), key(alice), AuthorityType.MintTokens, key(many)),
  );
  await ok(
    'many mint',
    [carol],
    createMintToInstruction(key(coin), key(b), key(many), 9, [key(alice), key(carol)]),
  );
  await fails('not native', 'custom 19', [], createSyncNativeInstruction(key(b)));

  await both.same(
    'size',
    [
      {
        programId: tokenProgram,
        accounts: [readOnly(coin.address)],
        data: Uint8Array.of(tokenInstruction.getAccountDataSize),
      },
    ],
    alice,
  );
  await ok('to text', [], createAmountToUiAmountInstruction(key(coin), 12_345));
  await ok('from text', [], createUiAmountToAmountInstruction(key(coin), '12.345'));
  await fails(
    'from nonsense',
    'InvalidArgument',
    [],
    createUiAmountToAmountInstruction(key(coin), '12.3456'),
  );
  for (const data of [[], [3], [3, 1, 2], [6, 9, 0], [6, 0, 2], [12, 1], [25], [20, 1]]) {
    const accounts = [
      writable(a.address),
      writable(b.address),
      signer(alice.address),
      readOnly(coin.address),
    ];
    await both.same(
      `data ${data}`,
      [{ programId: tokenProgram, accounts, data: Uint8Array.from(data) }],
      alice,
    );
  }
  for (const account of [a, b, coin, many]) both.sameBytes(account.address);
});

test('lookup tables: made, extended, used, frozen, deactivated, closed', async () => {
  const [mine, yours] = [web3Key(alice), web3Key(bob)];
  const slot = () => both.ours.local.ledger.slots.now().slot;
  both.ours.skip(600);
  const [create, table] = AddressLookupTableProgram.createLookupTable({
    authority: mine,
    payer: mine,
    recentSlot: slot(),
  });
  both.watched.add(our(table));
  const [stale] = AddressLookupTableProgram.createLookupTable({
    authority: mine,
    payer: mine,
    recentSlot: slot() - 520,
  });
  const extend = (addresses: PublicKey[], authority = mine) =>
    AddressLookupTableProgram.extendLookupTable({ lookupTable: table, authority, payer: mine, addresses });
  const others = Array.from({ length: 20 }, (_, index) => web3Key(wallet(`other ${index}`)));
  const run = (what: string, ...list: TransactionInstruction[]) => both.same(what, classic(...list), alice);
  assert.equal(await run('stale slot', stale), 'instruction 0 InvalidInstructionData');
  assert.equal(await run('nothing there', extend(others)), 'instruction 0 InvalidAccountOwner');
  const wrong = {
    ...create,
    keys: create.keys.with(0, { pubkey: others[0]!, isSigner: false, isWritable: true }),
  };
  assert.equal(
    await run('another address', new TransactionInstruction(wrong)),
    'instruction 0 InvalidArgument',
  );
  assert.equal(await run('create', create), null);
  both.sameBytes(our(table));
  await run('create again', create);
  const freeze = AddressLookupTableProgram.freezeLookupTable({ lookupTable: table, authority: mine });
  const deactivate = AddressLookupTableProgram.deactivateLookupTable({ lookupTable: table, authority: mine });
  const close = AddressLookupTableProgram.closeLookupTable({
    lookupTable: table,
    authority: mine,
    recipient: yours,
  });
  await run('freeze an empty one', freeze);
  await run('extend by nothing', extend([]));
  assert.equal(await run('extend', extend([yours, ...others])), null);
  both.sameBytes(our(table));
  assert.equal(await run('extend more', extend(others)), null);
  both.sameBytes(our(table));
  assert.equal(
    await both.same('by another', classic(extend(others, yours)), alice, bob),
    'instruction 0 IncorrectAuthority',
  );
  await run('close an active one', close);

  const value = AddressLookupTableAccount.deserialize(
    Buffer.from(both.ours.local.ledger.accounts.get(our(table)).data),
  );
  const known = new AddressLookupTableAccount({ key: table, state: value });
  const use = (change: (bytes: Buffer) => void) => (blockhash: string) => {
    const pay = [yours, others[3]!].map((toPubkey) =>
      SystemProgram.transfer({ fromPubkey: mine, toPubkey, lamports: 1_000_000 }),
    );
    const message = new TransactionMessage({ payerKey: mine, recentBlockhash: blockhash, instructions: pay });
    const bytes = Buffer.from(message.compileToV0Message([known]).serialize());
    change(bytes);
    return serializeTransaction([signEd25519(alice.privateKey, bytes)], bytes);
  };
  both.watched.add(our(others[3]!));
  assert.equal(
    await both.sameWire(
      'use',
      use(() => {}),
    ),
    null,
  );
  // The places of the two addresses are the last bytes but one.
  const place = (bytes: Buffer) => bytes.length - 2;
  assert.equal(
    await both.sameWire(
      'use a place that is not there',
      use((bytes) => bytes.fill(200, place(bytes), place(bytes) + 1)),
    ),
    'InvalidAddressLookupTableIndex',
  );
  assert.equal(await run('deactivate', deactivate), null);
  both.sameBytes(our(table));
  await run('deactivate again', deactivate);
  await run('extend a deactivated one', extend(others));
  assert.equal(
    await both.sameWire(
      'use while it goes',
      use(() => {}),
    ),
    null,
  );
  assert.equal(await run('close too early', close), 'instruction 0 InvalidArgument');
  both.ours.skip(513);
  assert.equal(
    await both.sameWire(
      'use what is gone',
      use(() => {}),
    ),
    'AddressLookupTableNotFound',
  );
  assert.equal(await run('close', close), null);
  both.sameBytes(our(table));
  assert.equal(
    await both.sameWire(
      'use what is closed',
      use(() => {}),
    ),
    'AddressLookupTableNotFound',
  );

  const [again, frozen] = AddressLookupTableProgram.createLookupTable({
    authority: mine,
    payer: mine,
    recentSlot: slot(),
  });
  const kept = { lookupTable: frozen, authority: mine };
  const fill = AddressLookupTableProgram.extendLookupTable({ ...kept, payer: mine, addresses: others });
  assert.equal(await run('create', again), null);
  assert.equal(await run('fill and freeze', fill, AddressLookupTableProgram.freezeLookupTable(kept)), null);
  both.sameBytes(our(frozen));
  assert.equal(await run('extend what is frozen', fill), 'instruction 0 Immutable');
  await run(
    'close what is frozen',
    AddressLookupTableProgram.closeLookupTable({ ...kept, recipient: yours }),
  );
});

test('tokens that were sent to the associated account of an associated account come back', async () => {
  const [outer, inner] = [wallet('outer coin'), wallet('inner coin')];
  const key = web3Key;
  for (const coin of [outer, inner]) {
    await both.same(
      'mint',
      [
        createAccount(alice.address, coin.address, rentExemptMinimum(MINT_SIZE), MINT_SIZE, tokenProgram),
        ...classic(createInitializeMint2Instruction(key(coin), 2, key(alice), null)),
      ],
      alice,
      coin,
    );
  }
  const between = getAssociatedTokenAddressSync(key(outer), key(alice));
  const nested = getAssociatedTokenAddressSync(key(inner), between, true);
  const mine = getAssociatedTokenAddressSync(key(inner), key(alice));
  for (const account of [between, nested, mine]) both.watched.add(our(account));
  const open = (account: PublicKey, owner: PublicKey, coin: Keypair) =>
    createAssociatedTokenAccountInstruction(key(alice), account, owner, key(coin));
  await both.same(
    'open',
    classic(open(between, key(alice), outer), open(nested, between, inner), open(mine, key(alice), inner)),
    alice,
  );
  await both.same('lost', classic(createMintToInstruction(key(inner), nested, key(alice), 77)), alice);
  const recover = (destination: PublicKey) =>
    createRecoverNestedInstruction(nested, key(inner), destination, between, key(outer), key(alice));
  assert.equal(await both.same('elsewhere', classic(recover(between)), alice), 'instruction 0 InvalidSeeds');
  assert.equal(await both.same('recover', classic(recover(mine)), alice), null);
  for (const account of [nested, mine]) both.sameBytes(our(account));
  assert.equal(both.sameBytes(our(mine)).readBigUInt64LE(64), 77n);
});
