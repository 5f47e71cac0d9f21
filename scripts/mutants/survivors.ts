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
    file: 'src/credits/ledger/balance.ts',
    was: 'SELECT (SELECT balance FROM credits_accounts WHERE address = ?) AS own',
    becomes: '(1 = 1 OR',
    reason: 'only slower: wallets that share nothing are read the way of those that do',
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
];
