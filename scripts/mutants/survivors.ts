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
const onlySooner = 'only how soon the standbys are asked; what is awaited comes by itself';
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
  { file: 'src/payments/card/ledger-id.ts', was: 'known !== undefined', becomes: 'false', reason: slower },
  {
    file: 'src/payments/card/worker.ts',
    was: 'quote === undefined || ticket === undefined',
    becomes: '&&',
    reason: 'both are missing where there is no such quote',
  },
  { file: 'src/payments/chain/solana.ts', was: 'text.length > 88', becomes: 'false', reason: slower },
  {
    file: 'src/payments/returns/rows.ts',
    was: 'await lockQuote(tx, row.quoteId);',
    reason: atOnce,
  },
  {
    file: 'src/payments/x402/quote-memory.ts',
    was: 'asked.until > now',
    becomes: 'asked.until >= now',
    reason: 'only memory: what has lapsed is passed over where it is read',
  },
  {
    file: 'src/payments/x402/read-payment.ts',
    was: 'payer === undefined',
    becomes: 'false',
    reason: forTypes,
  },
  { file: 'src/storage/sql/many-rows.ts', was: 'text === undefined', becomes: 'true', reason: slower },
  {
    file: 'src/storage/sql/postgres/connection.ts',
    was: 'warnOfTimeout(row.role, options);',
    reason: onlyWords,
  },
  {
    file: 'src/storage/sql/postgres/migrate.ts',
    was: "holder.since === null ? ''",
    reason: onlyWords,
  },
  {
    file: 'src/storage/sql/postgres/primary.ts',
    was: 'answers = true;',
    reason: 'only slower: the connection is made again',
  },
  { file: 'src/storage/sql/postgres/standbys.ts', was: 'this.#waiting += 1', reason: onlySooner },
  { file: 'src/storage/sql/postgres/standbys.ts', was: 'this.#waiting -= 1', reason: onlySooner },
  { file: 'src/storage/sql/postgres/standbys.ts', was: 'this.#hurry.resolve();', reason: onlySooner },
  {
    file: 'src/storage/sql/postgres/statements.ts',
    was: 'kept !== undefined',
    becomes: 'false',
    reason: slower,
  },
  {
    file: 'src/storage/sql/postgres/statements.ts',
    was: 'this.#prepared.set(statement, made);',
    reason: slower,
  },
  {
    file: 'src/storage/sql/sqlite/checkpoints.ts',
    was: 'this.#batches += 1;',
    becomes: 'this.#batches -= 1;',
    reason: 'every thirty-second is the same counted down',
  },
  {
    file: 'src/storage/sql/sqlite/checkpoints.ts',
    was: "await ask(this.#path, 'copy');",
    reason: 'only slower: the second checkpoint copies all, and writers wait for it longer',
  },
  {
    file: 'src/storage/sql/sqlite/checkpoints.ts',
    was: 'isEmpty ? this.#framesBetween : frames + this.#framesBetween',
    reason: 'only when the next checkpoint is tried: none loses anything, and the log stays bounded',
  },
  {
    file: 'src/storage/sql/sqlite/checkpoints.ts',
    was: 'major === 3 && minor >= 51',
    becomes: '||',
    reason: 'differs for a SQLite older than the one that Node brings along',
  },
  {
    file: 'src/storage/sql/sqlite/database.ts',
    was: 'count % rowsPerTurn === 0',
    becomes: 'true',
    reason: slower,
  },
  {
    file: 'src/storage/sql/sqlite/group-commit.ts',
    was: 'Math.min(pause * 2, lookMs.longest)',
    reason: 'only slower: the lock is looked at less often',
  },
  {
    file: 'src/storage/sql/postgres/standbys.ts',
    was: '!isStandby',
    becomes: 'false',
    reason: 'its answer how far it is says so too',
  },
  {
    file: 'src/payments/card/card-payments.ts',
    was: "isNew && state === 'waiting'",
    becomes: 'true',
    reason: 'only woken in vain',
  },
  { file: 'src/payments/card/provider.ts', was: 'mostPages * 100', reason: onlyWords },
  {
    file: 'src/payments/x402/payment-rows.ts',
    was: 'ids.length === 0',
    becomes: 'false',
    reason: 'only slower on SQLite; PostgreSQL refuses an empty list, and the same test says so there',
  },
  {
    file: 'src/payments/x402/payment-rows.ts',
    was: "attempts = ? AND state = 'open' AND leased_until > 0",
    becomes: "(1 = 1 OR state = 'open')",
    reason: 'what has ended has no lease',
  },
  {
    file: 'src/storage/sql/lease.ts',
    was: 'WHERE name = ? AND holder = ? AND until = ?',
    becomes: '(1 = 1 OR holder = ?)',
    reason: 'who takes it meanwhile takes it for another time',
  },
  { file: 'src/storage/sql/open.ts', was: 'log && { log }', becomes: 'log || { log }', reason: onlyWords },
  { file: 'src/storage/sql/postgres/connection.ts', was: 'hasWarned', reason: onlyWords },
  {
    file: 'src/storage/sql/postgres/database.ts',
    was: 'await sleep(outcomeRetryMs);',
    reason: 'only busier: it is asked more often',
  },
  {
    file: 'src/storage/sql/postgres/standbys.ts',
    was: 'await pause(Math.min(soonMs, left));',
    reason: onlySooner,
  },
  { file: 'src/storage/sql/postgres/standbys.ts', was: 'this.#waiting > 0', reason: onlySooner },
  {
    file: 'src/storage/sql/postgres/standbys.ts',
    was: 'isLost = false;',
    reason: 'only slower: the connection is made again',
  },
  {
    file: 'src/storage/sql/sqlite/checkpoints.ts',
    was: 'this.#enabled',
    becomes: 'true',
    reason: 'differs for a SQLite older than the one that Node brings along',
  },
  {
    file: 'src/storage/sql/sqlite/checkpoints.ts',
    was: 'this.#batches += 1;',
    becomes: ';',
    reason: 'only busier: the log is looked at after each batch',
  },
  {
    file: 'src/storage/sql/sqlite/checkpoints.ts',
    was: 'frames < this.#due',
    becomes: 'false',
    reason: 'only busier: the log is copied sooner',
  },
  {
    file: 'src/storage/sql/sqlite/checkpoints.ts',
    was: 'frames < this.#toldAt',
    becomes: '<=',
    reason: onlyWords,
  },
  {
    file: 'src/storage/sql/sqlite/connection.ts',
    was: 'this.#statements.clear();',
    reason: 'only memory, which is freed with the connection',
  },
  { file: 'src/storage/sql/sqlite/connection.ts', was: 'this.#statements.set(text, made);', reason: slower },
  {
    file: 'src/storage/sql/sqlite/group-commit.ts',
    was: 'this.#head === this.#queue.length || this.#head > 4_096',
    becomes: '&&',
    reason: 'only memory: what was handed out is let go of later',
  },
  {
    file: 'src/storage/sql/sqlite/group-commit.ts',
    was: 'this.#hasOthers',
    becomes: 'true',
    reason: 'only slower: a sync that is not needed',
  },
  {
    file: 'src/storage/sql/sqlite/group-commit.ts',
    was: 'performing === undefined',
    becomes: 'false',
    reason: 'cannot be: the first work is there before any timer runs',
  },
  {
    file: 'src/storage/sql/sqlite/group-commit.ts',
    was: 'return this.#wrote;',
    becomes: 'return true;',
    reason: 'only slower: a sync that is not needed',
  },
  { file: 'src/storage/sql/sqlite/integrity.ts', was: '4 * 1024', reason: slower },
  {
    file: 'src/payments/card/ledger-id.ts',
    was: 'SELECT id FROM card_ledger WHERE only_row = 1',
    reason: 'the table has one row',
  },
  { file: 'src/payments/card/unknown-payments.ts', was: 'quote?.failure ?', reason: onlyWords },
  {
    file: 'src/payments/card/sync.ts',
    was: 'appliedTicket > ticket',
    becomes: '>=',
    reason: 'no ticket is applied twice',
  },
  {
    file: 'src/payments/returns/check.ts',
    was: "WHERE returned <> '0' AND id > ?",
    becomes: "(1 = 1 OR returned <> '0')",
    reason: slower,
  },
  {
    file: 'src/payments/x402/settlements.ts',
    was: 'row.purchase === undefined || row.reserved === undefined',
    becomes: '&&',
    reason: 'what was credited has both or neither',
  },
  {
    file: 'src/payments/x402/x402-payments.ts',
    was: 'reserve < bought',
    becomes: 'reserve <= bought',
    reason: 'equal amounts are one amount',
  },
  {
    file: 'src/payments/x402/read-payment.ts',
    was: 'throw error;',
    reason: 'cannot be: nothing else is thrown there',
  },
  {
    file: 'src/storage/sql/many-rows.ts',
    was: 'size * width > maxValues',
    becomes: '>=',
    reason: 'the same rows in other batches',
  },
  { file: 'src/storage/sql/many-rows.ts', was: 'keys.length <= largestArray', reason: slower },
  {
    file: 'src/storage/sql/many-rows.ts',
    was: 'keys.length <= largestSelect',
    becomes: 'false',
    reason: slower,
  },
  {
    file: 'src/storage/sql/postgres/database.ts',
    was: '2 ** attempt * Math.random()',
    reason: 'only slower: the pause before another attempt',
  },
  {
    file: 'src/storage/sql/postgres/migrate.ts',
    was: 'SELECT activity.pid, activity.application_name AS application',
    reason: onlyWords,
  },
  { file: 'src/storage/sql/postgres/standbys.ts', was: 'left <= 0', becomes: 'left < 0', reason: onlySooner },
  { file: 'src/storage/sql/sqlite/database.ts', was: 'bytes / 2 ** 20', reason: onlyWords },
  {
    file: 'src/storage/sql/sqlite/group-commit.ts',
    was: '0.5 + Math.random()',
    reason: 'only busier: the lock is looked at more often',
  },
  {
    file: 'src/credits/ledger/unite.ts',
    was: 'done !== undefined',
    becomes: 'done === undefined',
    reason: slower,
  },
  {
    file: 'src/credits/ledger/unite.ts',
    was: 'AND NOT EXISTS (SELECT 1 FROM credits_accounts WHERE same_as = one.address)',
    becomes: '(1 = 1 OR NOT EXISTS',
    reason: 'only slower: what is united is united again, which changes nothing',
  },
  { file: 'src/credits/ledger/unite.ts', was: 'wallets.length > 0', becomes: '>=', reason: slower },
  {
    file: 'src/credits/ledger/unite.ts',
    was: 'one.form < other.form',
    becomes: '<=',
    reason: 'no form is listed twice',
  },
];
