/** `GET /tx/:id/proof`: what a stranger needs to verify a receipt, an item and its place on the chain without asking anybody. */
import { Type } from 'typebox';
import { itemProof } from '../../formats/ans104/item-proof.ts';
import { isTxId } from '../../formats/base64url.ts';
import type { App } from '../../kernel/http/server.ts';
import { translateError, uploadErrors } from '../errors.ts';
import { findItem } from '../items/item-rows.ts';
import type { BlockedItems } from '../items/refuse-blocked.ts';
import { type ProofDeps, proveItem } from '../proofs/item-proof.ts';

const params = Type.Object({ id: Type.String({ description: 'Data item id' }) });

interface TxProofDeps extends ProofDeps {
  /** What is not given back. */
  readonly blocked: BlockedItems;
}

export function txProofRoute(app: App, deps: TxProofDeps): void {
  app.get(
    '/tx/:id/proof',
    {
      schema: {
        summary: 'Receipt, header and place of an item, with proofs',
        params,
        response: { 200: itemProof },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      if (!isTxId(id)) throw uploadErrors.invalidId();
      deps.blocked.refuseId(id);
      try {
        const item = await findItem(deps.sql, id);
        if (item === undefined) throw uploadErrors.unknownItem();
        const proof = await proveItem(deps, item);
        const age = proof.bundle?.block === undefined ? 15 : 86_400;
        return reply.header('cache-control', `public, max-age=${age}`).send(proof);
      } catch (error) {
        throw translateError(error, id);
      }
    },
  );
}
