/** Actions and card purchases that are not finished, with what each waits for: for operators. */
import { Type } from 'typebox';
import type { OpenNameAction } from '../../formats/admin-answers.ts';
import { type Page, type PageRequest, pageOf } from '../../kernel/admin/paging.ts';
import { selection } from '../../storage/sql/columns.ts';
import type { Sql, SqlValue } from '../../storage/sql/sql.ts';
import { amountText, readInteger, rowReader, textOrNull } from '../../storage/sql/typed-rows.ts';

const common = {
  name: textOrNull,
  antId: textOrNull,
  winc: amountText,
  status: Type.String(),
  serviceSignature: textOrNull,
  createdAt: Type.Integer(),
  updatedAt: Type.Integer(),
  expiresAt: Type.Integer(),
};
const storedAction = Type.Object({
  ...common,
  nonce: Type.String(),
  action: Type.String(),
  payer: Type.String(),
  owner: textOrNull,
  signature: textOrNull,
});
const storedPurchase = Type.Object({
  ...common,
  nonce: Type.String(),
  purchase: Type.String(),
  address: Type.String(),
  stage: Type.String(),
});
const readAction = rowReader('a name action', storedAction);
const readPurchase = rowReader('a name purchase', storedPurchase);

const openActions = "arns_action WHERE status IN ('reserved', 'sending', 'awaiting', 'signed', 'spawned')";
const openPurchases = "arns_purchase WHERE status = 'PENDING'";

/** The newest first. */
export async function listOpenActions(
  sql: Sql,
  { before, limit }: PageRequest,
  now: number,
): Promise<Page<OpenNameAction>> {
  const older = before === undefined ? '' : 'AND (created_at, nonce) < (?, ?)';
  const values: SqlValue[] = before === undefined ? [] : [before.at, before.id];
  const read = (columns: object, rest: string) =>
    sql.all(
      `SELECT ${selection(Object.keys(columns))} FROM ${rest} ${older}
       ORDER BY created_at DESC, nonce DESC LIMIT ?`,
      ...values,
      limit + 1,
    );
  const actions = (await read(storedAction.properties, openActions)).map(readAction);
  const purchases = (await read(storedPurchase.properties, openPurchases)).map(readPurchase);
  const found = [
    ...actions.map(({ nonce, signature, serviceSignature, ...row }): OpenNameAction => {
      const why = whyAction({ ...row, signature, serviceSignature }, now);
      return { ...row, id: nonce, paidBy: 'credits', why };
    }),
    ...purchases.map(
      ({ nonce, stage, purchase, address, serviceSignature, ...row }): OpenNameAction => ({
        ...row,
        ...{ id: nonce, paidBy: 'card', action: purchase, payer: address, owner: null, status: stage },
        why: whyPurchase({ stage, antId: row.antId, serviceSignature, expiresAt: row.expiresAt }, now),
      }),
    ),
  ].sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
  return pageOf(found, limit, ({ createdAt, id }) => ({ at: createdAt, id }));
}

export async function countOpenActions(sql: Sql): Promise<number> {
  const counts = await Promise.all(
    [openActions, openPurchases].map((rest) => sql.get(`SELECT COUNT(*) AS n FROM ${rest}`)),
  );
  return counts.reduce((sum, row) => sum + readInteger(row?.n), 0);
}

interface ActionFacts {
  readonly status: string;
  readonly owner: string | null;
  readonly antId: string | null;
  readonly signature: string | null;
  readonly serviceSignature: string | null;
  readonly expiresAt: number;
}

function whyAction(
  { status, owner, antId, signature, serviceSignature, expiresAt }: ActionFacts,
  now: number,
): string {
  const until = clock(expiresAt);
  switch (status) {
    case 'reserved':
      return 'It is paid for, and the service has not acted yet.';
    case 'sending':
      return `The transaction ${serviceSignature} of the service is on its way to the chain.`;
    case 'awaiting':
      return now <= expiresAt
        ? `It waits for ${owner ?? 'its owner'} to sign, until ${until}.`
        : `Nobody signed it by ${until}: it ends, and is paid back, once the chain can no longer confirm it.`;
    case 'signed':
      return `The signed transaction ${signature} of its owner is on its way to the chain.`;
    default:
      return `The token ${antId} exists, and the name is being registered, until ${until} at the latest.`;
  }
}

interface PurchaseFacts extends Pick<ActionFacts, 'antId' | 'serviceSignature' | 'expiresAt'> {
  readonly stage: string;
}

function whyPurchase({ stage, antId, serviceSignature, expiresAt }: PurchaseFacts, now: number): string {
  const late = now <= expiresAt ? '' : ` It should have been done by ${clock(expiresAt)}.`;
  return `${stageWords(stage, antId, serviceSignature)}${late}`;
}

function stageWords(stage: string, antId: string | null, signature: string | null): string {
  switch (stage) {
    case 'paid':
      return 'The card was charged, and nothing was done on the chain yet.';
    case 'spawning':
      return `The transaction ${signature} that makes the token is on its way to the chain.`;
    case 'spawned':
      return `The token ${antId} exists, and the registry is paid next.`;
    case 'paying':
      return `The transaction ${signature} that pays the registry is on its way to the chain.`;
    default:
      return `The name is bought, and the token ${antId} is being handed to the wallet of the buyer.`;
  }
}

const clock = (at: number): string => `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
