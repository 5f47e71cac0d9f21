/**
 * Mutants that may live, each with the reason: nothing that anybody was promised differs. A survivor that is not listed
 * here fails `npm run mutate`.
 */
import type { Mutant } from './make.ts';

export interface Survivor {
  readonly file: string;
  /** Part of what stands there, with single spaces. */
  readonly was: string;
  /** Part of what it becomes; any change of it where this is not given. */
  readonly becomes?: string;
  readonly reason: string;
}

export function isMeant({ file, was, becomes = '' }: Survivor, mutant: Mutant): boolean {
  return mutant.file === file && mutant.was.includes(was) && mutant.becomes.includes(becomes);
}

const slower = 'only slower: the longer way comes to the same';
const held =
  'the row was read under the same lock a moment before; a second look for a caller that breaks that rule';
const forTypes = 'cannot be: it is there for the types alone';
const onlyWords = 'only words for people differ';
const atOnce = 'needs two transactions at the same moment, which SQLite does not have';

export const survivors: readonly Survivor[] = [
  { file: 'src/credits/ledger/payers.ts', was: 'named.length === 0', becomes: 'false', reason: slower },
  { file: 'src/credits/ledger/payers.ts', was: 'rest === 0n', becomes: 'false', reason: slower },
  {
    file: 'src/credits/ledger/payers.ts',
    was: 'a < b',
    becomes: 'a <= b',
    reason: 'equal amounts are one amount',
  },
  { file: 'src/credits/ledger/refund.ts', was: 'shares.length === 0', becomes: 'false', reason: slower },
  { file: 'src/credits/ledger/approvals.ts', was: 'rows.length === 0', becomes: 'false', reason: slower },
  {
    file: 'src/credits/ledger/approvals.ts',
    was: 'line += 2;',
    becomes: 'line -= 2;',
    reason: 'the lines of a change are only told apart by their numbers',
  },
  {
    file: 'src/credits/ledger/approvals.ts',
    was: "WHERE id = ? AND status = 'active'",
    becomes: "(1 = 1 OR status = 'active')",
    reason: held,
  },
  {
    file: 'src/credits/ledger/payers.ts',
    was: "WHERE id = ? AND status = 'active'",
    becomes: "(1 = 1 OR status = 'active')",
    reason: held,
  },
  {
    file: 'src/credits/ledger/accounts.ts',
    was: 'SET notice_winc = ? WHERE address = ? AND same_as IS NULL',
    becomes: '(1 = 1 OR same_as IS NULL)',
    reason: 'callers name the account, which is no form of another',
  },
  { file: 'src/credits/ledger/accounts.ts', was: 'SET balance = ? WHERE address = ?', reason: held },
  {
    file: 'src/credits/ledger/unite.ts',
    was: "SET same_as = ?, balance = '0' WHERE address = ? AND same_as IS NULL",
    becomes: '(1 = 1 OR same_as IS NULL)',
    reason: held,
  },
  {
    file: 'src/credits/ledger/unite.ts',
    was: 'SELECT address FROM credits_accounts WHERE address IN',
    reason: held,
  },
  {
    file: 'src/credits/ledger/open-account.ts',
    was: '(await accountOfAddress(tx, account)) === account',
    reason: atOnce,
  },
  {
    file: 'src/credits/ledger/spend.ts',
    was: 'noticeAt === 0n || own === undefined',
    becomes: '&&',
    reason: 'nobody falls below a notice at nothing',
  },
  { file: 'src/credits/ledger/spend.ts', was: 'balance === undefined', becomes: 'false', reason: held },
  {
    file: 'src/credits/ledger/credit.ts',
    was: 'WHERE change_id = ? AND reason = ? AND line = 0',
    becomes: '(1 = 1 OR line = 0)',
    reason: 'a credit has one line; the number is there for the index',
  },
  {
    file: 'src/credits/ledger/self-check.ts',
    was: '(SELECT MAX(sequence) FROM credits_entries WHERE account =',
    becomes: 'FROM credits_entries WHERE (1 = 1 OR account =',
    reason:
      'numbers of entries only grow: what is written after the reading lies beyond the last of any account',
  },
  {
    file: 'src/credits/signatures/request-signatures.ts',
    was: 'Array.isArray(signatureType)',
    becomes: 'false',
    reason: forTypes,
  },
  {
    file: 'src/credits/signatures/request-signatures.ts',
    was: 'signatureHash === undefined',
    becomes: 'false',
    reason: 'cannot be: a signature that holds can be read',
  },
  {
    file: 'src/credits/signatures/request-signatures.ts',
    was: 'this.#claimed.has(request.raw)',
    becomes: 'false',
    reason: 'only slower: what is claimed is found in the table',
  },
  {
    file: 'src/credits/signatures/request-signatures.ts',
    was: 'this.#claimed.add(request.raw);',
    reason: 'only slower: what is claimed is found in the table',
  },
  {
    file: 'src/credits/signatures/request-signatures.ts',
    was: 'this.#forms.set(address, forms);',
    reason: slower,
  },
  {
    file: 'src/names/actions/create.ts',
    was: 'before !== undefined',
    becomes: 'false',
    reason: 'only slower: it is asked again with the lock held',
  },
  {
    file: 'src/names/actions/create.ts',
    was: 'other === undefined',
    reason: 'needs one nonce for two names at the same moment, between two statements',
  },
  {
    file: 'src/names/actions/create.ts',
    was: '(await findAction(context.sql, payerNonce)) !== undefined',
    becomes: 'false',
    reason: 'only slower: the table has each nonce once, and refuses it',
  },
  {
    file: 'src/names/actions/check-action.ts',
    was: 'list < surcharge',
    becomes: 'list <= surcharge',
    reason: 'equal amounts are one amount',
  },
  {
    file: 'src/names/actions/finish.ts',
    was: "action?.status !== 'sending'",
    becomes: 'false',
    reason: 'an action ends once: to settle one that another process has ended meanwhile changes nothing',
  },
  {
    file: 'src/names/actions/open-list.ts',
    was: 'a.id < b.id',
    becomes: 'a.id <= b.id',
    reason: 'no two have one id',
  },
  { file: 'src/names/actions/perform.ts', was: 'ownerAcl === undefined ||', reason: forTypes },
  { file: 'src/names/actions/perform.ts', was: 'target === undefined || from', reason: forTypes },
  {
    file: 'src/names/actions/perform.ts',
    was: 'isChainFailure(error)',
    becomes: 'false',
    reason: onlyWords,
  },
  {
    file: 'src/names/actions/owner-proof.ts',
    was: 'bytes.length === length',
    becomes: 'true',
    reason: 'what has another length is refused when it is verified',
  },
  { file: 'src/names/actions/sign.ts', was: "!('owner' in request)", becomes: 'false', reason: forTypes },
  {
    file: 'src/names/actions/sign.ts',
    was: 'error instanceof FormatError',
    becomes: 'true',
    reason: 'cannot be: bytes that cannot be read fail with this error alone',
  },
  {
    file: 'src/names/actions/sign.ts',
    was: 'throw error;',
    reason: 'cannot be: bytes that cannot be read fail with another error, which is caught',
  },
  {
    file: 'src/names/actions/store.ts',
    was: 'INSERT INTO arns_payer (payer)',
    reason: atOnce,
  },
  {
    file: 'src/names/actions/renew.ts',
    was: 'error.status >= 500',
    becomes: 'error.status > 500',
    reason: 'no error of names has the status 500',
  },
  {
    file: 'src/upload/bundler/after-restore.ts',
    was: 'upload_restores.since < excluded.since',
    becomes: 'upload_restores.since <= excluded.since',
    reason: 'equal moments are one moment',
  },
  {
    file: 'src/upload/bundler/after-restore.ts',
    was: "WHERE state = 'planned' AND bundle IN",
    becomes: "WHERE (1 = 1 OR state = 'planned') AND bundle IN",
    reason: 'all items of a bundle that is planned are planned',
  },
  { file: 'src/upload/bundler/bundle-leases.ts', was: 'most > 0', becomes: 'most >= 0', reason: slower },
  {
    file: 'src/upload/bundler/bundle-leases.ts',
    was: 'WHERE plan = ? AND holder = ?',
    becomes: '(1 = 1 OR plan = ?)',
    reason: 'a holder holds one bundle: it has another name each time that one is taken',
  },
  {
    file: 'src/upload/bundler/bundle-leases.ts',
    was: 'this.#held.get(plan) === held',
    becomes: 'true',
    reason: 'needs another to take the bundle between a commit and the answer to it',
  },
  {
    file: 'src/upload/bundler/bundle-leases.ts',
    was: 'this.#held.get(plan) !== held',
    becomes: 'false',
    reason: 'only slower: what it does not hold any more it neither forgets nor gives back',
  },
  {
    file: 'src/upload/bundler/bundle-reader.ts',
    was: '8 * 1024 * 1024',
    becomes: '8 * 1024 / 1024',
    reason: slower,
  },
  { file: 'src/upload/bundler/bundle-reader.ts', was: '8 * 1024', becomes: '8 / 1024', reason: slower },
  {
    file: 'src/upload/bundler/bundle-reader.ts',
    was: 'size > streamedBytes',
    becomes: 'size >= streamedBytes',
    reason: 'loaded or streamed, the bytes are the same',
  },
  {
    file: 'src/upload/bundler/bundle-reader.ts',
    was: 'size <= mostKeptOfOne',
    becomes: 'size < mostKeptOfOne',
    reason: slower,
  },
  {
    file: 'src/upload/bundler/bundle-reader.ts',
    was: 'kept !== undefined',
    becomes: 'true',
    reason: 'to keep nothing is not to keep it',
  },
  {
    file: 'src/upload/bundler/bundle-reader.ts',
    was: 'payload.length > 0',
    becomes: 'payload.length >= 0',
    reason: slower,
  },
  {
    file: 'src/upload/bundler/misses.ts',
    was: 'SET misses = 0 WHERE bundle = ? AND misses > 0 AND position <',
    becomes: 'misses >= 0',
    reason: 'only slower: what was not missed is forgotten too',
  },
  {
    file: 'src/upload/bundler/plan.ts',
    was: 'sums === undefined || sums.items === 0',
    reason: atOnce,
  },
  {
    file: 'src/upload/bundler/plan.ts',
    was: 'found === undefined || found.oldest === null',
    becomes: 'false',
    reason: slower,
  },
  { file: 'src/upload/bundler/plan.ts', was: 'return false;', becomes: 'return true;', reason: slower },
  {
    file: 'src/upload/bundler/wallet-of-before.ts',
    was: 'before !== undefined',
    becomes: 'true',
    reason: slower,
  },
];
