/** Each way in which an id stays out of the index, or is not served, and what the operator is told of it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  type AdminGateway,
  makeItem,
  postBundle,
  startAdminGateway,
} from '../../../../test/support/admin-gateway.ts';
import { makeTransaction, text, until } from '../../../../test/support/local-gateway.ts';
import { bundleTags } from '../../../formats/ans104/bundle-header.ts';
import type { IdExplanation } from '../../../formats/gateway-admin-answers.ts';

const unknown = 'A'.repeat(43);
const startHeight = 3;

let gateway: AdminGateway;
/** Before START_HEIGHT. */
let early: string;

before(async () => {
  gateway = await startAdminGateway({
    overrides: {
      START_HEIGHT: String(startHeight),
      // What is early must not be seen before it is mined.
      ENABLE_MEMPOOL_WATCHER: 'false',
      ANS104_UNBUNDLE_FILTER: '{"not":{"tags":[{"name":"App-Name","value":"Noise"}]}}',
      ANS104_INDEX_FILTER: '{"or":[{"tags":[{"name":"Keep"}]}]}',
    },
  });
  early = await post(Buffer.from('early'));
  await text(`${gateway.stack.node.url}/mine/5`);
});
after(() => gateway.stop());

async function post(data: Buffer, tags: { name: string; value: string }[] = []): Promise<string> {
  const { transaction, post: send } = await makeTransaction(gateway.stack.node.url, data, tags);
  await send();
  await text(`${gateway.stack.node.url}/mine`);
  return transaction.id.toString('base64url');
}

async function why(id: string, bundle?: string): Promise<IdExplanation> {
  const { status, body } = await gateway.call(
    'GET',
    `why/${id}${bundle === undefined ? '' : `?bundle=${bundle}`}`,
  );
  assert.equal(status, 200, JSON.stringify(body));
  return body as IdExplanation;
}

const stateOf = async (id: string) =>
  ((await gateway.call('GET', `bundle-status/${id}`)).body as { state?: string }).state;

describe('why an id is out', () => {
  it('is not asked for what is no id', async () => {
    for (const path of ['why/short', `why/${unknown}?bundle=short`]) {
      assert.equal((await gateway.call('GET', path)).status, 400, path);
    }
  });

  it('nobody knows it', async () => {
    const told = await why(unknown);
    assert.deepEqual([told.indexed, told.bundle], [false, null]);
    assert.match(told.why.join(' '), /^Neither the index nor a node has it.*--bundle/);
  });

  it('its height is before the import begins', async () => {
    const told = await why(early);
    assert.match(
      told.why.join(' '),
      new RegExp(
        `^It is a transaction at height \\d, below START_HEIGHT \\(${startHeight}\\).*queue-tx ${early}`,
      ),
    );
  });

  it('the unbundle filter, and which part of it', async () => {
    const noise = await post(Buffer.alloc(64), [...bundleTags, { name: 'App-Name', value: 'Noise' }]);
    await until('it is skipped', async () => (await stateOf(noise)) === 'skipped');
    const told = await why(noise);
    assert.equal(told.indexed, true);
    assert.match(told.why[0] ?? '', /^It is indexed: a transaction at height \d+\.$/);
    assert.match(
      told.why[1] ?? '',
      /^Bundle \S+ was left unread: of ANS104_UNBUNDLE_FILTER, \$\.not excludes it, since .*Noise.* queue-bundle/,
    );
  });

  describe('an item of a bundle that was read', () => {
    let bundle: string;
    let kept: string;
    let left: string;
    let invalid: string;
    before(async () => {
      const items = [
        await makeItem({ data: Buffer.from('kept'), tags: [{ name: 'Keep', value: 'yes' }] }),
        await makeItem({ data: Buffer.from('left'), tags: [{ name: 'Type', value: 'other' }] }),
        await makeItem({ data: Buffer.from('invalid'), tags: [{ name: 'Keep', value: 'yes' }] }),
      ];
      [kept = '', left = '', invalid = ''] = items.map(({ id }) => id);
      // No such signature type.
      items[2]!.bytes.writeUInt16LE(77, 0);
      bundle = await postBundle(gateway.stack, items);
      await until('it is read', async () => (await stateOf(bundle)) === 'unbundled');
    });

    it('is indexed', async () => {
      const told = await why(kept, bundle);
      assert.equal(told.indexed, true);
      assert.match(
        told.why[0] ?? '',
        new RegExp(`^It is indexed: a data item of bundle ${bundle} at height \\d+\\.$`),
      );
    });

    it('is out by the index filter, and which part of it', async () => {
      const told = await why(left, bundle);
      assert.equal(told.indexed, false);
      assert.equal(told.bundle?.id, bundle);
      assert.match(
        told.why[0] ?? '',
        /1 of 3 items are indexed \(1 were invalid; ANS104_INDEX_FILTER kept 1 out/,
      );
      assert.equal(
        told.why[1],
        'The item is in it, and was not indexed: of ANS104_INDEX_FILTER, $.or[0].tags[0] wants a tag "Keep", and it has no tag of that name.',
      );
    });

    it('is invalid, or not in it', async () => {
      assert.match(
        (await why(invalid, bundle)).why[1] ?? '',
        /^The item is number 3 of the bundle and is not valid: /,
      );
      assert.equal((await why(unknown, bundle)).why[1], 'The bundle does not list the id among its 3 items.');
    });

    it('is blocked, by whom and why', async () => {
      await gateway.call('PUT', 'block-data', { id: kept, source: 'court', notes: 'case 7' });
      assert.equal((await why(kept)).why[0], 'It is blocked (court: case 7): it is answered 451.');
      await gateway.call('PUT', 'unblock-data', { id: kept });
    });
  });

  it('a bundle that could not be read, and its error', async () => {
    const broken = await post(Buffer.alloc(40, 0xff), [...bundleTags]);
    await until('it failed', async () => (await stateOf(broken)) === 'failed');
    assert.match(
      (await why(broken)).why[1] ?? '',
      /^Bundle \S+ could not be read: .+\. "turnpike admin queue-bundle/,
    );
    assert.match((await why(unknown, broken)).why[0] ?? '', /^Bundle \S+ could not be read: /);
  });

  it('a bundle that the gateway does not know', async () => {
    const told = (await why(unknown, early)).why;
    assert.equal(told[0], `Bundle ${early} is not indexed.`);
    assert.match(told[1] ?? '', /^Of the bundle: It is a transaction at height \d, below START_HEIGHT/);
  });
});
