import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { namePrograms, tokenProgram } from '../../../formats/solana/programs.ts';
import { memo, transferLamports } from '../../../formats/solana/system.ts';
import { associatedTokenAddress, createAssociatedTokenAccount } from '../../../formats/solana/token.ts';
import { signatureOf, signed, TestLedger, wallet } from '../testing.ts';

const alice = wallet('alice');
const bob = wallet('bob');
let ledger: TestLedger;

before(async () => {
  ledger = await TestLedger.start({ fund: [alice.address] });
});
after(() => ledger.stop());

class Client {
  readonly socket: WebSocket;
  readonly #seen: unknown[] = [];
  #wake: (() => void) | undefined;

  constructor(url: string) {
    this.socket = new WebSocket(url.replace('http', 'ws'));
    this.socket.addEventListener('message', ({ data }) => {
      this.#seen.push(JSON.parse(String(data)));
      this.#wake?.();
    });
  }

  static async open(): Promise<Client> {
    const client = new Client(ledger.local.url);
    await new Promise((resolve) => client.socket.addEventListener('open', resolve));
    return client;
  }

  send(method: string, ...params: unknown[]): void {
    this.socket.send(JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }));
  }

  async next(): Promise<string> {
    while (this.#seen.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return JSON.stringify(this.#seen.shift());
  }
}

function payment(): Buffer {
  ledger.skip(1);
  return signed(ledger.blockhash, [transferLamports(alice.address, bob.address, 1_000_000n)], alice);
}

test('a signature is announced once, before and after it is on the ledger', async () => {
  const client = await Client.open();
  const wire = payment();
  client.send('signatureSubscribe', signatureOf(wire), { commitment: 'confirmed' });
  assert.match(await client.next(), /"result":\d+,"id":7/);
  await ledger.local.ledger.submit(wire, true);
  assert.match(await client.next(), /"method":"signatureNotification".*"value":\{"err":null\}/);
  client.send('signatureSubscribe', signatureOf(wire));
  await client.next();
  assert.match(await client.next(), /signatureNotification/);
  client.socket.close();
});

test('an account is announced when it changes, and no more once nobody wants to know', async () => {
  const client = await Client.open();
  client.send('accountSubscribe', bob.address, { encoding: 'base64' });
  const answer = await client.next();
  const number = Number(/"result":(\d+)/.exec(answer)?.[1]);
  await ledger.local.ledger.submit(payment(), true);
  assert.match(await client.next(), /"accountNotification".*"lamports":2000000/);
  client.send('accountUnsubscribe', number);
  assert.match(await client.next(), /"result":true/);
  await ledger.local.ledger.submit(payment(), true);
  client.send('slotSubscribe');
  assert.match(await client.next(), /"result":\d+/);
  assert.match(await client.next(), /"slotNotification"/);
  client.socket.close();
});

test('nonsense is answered with an error or cut off, and the ledger goes on', async () => {
  const client = await Client.open();
  client.socket.send('{');
  assert.match(await client.next(), /-32700/);
  client.send('nothingSubscribe');
  assert.match(await client.next(), /-32601/);
  client.send('signatureSubscribe', 'short');
  assert.match(await client.next(), /-32602/);
  client.socket.send('x'.repeat(70_000));
  await new Promise((resolve) => client.socket.addEventListener('close', resolve));
  const { port } = new URL(ledger.local.url);
  for (const bytes of [
    'GET / HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
    '\u0081\u0005hello',
  ]) {
    await new Promise<void>((resolve) => {
      const raw = connect(Number(port), '127.0.0.1', () => raw.end(bytes));
      raw
        .on('close', () => resolve())
        .on('error', () => {})
        .resume();
    });
  }
  ledger.skip(1);
  await ledger.local.ledger.submit(signed(ledger.blockhash, [memo('on')], alice), true);
});

test('logs are told of all transactions or of those that name an address', async () => {
  const client = await Client.open();
  client.send('logsSubscribe', { mentions: [bob.address] });
  assert.match(await client.next(), /"result":\d+/);
  ledger.skip(1);
  await ledger.local.ledger.submit(signed(ledger.blockhash, [memo('not about bob')], alice), true);
  const wire = payment();
  await ledger.local.ledger.submit(wire, true);
  const told = await client.next();
  assert.match(told, /"logsNotification".*"err":null,"logs":\["Program 1{32} invoke \[1\]"/);
  assert.ok(told.includes(signatureOf(wire)));
  client.send('logsSubscribe', { mentions: [alice.address, bob.address] });
  assert.match(await client.next(), /-32602/);
  client.socket.close();
});

test('a program is told of its accounts that fit the filters', async () => {
  const client = await Client.open();
  const tokens = associatedTokenAddress(bob.address, namePrograms.mainnet.mint);
  const filters = [{ dataSize: 165 }, { memcmp: { offset: 32, bytes: bob.address } }];
  client.send('programSubscribe', tokenProgram, { encoding: 'jsonParsed', filters });
  assert.match(await client.next(), /"result":\d+/);
  const create = createAssociatedTokenAccount(alice.address, bob.address, namePrograms.mainnet.mint);
  await ledger.send([create], alice);
  const told = await client.next();
  assert.match(told, /"programNotification".*"type":"account"/);
  assert.ok(told.includes(`"pubkey":"${tokens}"`));
  client.socket.close();
});

test('a client may wait for more signatures one after the other than it may have subscriptions', async () => {
  const client = await Client.open();
  const wire = payment();
  await ledger.local.ledger.submit(wire, true);
  for (let round = 0; round < 1_005; round += 1) {
    client.send('signatureSubscribe', signatureOf(wire));
    assert.match(await client.next(), /"result":\d+/);
    assert.match(await client.next(), /signatureNotification/);
  }
  client.socket.close();
});

test('a client that asks again without a pause for what is refused is answered once, then ever later', async () => {
  const client = await Client.open();
  for (let round = 0; round < 50; round += 1) client.send('blockSubscribe', 'all');
  client.send('voteSubscribe');
  client.send('rootSubscribe');
  assert.match(await client.next(), /-32601/);
  assert.match(await client.next(), /-32601/);
  assert.match(await client.next(), /"result":\d+/);
  for (let round = 0; round < 100; round += 1) client.send('blockSubscribe', 'all');
  await new Promise((resolve) => client.socket.addEventListener('close', resolve));
});
