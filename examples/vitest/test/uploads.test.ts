import { connectTurnpike, type Turnpike } from '@turnpike-network/turnpike/testing';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { Gallery } from '../src/gallery.ts';

describe('pictures paid with credits', () => {
  let turnpike: Turnpike;
  beforeAll(async () => {
    turnpike = await connectTurnpike(inject('turnpike'));
  });

  it.each(['arweave', 'ethereum', 'solana'] as const)('are uploaded with a wallet of %s', async (kind) => {
    const wallet = turnpike.wallets[kind][2];
    if (wallet === undefined) throw new Error('there are ten wallets of each kind');
    const turbo = await turnpike.clients.turbo(wallet);
    const before = BigInt((await turbo.getBalance()).winc);
    // Large enough not to be free.
    const data = `<svg>${kind.repeat(50_000)}</svg>`;
    const { id, winc } = await turbo.upload({ data, dataItemOpts: { tags: Gallery.tags(kind) } });
    expect(BigInt((await turbo.getBalance()).winc)).toBe(before - BigInt(winc));
    expect(BigInt(winc) > 0n).toBe(true);
    expect(await new Gallery(turnpike.urls.router).show(id)).toBe(data);
  });
});
