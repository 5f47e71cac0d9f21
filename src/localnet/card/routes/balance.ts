/** `/v1/balance` and `/v1/balance_transactions`: what the payments come to. */
import type { App } from '../../../kernel/http/server.ts';
import { get, listOf, type Provider, pageOf, unixSeconds } from '../api.ts';
import { atTime, balanceAt } from '../balance.ts';
import { compare, memberPath } from '../conditions.ts';
import { getObject, listObjects } from '../store.ts';
import { readCreated } from './lists.ts';

export function balanceRoutes(app: App, provider: Provider): void {
  get(app, provider, '/balance', async (tx, { params }) => {
    params.done();
    return balanceAt(tx, unixSeconds(provider));
  });

  get(app, provider, '/balance_transactions/:id', async (tx, { id }) =>
    atTime(await getObject(tx, 'balance_transaction', id), unixSeconds(provider)),
  );

  get(app, provider, '/balance_transactions', async (tx, { params }) => {
    const named = (['currency', 'source', 'type'] as const).flatMap((name) => {
      const value = params.optionalText(name);
      return value === undefined ? [] : [compare(memberPath(name), '=', value)];
    });
    const conditions = [...named, ...readCreated(params)];
    const page = pageOf(params);
    params.done();
    const found = await listObjects(tx, 'balance_transaction', conditions, page);
    const now = unixSeconds(provider);
    return listOf(
      '/v1/balance_transactions',
      page,
      found.map((one) => atTime(one, now)),
    );
  });
}
