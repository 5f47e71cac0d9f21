import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HttpError } from '../../../kernel/errors.ts';
import { createLogger } from '../../../kernel/log.ts';
import { HttpClient } from '../../../outside/http.ts';
import { NameAbsent, Unavailable } from '../../errors.ts';
import { saying, serve, unavailable } from '../testing.ts';
import { NameResolver, type NameSource, type NameTarget } from './resolver.ts';
import { namesOfGateway } from './sources.ts';

const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
const target = (id: string): NameTarget => ({ id, ttlSeconds: 60, antId: 'ant' });

/** A source that a test can change and break. */
class Registry implements NameSource {
  readonly name = 'registry';
  asked = 0;
  answer: NameTarget | undefined | Error = target('first');
  wait: Promise<void> = Promise.resolve();

  async resolve(): Promise<NameTarget | undefined> {
    this.asked += 1;
    await this.wait;
    if (this.answer instanceof Error) throw this.answer;
    return this.answer;
  }
}

function resolverOver(sources: readonly NameSource[]) {
  const clock = { now: 1_000_000, ahead: 0 };
  const resolver = new NameResolver({
    sources,
    log,
    overrideTtlSeconds: 0,
    staleWaitMs: 5,
    now: () => clock.now + clock.ahead,
    steadyNow: () => clock.now,
  });
  return { resolver, clock };
}

describe('NameResolver', () => {
  test('keeps an answer for as long as its record says', async () => {
    const registry = new Registry();
    const { resolver, clock } = resolverOver([registry]);
    assert.equal((await resolver.resolve('name', '@'))?.id, 'first');
    registry.answer = target('second');
    clock.now += 59_000;
    assert.equal((await resolver.resolve('name', '@'))?.id, 'first');
    assert.equal(registry.asked, 1);
    clock.now += 2_000;
    assert.equal((await resolver.resolve('name', '@'))?.id, 'second');
  });

  test('keeps nothing for longer because its clock was ahead, nor when the time comes that it showed', async () => {
    const aheadMs = 12 * 3_600_000;
    for (const passedMs of [61_000, aheadMs]) {
      const registry = new Registry();
      const { resolver, clock } = resolverOver([registry]);
      clock.ahead = aheadMs;
      assert.equal((await resolver.resolve('name', '@')).id, 'first');
      clock.ahead = 0;
      clock.now += passedMs;
      registry.answer = undefined;
      await assert.rejects(resolver.resolve('name', '@'), NameAbsent);
      clock.ahead = aheadMs;
      clock.now += 61_000;
      await assert.rejects(resolver.resolve('name', '@'), NameAbsent);
      clock.ahead = 0;
      clock.now += passedMs;
      registry.answer = target('second');
      assert.equal((await resolver.resolve('name', '@')).id, 'second');
    }
  });

  test('asks again when its source says that something changed', async () => {
    const registry = new Registry();
    let changes = 0;
    const source = { name: 'local', resolve: () => registry.resolve(), changes: () => changes };
    const { resolver } = resolverOver([source]);
    assert.equal((await resolver.resolve('name', '@')).id, 'first');
    registry.answer = undefined;
    assert.equal((await resolver.resolve('name', '@')).id, 'first');
    changes += 1;
    await assert.rejects(resolver.resolve('name', '@'), NameAbsent);
    registry.answer = target('second');
    changes += 1;
    assert.equal((await resolver.resolve('name', '@')).id, 'second');
    assert.equal(registry.asked, 3);
  });

  test('asks again for a name that was changed, whatever its record said, and believes little for a moment', async () => {
    const registry = new Registry();
    registry.answer = { ...target('first'), ttlSeconds: 86_400 };
    const { resolver, clock } = resolverOver([registry]);
    const shown = async (undername = '@') => (await resolver.resolve('name', undername)).id;
    await shown();
    await shown('docs');
    registry.answer = { ...target('second'), ttlSeconds: 86_400 };
    resolver.forget({ name: 'name', undername: '@' });
    resolver.forget({ name: 'other-name' });
    assert.deepEqual([await shown(), await shown('docs')], ['second', 'first']);
    resolver.forget({ name: 'name' });
    assert.deepEqual([await shown(), await shown('docs')], ['second', 'second']);
    // The node that was asked may have been behind the one that was written to.
    registry.answer = { ...target('third'), ttlSeconds: 86_400 };
    assert.equal(await shown(), 'second');
    clock.now += 2_001;
    assert.equal(await shown(), 'third');
  });

  test('what was asked before a change is not kept', async () => {
    const registry = new Registry();
    const { resolver } = resolverOver([registry]);
    const asked = Promise.withResolvers<void>();
    registry.wait = asked.promise;
    const before = resolver.resolve('name', '@');
    resolver.forget({ name: 'name', undername: '@' });
    registry.wait = Promise.resolve();
    registry.answer = target('second');
    assert.equal((await resolver.resolve('name', '@')).id, 'second');
    registry.answer = target('first');
    asked.resolve();
    assert.equal((await before).id, 'first');
    assert.equal((await resolver.resolve('name', '@')).id, 'second');
  });

  test('asks once however many wait', async () => {
    const registry = new Registry();
    const { promise, resolve } = Promise.withResolvers<void>();
    registry.wait = promise;
    const { resolver } = resolverOver([registry]);
    const all = [1, 2, 3].map(() => resolver.resolve('name', '@'));
    resolve();
    for (const one of await Promise.all(all)) assert.equal(one?.id, 'first');
    assert.equal(registry.asked, 1);
  });

  test('serves the stale answer while nobody can be asked, and while an answer is slow', async () => {
    const registry = new Registry();
    const { resolver, clock } = resolverOver([registry]);
    await resolver.resolve('name', '@');
    clock.now += 120_000;
    registry.answer = new Error('down');
    assert.equal((await resolver.resolve('name', '@'))?.id, 'first');
    registry.answer = target('second');
    const { promise, resolve } = Promise.withResolvers<void>();
    registry.wait = promise;
    assert.equal((await resolver.resolve('name', '@'))?.id, 'first');
    resolve();
    await new Promise((done) => setImmediate(done));
    assert.equal((await resolver.resolve('name', '@'))?.id, 'second');
  });

  test('a name that is gone is gone once that is known', async () => {
    const registry = new Registry();
    const { resolver, clock } = resolverOver([registry]);
    await resolver.resolve('name', '@');
    clock.now += 120_000;
    registry.answer = undefined;
    await assert.rejects(resolver.resolve('name', '@'), NameAbsent);
  });

  test('a name that not everybody was asked for is not gone, and is not remembered as such', async () => {
    const registry = new Registry();
    registry.answer = undefined;
    const other = new Registry();
    const limited = Object.assign(other, { asks: ({ hops }: { hops: number }) => hops < 3 });
    const { resolver, clock } = resolverOver([registry, limited]);
    const far = { hops: 3, via: [] };
    const isNotAsked = (error: unknown) => error instanceof Unavailable && error.state === 'not-asked';
    await assert.rejects(resolver.resolve('name', '@', far), isNotAsked);
    assert.equal((await resolver.resolve('name', '@')).id, 'first');
    clock.now += 120_000;
    assert.equal((await resolver.resolve('name', '@', far)).id, 'first', 'what was known is said rather');
    other.answer = new Unavailable('not-asked');
    clock.now += 120_000;
    await assert.rejects(resolverOver([registry, other]).resolver.resolve('other', '@'), isNotAsked);
  });

  test('an outage is 503, never "no such name"; the next source is asked', async () => {
    const registry = new Registry();
    registry.answer = new Error('down');
    const { resolver } = resolverOver([registry]);
    await assert.rejects(
      resolver.resolve('name', '@'),
      (error) => error instanceof HttpError && error.status === 503,
    );
    const other = new Registry();
    other.answer = target('other');
    assert.equal((await resolverOver([registry, other]).resolver.resolve('name', '@'))?.id, 'other');
    other.answer = undefined;
    await assert.rejects(resolverOver([registry, other]).resolver.resolve('name', '@'), HttpError);
  });
});

test('a name points nowhere by the word of a gateway that looked everywhere, and of no other', async (t) => {
  const client = new HttpClient({ timeoutMs: 10_000, maxBytes: 64 * 1024 });
  t.after(() => client.close());
  const none = await serve(saying(404));
  const unsure = await serve((_request, response) =>
    response.writeHead(404, { 'cache-control': 'no-store' }).end(),
  );
  const refusing = await serve(saying(451));
  const [no, maybe, untold] = [none, unsure, refusing].map(({ url }) => namesOfGateway(url, 'me', client));
  assert.ok(no && maybe && untold);
  await assert.rejects(resolverOver([no]).resolver.resolve('name', '@'), NameAbsent);
  await assert.rejects(resolverOver([no, maybe]).resolver.resolve('name', '@'), unavailable('not-asked'));
  await assert.rejects(resolverOver([no, untold]).resolver.resolve('name', '@'), unavailable('not-asked'));
});
