import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Type } from 'typebox';
import { readConfig } from '../../config/config.ts';
import { createJob } from '../background/job.ts';
import { HttpError } from '../errors.ts';
import { createLogger } from '../log.ts';
import { createSurface, type Part, type Surface } from '../part.ts';
import { silentLog, testServer } from '../testing.ts';
import { createAdmin } from './admin.ts';

const key = 'k'.repeat(30);
const secret = 'a-secret-of-the-provider';
let folder: string;
let surface: Surface;
let problems: string[] = [];

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-admin-'));
  const config = readConfig({ DATA_DIR: folder, STRIPE_SECRET_KEY: secret, STRIPE_WEBHOOK_SECRET: secret });
  const own: Part = {
    name: 'own',
    jobs: [createJob({ name: 'sweep', everyMs: 60_000, log: silentLog, run: async () => {} })],
    problems: () => problems,
    adminRoutes(app) {
      app.post('/things', { schema: { body: Type.Object({ id: Type.String() }) } }, async ({ body }) => {
        if (body.id === 'none') throw new HttpError(404, 'There is no such thing');
        return { done: body.id };
      });
    },
  };
  surface = createSurface('test', () => {
    const server = testServer();
    const admin = createAdmin({
      ...{ surface: 'test', version: '1.2.3', config, key, log: silentLog },
      parts: () => parts,
      figures: async () => ({ things: 3 }),
      translate: (error) => error,
    });
    const parts: Part[] = [own, { name: 'admin', ...admin }];
    server.mount(admin.routes, ['/v1']);
    return { server, parts };
  });
  await surface.start();
});
after(async () => {
  await surface.stop();
  rmSync(folder, { recursive: true, force: true });
});

const ask = (path: string, init: RequestInit = {}) =>
  fetch(`${surface.url}/v1/admin/${path}`, {
    ...init,
    headers: { authorization: `Bearer ${key}`, ...init.headers },
  });
const json = async (path: string): Promise<unknown> => (await ask(path)).json();
const post = (path: string, body: unknown) =>
  ask(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });

describe('the operator of any surface', () => {
  test('is told its state: what is wrong, how its jobs go, and what it counts', async () => {
    problems = ['It rains.'];
    const state = (await json('state')) as Record<string, unknown> & { jobs: Record<string, unknown>[] };
    problems = [];
    const { surface: name, version, world, figures } = state;
    assert.deepEqual([name, version, world, figures], ['test', '1.2.3', 'local', { things: 3 }]);
    assert.deepEqual(state.problems, ['It rains.']);
    assert.deepEqual(
      state.jobs.map(({ part, name, state }) => [part, name, state]),
      [['own', 'sweep', 'waiting']],
    );
  });

  test('sees every variable that holds, and no secret', async () => {
    const answer = await (await ask('config')).text();
    assert.ok(!answer.includes(secret));
    const { variables } = JSON.parse(answer) as { variables: Record<string, unknown>[] };
    const value = (name: string) => variables.find((one) => one.name === name)?.value;
    assert.deepEqual([value('DATA_DIR'), value('STRIPE_SECRET_KEY')], [folder, '(hidden)']);
    assert.equal(value('BUNDLE_CONFIRMATIONS'), '1', 'what holds, not what the table says');
  });

  test('finds every change in the audit log, refused ones too, and no read', async () => {
    assert.equal((await post('things', { id: 'one' })).status, 200);
    assert.equal((await post('things', { id: 'none' })).status, 404);
    assert.equal((await post('nothing/here', {})).status, 404);
    assert.equal((await ask('state')).status, 200);
    const { lines } = (await json('audit')) as { lines: Record<string, unknown>[] };
    assert.deepEqual(
      lines.map(({ surface, action, given, result }) => [surface, action, given, result]),
      [
        ['test', 'things', { id: 'none' }, 'answered 404'],
        ['test', 'things', { id: 'one' }, 'answered 200'],
      ],
    );
    assert.equal((await ask('audit?limit=0')).status, 400);
  });

  test('without the key learns nothing', async () => {
    for (const path of ['state', 'config', 'logs', 'audit', 'nothing']) {
      const answer = await ask(path, { headers: { authorization: 'Bearer other' } });
      assert.deepEqual([answer.status, await answer.json()], [401, 'Unauthorized'], path);
    }
  });
});

describe('the log as it is written', () => {
  const log = createLogger({ name: 'watched', level: 'info', format: 'json', write: () => {} });

  async function read(answer: Response, until: RegExp): Promise<string> {
    let text = '';
    const decoder = new TextDecoder();
    const reader = answer.body?.getReader();
    while (!until.test(text)) {
      const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
    reader?.releaseLock();
    return text;
  }

  test('begins with its last lines and goes on, from a level on', async () => {
    log.info('long ago');
    log.warn('before');
    const answer = await ask('logs?level=warn&limit=1');
    assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    const first = await read(answer, /\n\n/);
    assert.match(first, /^id: [0-9]+\nevent: line\ndata: \{"level":"warn",.*"msg":"before"\}\n\n$/);
    log.info('not shown');
    log.error('after');
    assert.match(await read(answer, /\n\n/), /"msg":"after"/);
    await answer.body?.cancel();
    const id = Number(/^id: ([0-9]+)/.exec(first)?.[1]);
    const again = await ask('logs?level=warn', { headers: { 'last-event-id': String(id) } });
    const next = await read(again, /\n\n/);
    assert.match(next, /"msg":"after"/);
    await again.body?.cancel();
  });

  test('is refused where the question makes no sense', async () => {
    for (const query of ['level=loud', 'limit=1001', 'limit=-1', 'level=infos']) {
      assert.equal((await ask(`logs?${query}`)).status, 400, query);
    }
    const head = await ask('logs', { method: 'HEAD' });
    assert.deepEqual([head.status, await head.text()], [200, '']);
  });

  test('ends when the surface drains', async () => {
    const answer = await ask('logs?limit=0');
    const whole = answer.text();
    assert.equal(await surface.drain(5_000), true, 'nobody had to be cut off');
    assert.equal(await whole, '');
  });
});
