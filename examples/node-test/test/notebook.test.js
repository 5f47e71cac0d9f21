import assert from 'node:assert/strict';
import { get } from 'node:http';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { solanaOwnerSigner } from '@ardrive/turbo-sdk';
import { startTurnpike } from '@turnpike-network/turnpike/testing';
import { Notebook } from '../src/notebook.js';

let turnpike;
let turbo;
let notebook;

before(async () => {
  turnpike = await startTurnpike();
  turbo = await turnpike.clients.turbo(turnpike.wallets.arweave[0]);
  notebook = new Notebook({ turbo, gatewayUrl: turnpike.urls.gateway });
  await turnpike.snapshot('empty');
});
after(() => turnpike?.stop());

// Each test begins with the same funded, empty network.
beforeEach(() => turnpike.revert('empty'));

test('a note is read as it was written', async () => {
  const id = await notebook.write('first', 'Dear diary');
  assert.equal(await notebook.read(id), 'Dear diary');
});

test('notes are listed, and those of other tests are not', async () => {
  await notebook.write('second', 'Still here');
  // The upload service tells the gateway a moment later.
  while ((await notebook.titles()).length === 0) await sleep(10);
  assert.deepEqual(await notebook.titles(), ['second']);
});

test('who has no credits is told so, and can write after paying', async () => {
  const poor = await turnpike.clients.turbo({ address: '', privateKey: `0x${'42'.repeat(32)}` });
  const theirs = new Notebook({ turbo: poor, gatewayUrl: turnpike.urls.gateway });
  const long = 'word '.repeat(100_000);
  await assert.rejects(theirs.write('long', long), /Insufficient balance/);

  await turnpike.mint(await poor.signer.getNativeAddress(), 1, 'credits');
  assert.equal(await notebook.read(await theirs.write('long', long)), long);
});

test('a name leads to a note, and is gone when its lease has run out', async () => {
  const [wallet] = turnpike.wallets.solana;
  const owner = solanaOwnerSigner(Uint8Array.from(wallet.bytes));
  const id = await notebook.write('named', 'Come in');
  const bought = await turbo.buyArNSName({ name: 'my-notebook', owner, type: 'lease', years: 1 });
  await turbo.setArNSRecord({ antId: bought.antId, owner, transactionId: id, ttlSeconds: 60 });
  assert.equal(await open('my-notebook'), 'Come in');

  await turnpike.advance({ years: 2 });
  await assert.rejects(open('my-notebook'), /404/);
});

/** What a browser shows at http://{name}.localhost. */
function open(name) {
  const { port } = new URL(turnpike.urls.gateway);
  return new Promise((resolve, reject) => {
    const headers = { host: `${name}.localhost:${port}` };
    get({ host: '127.0.0.1', port, path: '/', headers }, async (answer) => {
      const text = (await answer.toArray()).join('');
      if (answer.statusCode === 200) resolve(text);
      else reject(new Error(`${name} answered ${answer.statusCode}`));
    }).on('error', reject);
  });
}
