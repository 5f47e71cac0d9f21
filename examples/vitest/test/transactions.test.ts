import { connectTurnpike, type Turnpike } from '@turnpike-network/turnpike/testing';
import { beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { Gallery } from '../src/gallery.ts';

describe('pictures as transactions of their own', () => {
  let turnpike: Turnpike;
  let gallery: Gallery;
  beforeAll(async () => {
    turnpike = await connectTurnpike(inject('turnpike'));
    gallery = new Gallery(turnpike.urls.gateway);
  });

  it('are posted by arweave-js and shown once they are mined', async () => {
    const arweave = await turnpike.clients.arweave();
    // Test files run at the same time, so each has a wallet of its own.
    const [, wallet] = turnpike.wallets.arweave;
    if (wallet === undefined) throw new Error('there are ten wallets');
    const transaction = await arweave.createTransaction({ data: '<svg>one</svg>' }, wallet.jwk);
    for (const { name, value } of Gallery.tags('One')) transaction.addTag(name, value);
    await arweave.transactions.sign(transaction, wallet.jwk);
    expect((await arweave.transactions.post(transaction)).status).toBe(200);
    await turnpike.mine();

    await vi.waitUntil(async () => (await gallery.pictures(wallet.address)).length > 0, { timeout: 30_000 });
    expect(await gallery.pictures(wallet.address)).toEqual([
      { id: transaction.id, title: 'One', owner: wallet.address },
    ]);
    expect(await gallery.show(transaction.id)).toBe('<svg>one</svg>');
  });
});
