import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { HttpError } from './errors.ts';
import { createLogger, prettyLine } from './log.ts';
import { isSecretName } from './log-redact.ts';
import { rememberingLog } from './testing.ts';

describe('a log line', () => {
  test('is one JSON object with level, time, name and message', () => {
    const { log, lines } = rememberingLog();
    log.info({ surface: 'payment', count: 3 }, 'started');
    const [line] = lines;
    assert.deepEqual([line?.level, line?.name, line?.msg], ['info', 'test', 'started']);
    assert.deepEqual([line?.surface, line?.count], ['payment', 3]);
    assert.match(String(line?.time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });

  test('is not written below the level', () => {
    const { log, lines } = rememberingLog('info');
    log.debug('quiet');
    assert.deepEqual(lines, []);
  });

  test('hides secrets by name, at any depth, in children too', () => {
    const { log, lines } = rememberingLog();
    const headers = {
      authorization: 'Bearer abcdefghijkl',
      'x-payment': 'eyJ4IjoxfQ',
      'payment-signature': 'eyJ4IjoyfQ',
      cookie: 'a=b',
      'set-cookie': ['a=b'],
      accept: 'text/html',
    };
    log.child({ apiKey: 'k-1', requestId: 'r1' }).warn({
      request: { headers },
      ADMIN_API_KEY: 'k-2',
      nested: [{ stripeSecretKey: 'k-3', password: 'p-4' }],
    });
    const text = JSON.stringify(lines);
    for (const secret of ['abcdefghijkl', 'eyJ4', 'a=b', 'k-1', 'k-2', 'k-3', 'p-4']) {
      assert.ok(!text.includes(secret), secret);
    }
    assert.ok(text.includes('text/html') && text.includes('r1'));
  });

  test('keeps counts and switches readable and hides the private half of a JWK', () => {
    const { log, lines } = rememberingLog();
    log.info({
      tokenCount: 3,
      hasPassword: true,
      wallet: { kty: 'RSA', n: 'public', d: 'private', p: 'prime' },
    });
    const [line] = lines;
    assert.deepEqual([line?.tokenCount, line?.hasPassword], [3, true]);
    assert.deepEqual(line?.wallet, { kty: 'RSA', n: 'public', d: '[hidden]', p: '[hidden]' });
  });

  test('hides credentials inside running text and inside error messages', () => {
    const { log, lines } = rememberingLog();
    log.error(
      { err: new Error('connect postgres://turnpike:hunter2@db:5432/x failed') },
      'Bearer abc.def.ghi refused',
    );
    const text = JSON.stringify(lines);
    assert.ok(!text.includes('hunter2') && !text.includes('abc.def.ghi'));
    assert.ok(text.includes('postgres://turnpike:[hidden]@db:5432/x'));
  });

  test('tells an error with its stack and fields, without the secrets among them', () => {
    const { log, lines } = rememberingLog();
    const error = Object.assign(new HttpError(502, 'Bad Gateway'), { options: { token: 't-1' } });
    log.error({ err: error }, 'failed');
    const shown = lines[0]?.err;
    assert.ok(typeof shown === 'object' && shown !== null && 'stack' in shown && 'status' in shown);
    assert.equal(shown.status, 502);
    assert.ok(!JSON.stringify(lines).includes('t-1'));
  });

  test('survives big integers, bytes, cycles, sockets and long lists', () => {
    const { log, lines } = rememberingLog();
    const cycle: Record<string, unknown> = { name: 'a' };
    cycle.self = cycle;
    const request = new IncomingMessage(new Socket());
    log.info({ winc: 10n ** 30n, bytes: Buffer.alloc(9), cycle, request, list: Array(500).fill(1) });
    const [line] = lines;
    assert.deepEqual(
      [line?.winc, line?.bytes, line?.request],
      [`1${'0'.repeat(30)}`, '9 bytes', '[IncomingMessage]'],
    );
    assert.ok(Array.isArray(line?.list) && line.list.length === 101);
  });
});

test('names of secrets are told from names that only sound like them', () => {
  for (const name of [
    'X-Payment',
    'api_key',
    'privateKey',
    'STRIPE_WEBHOOK_SECRET',
    'moderationToken',
    'seed',
    'jwk',
  ]) {
    assert.ok(isSecretName(name), name);
  }
  for (const name of [
    'publicKey',
    'x-public-key',
    'keyword',
    'monkey',
    'payment',
    'x-signature',
    'address',
    'seedling',
  ]) {
    assert.ok(!isSecretName(name), name);
  }
});

describe('the format for people', () => {
  test('shows clock, level, name, message and fields on one line', () => {
    const lines: string[] = [];
    const log = createLogger({
      name: 'upload',
      level: 'info',
      format: 'pretty',
      write: (line) => lines.push(line),
    });
    log.info({ url: 'http://127.0.0.1:4002', note: 'two words', token: 'abc' }, 'listening');
    assert.match(
      lines.join(''),
      /^\d\d:\d\d:\d\d\.\d{3} INFO {2}upload {2}listening {2}url=http:\/\/127\.0\.0\.1:4002 {2}note="two words" {2}token=\[hidden\]\n$/,
    );
  });

  test('puts a stack below its line, indented', () => {
    const lines: string[] = [];
    const log = createLogger({
      name: 'upload',
      level: 'info',
      format: 'pretty',
      write: (line) => lines.push(line),
    });
    log.error({ err: new Error('broken') }, 'failed');
    assert.match(lines.join(''), /failed\n {4}Error: broken\n {8}at /);
  });

  test('passes on what is not a log line, and colours only when asked', () => {
    assert.equal(prettyLine('plain text\n'), 'plain text\n');
    const line = JSON.stringify({ level: 'warn', name: 'x', msg: 'm' });
    assert.ok(!prettyLine(line).includes('\u001b['));
    assert.ok(prettyLine(line, true).includes('\u001b['));
  });
});
