/**
 * The whole stack in several processes: `turnpike start --workers 2`. Whichever process a connection reaches, it is one
 * service. On SQLite, or on PostgreSQL where TEST_DATABASE_URL names one.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Stripe from 'stripe';
import { request } from 'undici';
import { itemOwner } from '../../src/wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../src/wallets/testing/keys.ts';
import { createDatabase, engines, until } from '../support/local-gateway.ts';
import { program } from '../support/program.ts';
import { startCommands } from '../support/run-command.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const root = resolve(import.meta.dirname, '../..');
const signer = solanaSigner(ed25519TestKey('workers'));
const { address } = itemOwner(4, signer.owner).wallet;
const random = seededRandom(17);
const token = 'token-of-the-router';
const quotesAtOnce = 8;

interface Asked {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

for (const { name: engine, options } of engines) {
  describe(`turnpike start --workers 2 on ${engine}`, () => {
    let stack: RunningStack;
    let database: Awaited<ReturnType<typeof createDatabase>> | undefined;
    const commands = startCommands();
    before(async () => {
      database = options.postgres === undefined ? undefined : await createDatabase(options.postgres);
      stack = await startStack({
        only: ['--workers', '2'],
        environment: {
          MODERATION_ADMIN_TOKEN: token,
          TRUSTED_PROXY_COUNT: '1',
          PAYMENT_RATE_LIMIT_BURST: String(quotesAtOnce),
          PAYMENT_RATE_LIMIT_PER_MINUTE: '1',
          FREE_UPLOAD_LIMIT: '0',
          BUNDLE_MAX_WAIT_MS: '0',
          BUNDLE_POLL_MS: '50',
          LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0',
          ...(database !== undefined && { DATABASE_URL: database.url }),
        },
      });
    });
    after(async () => {
      commands.stop();
      await stack.stop();
      await database?.drop();
    });

    const url = (name: string): string => stack.urls[name] ?? assert.fail(`no ${name}`);
    /** A connection of its own each time, so that the next may reach another process. */
    async function ask(
      to: string,
      {
        method = 'GET',
        headers = {},
        body,
      }: { method?: string; headers?: object; body?: Buffer | object } = {},
    ): Promise<Asked> {
      const isJson = body !== undefined && !Buffer.isBuffer(body);
      const answer = await request(to, {
        method: method as 'GET',
        reset: true,
        headers: { ...headers, ...(isJson && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: isJson ? JSON.stringify(body) : body }),
      });
      return { status: answer.statusCode, text: await answer.body.text(), headers: answer.headers };
    }
    /** So many connections that each process certainly gets some. */
    const everywhere = async (to: string, init?: Parameters<typeof ask>[1]): Promise<Asked[]> =>
      await Promise.all(Array.from({ length: 24 }, () => ask(to, init)));
    const statuses = async (to: string): Promise<string> =>
      [...new Set((await everywhere(to)).map(({ status }) => status))].join();
    const workers = (): number[] => {
      const { pid } = stack.process;
      return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
    };
    const balance = async (): Promise<bigint> =>
      BigInt(
        JSON.parse((await ask(`${url('payment')}/v1/account/balance?address=${address}`)).text).winc ?? 0,
      );
    async function upload(data: Buffer): Promise<string> {
      const tags = [{ name: 'Content-Type', value: 'image/png' }];
      const item = await signItem({ data, tags }, signer);
      const { status, text } = await ask(`${url('upload')}/v1/tx/solana`, { method: 'POST', body: item });
      assert.equal(status, 200, text);
      return String(JSON.parse(text).id);
    }

    test('both answer, and each tells the figures of both', async () => {
      assert.equal(workers().length, 2);
      const path = '/v1/price/bytes/1024';
      const series =
        /^http_request_duration_seconds_count\{route="\/v1\/price\/bytes\/:byteCount",.*\} (\d+)$/m;
      const scrape = async () => (await ask(`${url('payment')}/metrics`)).text;
      const first = await scrape();
      const before = Number(series.exec(first)?.[1] ?? 0);
      await everywhere(`${url('payment')}${path}`);
      const texts = (await everywhere(`${url('payment')}/metrics`)).map(({ text }) => text);
      for (const text of texts) {
        assert.match(text, /^workers 2$/m);
        assert.equal(Number(series.exec(text)?.[1]) - before, 24, 'the sum, whoever is asked');
      }
      assert.equal((texts[0]?.match(/^# TYPE process_cpu_seconds_total /gm) ?? []).length, 1);
    });

    test('a block is imported once and seen by all, and the local chain waits for that', async () => {
      await ask(`${url('arweave')}/mine/3`);
      assert.deepEqual(
        new Set((await everywhere(`${url('gateway')}/height`)).map(({ text }) => text)),
        new Set(['3']),
      );
      const { text } = await ask(`${url('gateway')}/gw/__gateway_metrics`);
      assert.match(text, /^blocks_imported_total 4$/m);
      assert.match(text, /^last_height_imported 3$/m);
    });

    test('what is paid by card and spent on uploads adds up, wherever it is asked for', async () => {
      const quoted = await ask(`${url('payment')}/v1/top-up/payment-intent/${address}/usd/1000?token=solana`);
      assert.equal(quoted.status, 200, quoted.text);
      const key = readFileSync(join(stack.dataDir, 'keys', 'local-card-secret-key'), 'utf8').trim();
      const { hostname, port } = new URL(url('card'));
      const stripe = new Stripe(key, { host: hostname, port, protocol: 'http', telemetry: false });
      const session = String(JSON.parse(quoted.text).paymentSession.id);
      await stripe.paymentIntents.confirm(session, { payment_method: 'pm_card_visa' });
      const paid = await until('the credit', async () => (await balance()) || undefined);
      const sizes = Array.from({ length: 12 }, () => random.between(120_000, 130_000));
      const contents = sizes.map((size) => random.bytes(size));
      const ids = await Promise.all(contents.map(upload));
      let cost = 0n;
      for (const [at, id] of ids.entries()) {
        const read = await request(`${url(at % 2 === 0 ? 'gateway' : 'router')}/raw/${id}`, { reset: true });
        assert.ok(Buffer.from(await read.body.arrayBuffer()).equals(contents[at] ?? Buffer.alloc(0)));
        const status = JSON.parse((await ask(`${url('upload')}/v1/tx/${id}/status`)).text);
        cost += BigInt(status.winc);
      }
      assert.ok(cost > 0n);
      assert.equal(await balance(), paid - cost);
      await until('all are permanent', async () => {
        await ask(`${url('arweave')}/mine`);
        const told = await Promise.all(ids.map((id) => ask(`${url('upload')}/v1/tx/${id}/status`)));
        return told.every(({ text }) => JSON.parse(text).info === 'permanent');
      });
      const { text } = await ask(`${url('payment')}/metrics`);
      assert.match(text, /^ledger_drift_winc 0$/m);
    });

    test('a name that is changed shows at once in every process, of the gateway and of the router', async () => {
      const port = (name: string) => new URL(url(name)).port;
      const turnpike = async (...args: string[]): Promise<string> => {
        const { code, out, error } = await commands.run(args, {
          DATA_DIR: stack.dataDir,
          PAYMENT_PORT: port('payment'),
          LOCAL_SOLANA_PORT: port('solana'),
          LOCAL_ARWEAVE_PORT: port('arweave'),
          ...(database !== undefined && { DATABASE_URL: database.url }),
        });
        assert.equal(code, 0, error);
        return out.trim();
      };
      const file = (name: string) => join(stack.dataDir, name);
      const keys = ['--wallet', file('wallet.json'), '--owner', file('owner.json')];
      await turnpike('wallet', 'create', file('wallet.json'));
      await turnpike(
        'ledger',
        'credit',
        await turnpike('wallet', 'address', file('wallet.json')),
        '20',
        '--id',
        'n',
      );
      await turnpike('name', 'key', file('owner.json'));
      const [first, second] = [await upload(random.bytes(500)), await upload(random.bytes(500))];
      await turnpike('name', 'buy', 'over-there', '--target', first, ...keys);
      const shown = async (): Promise<string[]> => {
        const told = await everywhere(`${url('gateway')}/gw/resolver/over-there`);
        const headers = { host: `over-there.localhost:${port('router')}` };
        const routed = await everywhere(url('router'), { method: 'HEAD', headers });
        return [
          ...new Set(told.map(({ text }) => String(JSON.parse(text).txId))),
          ...new Set(routed.map((answer) => String(answer.headers['x-arns-resolved-id']))),
        ];
      };
      assert.deepEqual(await shown(), [first, first]);
      await turnpike('name', 'set', 'over-there', second, ...keys);
      assert.deepEqual(await shown(), [second, second]);
      const tell = async (authorization: string, body: object): Promise<number> =>
        (
          await ask(`${url('router')}/router/names/changed`, {
            method: 'POST',
            headers: { authorization: `Bearer ${authorization}` },
            body,
          })
        ).status;
      const change = [{ name: 'over-there', undername: '@' }];
      assert.deepEqual([await tell(token, change), await tell('wrong', change)], [200, 403]);
      assert.equal(await tell(token, [{ name: 'Not A Name' }]), 400);
    });

    test('what is blocked in the router at one process is refused by all, and served again when that is lifted', async () => {
      const id = await upload(random.bytes(3_000));
      const content = `${url('router')}/raw/${id}`;
      assert.equal(await statuses(content), '200');
      const headers = { authorization: `Bearer ${token}` };
      const moderation = `${url('router')}/router/moderation`;
      const body = { type: 'txid', value: id, reason: 'test' };
      assert.equal((await ask(`${moderation}/block`, { method: 'POST', headers, body })).status, 200);
      assert.equal(await statuses(content), '403', 'at once');
      const checked = await everywhere(`${moderation}/check/txid/${id}`);
      assert.ok(checked.every(({ text }) => JSON.parse(text).blocked === true));
      const listed = JSON.parse(readFileSync(join(stack.dataDir, 'blocklist.json'), 'utf8'));
      assert.deepEqual(
        listed.entries.map(({ value }: { value: string }) => value),
        [id],
      );
      const several = Array.from({ length: 6 }, (_, at) => `${'B'.repeat(41)}${at}A`);
      await Promise.all(
        several.map((value) =>
          ask(`${moderation}/block`, { method: 'POST', headers, body: { ...body, value } }),
        ),
      );
      const lists = await Promise.all(
        Array.from({ length: 8 }, () => ask(`${moderation}/blocklist`, { headers })),
      );
      const totals = lists.map(({ text }) => JSON.parse(text).total);
      assert.deepEqual(new Set(totals), new Set([7]), 'none of those that came together is lost');
      assert.equal((await ask(`${moderation}/block/txid/${id}`, { method: 'DELETE', headers })).status, 200);
      assert.equal(await statuses(content), '200', 'at once');
    });

    test('limits hold for all processes together', async () => {
      const quote = `${url('payment')}/v1/top-up/payment-intent/${address}/usd/1000?token=solana`;
      const quotes = await everywhere(quote, { headers: { 'x-forwarded-for': '192.0.2.7' } });
      assert.equal(quotes.filter(({ status }) => status === 200).length, quotesAtOnce);
      assert.equal(quotes.filter(({ status }) => status === 429).length, 24 - quotesAtOnce);
      const guesses = await everywhere(`${url('router')}/router/moderation/stats`, {
        headers: { authorization: 'Bearer guessed', 'x-forwarded-for': '192.0.2.8' },
      });
      assert.deepEqual(guesses.map(({ status }) => status).filter((status) => status === 403).length, 5);
    });

    test('followers of events are told the same by both, whichever imports', async () => {
      const followers = await Promise.all(
        Array.from({ length: 8 }, async () => {
          const { body } = await request(`${url('gateway')}/gw/events?types=block.new`, { reset: true });
          let text = '';
          body.setEncoding('utf8').on('data', (more: string) => {
            text += more;
          });
          body.on('error', () => {});
          const read = (height: number) =>
            new RegExp(`^data: .*"height":${height}[,}].*$`, 'm').exec(text)?.[0];
          return { read, leave: () => body.destroy() };
        }),
      );
      await until('all follow', async () =>
        /^events_readers 8$/m.test((await ask(`${url('gateway')}/gw/__gateway_metrics`)).text),
      );
      const { height } = JSON.parse((await ask(`${url('arweave')}/mine`)).text);
      // Who began before the last block was told there hears of that one too.
      const told = () => followers.map(({ read }) => read(height));
      await until('all are told', () => told().every((line) => line !== undefined));
      assert.equal(new Set(told()).size, 1, 'with one id');
      for (const { leave } of followers) leave();
    });

    test('the console, in the first process, shows the services of the others', async () => {
      const settings = JSON.parse((await ask(`${url('console')}/api/settings`)).text);
      assert.equal(new URL(settings.services.upload).port, new URL(url('upload')).port);
      assert.equal(new URL(settings.services.gateway).port, new URL(url('gateway')).port);
    });

    test('a start on the same database with other keys is refused, and says which to set', {
      skip: options.postgres === undefined && 'on SQLite the folder has the keys too',
    }, async () => {
      const other = startStack({
        only: ['payment'],
        environment: {
          DATABASE_URL: database?.url ?? '',
          ARWEAVE_NODE_URLS: url('arweave'),
          SOLANA_RPC_URL: url('solana'),
          ADMIN_API_KEY: readFileSync(join(stack.dataDir, 'keys', 'admin-api-key'), 'utf8').trim(),
        },
      });
      await assert.rejects(other, (error: Error) => {
        const lines = error.message
          .split('\n')
          .filter((line) => line.includes(' is not what other processes'));
        const named = lines.map((line) => line.split(' ', 1)[0]);
        assert.deepEqual(named, ['JWT_SECRET', 'SOLANA_SIGNER_SECRET_KEY']);
        return true;
      });
    });

    test('a process that dies is replaced, and the other answers meanwhile', async () => {
      const [victim = 0] = workers();
      process.kill(victim, 'SIGKILL');
      for (let replaced = false; !replaced; ) {
        // Connections that waited for the victim are reset; a new one reaches the other.
        const answer = await ask(`${url('gateway')}/gw/__gateway_metrics`).catch(() => undefined);
        if (answer === undefined) continue;
        assert.equal(answer.status, 200);
        replaced = /^workers 2$/m.test(answer.text) && !workers().includes(victim);
        await sleep(50);
      }
      await until('the log tells', async () => stack.log().includes('a worker died and is replaced'));
      const id = await upload(random.bytes(1_000));
      assert.equal(await statuses(`${url('router')}/raw/${id}`), '200');
    });

    test('SIGTERM to all of them at once lets an upload under way finish, and ends them', async () => {
      const running = workers();
      assert.equal(running.length, 2);
      const item = await signItem({ data: random.bytes(200_000) }, signer);
      const answered = Promise.withResolvers<number>();
      const sending = httpRequest(
        `${url('upload')}/v1/tx/solana`,
        { method: 'POST', agent: false, headers: { 'content-length': item.length } },
        (answer) => {
          answer.resume().on('end', () => answered.resolve(answer.statusCode ?? 0));
        },
      ).on('error', answered.reject);
      await new Promise<void>((resolve) => {
        sending.write(item.subarray(0, 100_000), () => resolve());
      });
      // Beside the question itself.
      await until('it is under way', async () =>
        /^http_requests_in_flight 2$/m.test((await ask(`${url('upload')}/metrics`)).text),
      );
      // As a supervisor does, that knows the group of processes.
      const ended = stack.end('SIGTERM');
      for (const pid of running) process.kill(pid, 'SIGTERM');
      await until('nobody takes connections', async () =>
        ask(`${url('upload')}/health`).then(
          () => false,
          () => true,
        ),
      );
      sending.end(item.subarray(100_000));
      assert.equal(await answered.promise, 200);
      assert.equal(await ended, 0);
      for (const pid of running) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
    });
  });
}

test('a number that is none, and a console in several processes, are refused', () => {
  for (const args of [
    ['--workers', '1e1'],
    ['console', '--workers', '2'],
  ]) {
    const { status, stderr } = spawnSync(process.execPath, [program, 'start', ...args], {
      cwd: root,
      encoding: 'utf8',
    });
    assert.equal(status, 64, args.join(' '));
    assert.match(stderr, /^--workers /);
  }
});
