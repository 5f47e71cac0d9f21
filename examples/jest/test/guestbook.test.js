const { connectTurnpike } = require('@turnpike-network/turnpike/testing');
const { Guestbook } = require('../src/guestbook.js');

let turnpike;
let guestbook;
beforeAll(async () => {
  turnpike = await connectTurnpike(JSON.parse(process.env.TURNPIKE));
  guestbook = new Guestbook(await turnpike.clients.arweave());
});

test('an entry waits for a block, and is then there for good', async () => {
  await turnpike.setMining('none');
  const [wallet] = turnpike.wallets.arweave;
  const id = await guestbook.sign('Ada was here', wallet.jwk);
  expect(await guestbook.isFinal(id)).toBe(false);
  await turnpike.mine();
  expect(await guestbook.isFinal(id)).toBe(true);
  expect(await guestbook.read(id)).toBe('Ada was here');
});

test('who has no money cannot sign', async () => {
  const arweave = await turnpike.clients.arweave();
  const key = await arweave.wallets.generate();
  await expect(guestbook.sign('Eve was here', key)).rejects.toThrow('not taken: 400');
  await turnpike.mint(await arweave.wallets.jwkToAddress(key), 1);
  await expect(guestbook.sign('Eve was here', key)).resolves.toHaveLength(43);
});

test('the node may fail, and the entry is not lost', async () => {
  const [wallet] = turnpike.wallets.arweave;
  await turnpike.faults('arweave', { status: 503, path: '/tx', count: 1 });
  await expect(guestbook.sign('again', wallet.jwk)).rejects.toThrow();
  await turnpike.faults('arweave', null);
  await expect(guestbook.sign('again', wallet.jwk)).resolves.toHaveLength(43);
});
