/** The action routes: create, price, status, sign (interface §4.2). */
import { hash } from 'node:crypto';
import { Type } from 'typebox';
import { MAX_PAYERS } from '../../credits/credits.ts';
import { unsignedTransaction } from '../../formats/solana/transaction.ts';
import type { App } from '../../kernel/http/app.ts';
import { keepBodies } from '../../kernel/http/raw-body.ts';
import { normalizeAddress } from '../../wallets/address.ts';
import { createAction } from '../actions/create.ts';
import { readOwnerProof, verifyOwnerProof } from '../actions/owner-proof.ts';
import { signAction } from '../actions/sign.ts';
import { type Action, findAction } from '../actions/store.ts';
import { actionNotFound, badRequest, unknownAction } from '../errors.ts';
import { type ActionRequest, isPurchaseAction, isRecordRequest, toActionName } from '../requests/action.ts';
import { type Fields, listOf, mergeFields } from '../requests/fields.ts';
import { readActionRequest } from '../requests/read-action.ts';
import { acting, type NamesContext } from './context.ts';
import { requirePayer } from './request-signer.ts';
import { envelope, errorText, ownerHeaders } from './schemas.ts';

const maxBody = 64 * 1024;
const errors = { 400: errorText, 401: errorText, 402: errorText, 404: errorText, 503: errorText };

export function arnsActionRoutes(app: App, context: NamesContext): void {
  const bodyOf = keepBodies(app);

  app.post(
    '/arns/actions/:action',
    {
      bodyLimit: maxBody,
      schema: {
        summary: 'Create and, where the service holds the authority, perform an action on a name',
        params: Type.Object({ action: Type.String() }),
        headers: ownerHeaders,
        querystring: Type.Unknown(),
        body: Type.Optional(Type.Unknown()),
        response: { 200: envelope, 409: errorText, ...errors },
      },
      config: { acts: true },
    },
    async (request) => {
      const name = toActionName(request.params.action);
      if (name === undefined) throw unknownAction(request.params.action.slice(0, 60));
      const actions = acting(context);
      const { signatures } = context;
      const signer = await requirePayer(request, signatures, bodyOf(request));
      const { wallet: payer, uuid: payerNonce } = signer;
      const fields = mergeFields(request.query, request.body);
      const asked = readActionRequest(name, fields, actions.key.address);
      const paidBy = readPayers(fields);
      const ownerFirst = readSignOrder(fields) === 'owner-first';
      const provenOwner = isRecordRequest(asked)
        ? verifyOwnerProof(asked, readOwnerProof(request.headers), signatures)
        : undefined;
      const claim = claimOf(payer.address, payerNonce, asked, paidBy, ownerFirst);
      const claimed = await signatures.claim(request, signer, claim, provenOwner?.keys);
      const { action, repeated } = await createAction(actions, {
        request: asked,
        payer,
        payerNonce,
        claimed,
        paidBy,
        ownerFirst,
        provenOwner,
      });
      const answer = envelopeOf(action, actions.key.address, true);
      return repeated && action.status === 'completed' ? { ...answer, alreadyCompleted: true } : answer;
    },
  );

  app.get(
    '/arns/actions/:action/price',
    {
      schema: {
        summary: 'Preview the winc that creating an action debits',
        params: Type.Object({ action: Type.String() }),
        response: { 200: Type.Object({ action: Type.String(), wincQty: Type.String() }), ...errors },
      },
    },
    async (request, reply) => {
      const action = toActionName(request.params.action);
      if (action === undefined) throw unknownAction(request.params.action.slice(0, 60));
      if (isPurchaseAction(action)) {
        throw badRequest(`${action} is priced by /arns/price/{intent}/{name}`);
      }
      reply.header('cache-control', 'max-age=60');
      return { action, wincQty: (await context.prices.action(action)).toString() };
    },
  );

  app.get(
    '/arns/actions/:action',
    {
      schema: {
        summary: 'Read how an action stands, by its nonce',
        params: Type.Object({ action: Type.String({ description: 'the nonce of the action' }) }),
        response: { 200: envelope, ...errors },
      },
    },
    async (request, reply) => {
      const actions = acting(context);
      const action = await findAction(actions.sql, request.params.action);
      if (action === undefined) throw actionNotFound();
      reply.header('cache-control', 'no-store');
      return envelopeOf(action, actions.key.address, await isSignable(context, action));
    },
  );

  app.post(
    '/arns/actions/:action/sign',
    {
      bodyLimit: maxBody,
      schema: {
        summary: 'Submit the transaction of an action, signed by the owner of the ANT',
        params: Type.Object({ action: Type.String({ description: 'the nonce of the action' }) }),
        body: Type.Optional(Type.Unknown()),
        response: { 200: envelope, 409: errorText, ...errors },
      },
    },
    async (request) => {
      const actions = acting(context);
      const fields = mergeFields(undefined, request.body);
      const { action, alreadyCompleted } = await signAction(actions, request.params.action, {
        transaction: fields.transaction,
        serviceFirst: fields.transaction === undefined && readSignOrder(fields) === 'service-first',
      });
      const answer = envelopeOf(action, actions.key.address, action.status === 'awaiting');
      return alreadyCompleted ? { ...answer, alreadyCompleted } : answer;
    },
  );
}

/** Names a request by everything that it asks for: who pays, what is done, whose credits are spent, who signs first. */
function claimOf(
  payer: string,
  nonce: string,
  request: ActionRequest,
  paidBy: readonly string[],
  ownerFirst: boolean,
): string {
  // What does not say the order is named as it was before there was one.
  const all = [payer, nonce, request, paidBy, ...(ownerFirst ? ['owner-first'] : [])];
  return hash('sha256', JSON.stringify(all), 'base64url');
}

/** Undefined is the service first, as published clients expect it. */
function readSignOrder({ signOrder }: Fields): 'owner-first' | 'service-first' | undefined {
  if (signOrder === undefined || signOrder === 'owner-first' || signOrder === 'service-first') {
    return signOrder;
  }
  throw badRequest('signOrder must be owner-first or service-first');
}

function readPayers(fields: Fields): string[] {
  const list = listOf(fields, 'paidBy') ?? [];
  if (list.length > MAX_PAYERS) throw badRequest(`paidBy may name at most ${MAX_PAYERS} addresses`);
  return list.map((text) => {
    const address = normalizeAddress(text);
    if (address === undefined) throw badRequest('paidBy must be addresses');
    return address;
  });
}

/** Whether the blockhash of an action still lives; where the chain does not say, it may. */
async function isSignable({ actions }: NamesContext, { status, owned }: Action): Promise<boolean> {
  if (actions === undefined || owned === undefined || status !== 'awaiting') return false;
  try {
    return (await actions.chain.finalized()).height <= owned.lastValidBlockHeight;
  } catch {
    return true;
  }
}

/** `pending` is said only of what needs no signature and is not finished: nobody should try to sign it. */
const publicStatus: Readonly<Record<Action['status'], string>> = {
  reserved: 'pending',
  sending: 'pending',
  awaiting: 'awaiting-signature',
  signed: 'awaiting-signature',
  spawned: 'awaiting-signature',
  completed: 'completed',
  expired: 'expired',
  failed: 'failed',
};

/**
 * The action envelope (interface §2), as it is answered by create, sign and status. Absent members are left out.
 * `signable`: whether the transaction may still be signed, so that it is worth handing out: base64 of the wire with one
 * empty slot, the owner's; where the owner signs first, all slots are empty. `keptWincQty`: what was spent on the chain for a failed action and is not returned.
 */
function envelopeOf(action: Action, feePayer: string, signable: boolean) {
  const { owned, request } = action;
  const open = owned !== undefined && publicStatus[action.status] === 'awaiting-signature';
  return {
    nonce: action.nonce,
    action: request.action,
    status: publicStatus[action.status],
    wincQty: action.winc.toString(),
    ...('name' in request && { name: request.name }),
    ...('owner' in request && { ownerAddress: request.owner }),
    ...(action.antId !== null && { antId: action.antId }),
    ...(action.messageId !== null && { messageId: action.messageId }),
    ...(open &&
      signable &&
      action.status === 'awaiting' && {
        transaction: (action.ownerFirst ? unsignedTransaction(owned.wire) : owned.wire).toString('base64'),
        feePayer,
        lastValidBlockHeight: String(owned.lastValidBlockHeight),
      }),
    ...(open && action.ownerFirst && { signOrder: 'owner-first' }),
    ...(open && { expiresAt: new Date(action.expiresAt).toISOString() }),
    ...(action.failedAt !== null && { failedDate: new Date(action.failedAt).toISOString() }),
    ...(action.failedReason !== null && { failedReason: action.failedReason }),
    ...(action.failedAt !== null && action.keptWinc > 0n && { keptWincQty: action.keptWinc.toString() }),
  };
}
