import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StartupError } from '../kernel/errors.ts';
import { type AdminClient, AdminRefusal } from './admin-clients.ts';
import { explainItem } from './explain-item.ts';

/** Answers by path; what is not there is 404. */
function service(answers: Record<string, Record<string, unknown>>): AdminClient {
  return {
    async call(_method, path) {
      const answer = answers[path];
      if (answer === undefined) throw new AdminRefusal(404, 'not found');
      return answer;
    },
  };
}
const away: AdminClient = { call: () => Promise.reject(new StartupError('it does not answer')) };

test('says what the upload service says, and asks the gateway about the bundle that it named', async () => {
  const upload = service({ 'items/I': { why: 'It waits.', inBundle: { txId: 'B' } } });
  const gateway = service({
    'why/I?bundle=B': { indexed: false, bundle: { state: 'failed' }, why: ['Bundle B could not be read.'] },
  });
  const told = await explainItem({ upload, gateway }, 'I');
  assert.deepEqual(told.sentences, ['It waits.', 'Gateway: Bundle B could not be read.']);
  assert.deepEqual([told.indexed, told.bundle?.state], [false, 'failed']);
});

test('a bundle that is given wins, and is all that is known of what was uploaded elsewhere', async () => {
  const gateway = service({ 'why/I?bundle=C': { indexed: false, bundle: null, why: ['Not in it.'] } });
  assert.deepEqual((await explainItem({ upload: service({}), gateway }, 'I', 'C')).sentences, [
    'The upload service does not have it: it was not uploaded there, or not with success.',
    'Gateway: Not in it.',
  ]);
});

test('a service that is away is said so, and the other asked all the same', async () => {
  const upload = service({ 'items/I': { why: 'It waits.', inBundle: null } });
  assert.deepEqual((await explainItem({ upload, gateway: away }, 'I')).sentences, [
    'It waits.',
    'The gateway could not be asked: it does not answer',
  ]);
  const gateway = service({ 'why/I': { indexed: true, bundle: null, why: ['It is indexed.'] } });
  assert.deepEqual((await explainItem({ upload: away, gateway }, 'I')).sentences, [
    'The upload service could not be asked: it does not answer',
    'Gateway: It is indexed.',
  ]);
  await assert.rejects(explainItem({ upload: away, gateway: away }, 'I'), /does not answer/);
});
