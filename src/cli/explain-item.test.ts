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
const away: AdminClient = { call: () => Promise.reject(new StartupError('the gateway does not answer')) };

test('says what the upload service says, and what the gateway made of the bundle', async () => {
  const upload = service({ 'items/I': { why: 'It waits.', inBundle: { txId: 'B' } } });
  const read = { state: 'failed', dataItemCount: 3, matchedDataItemCount: 2, lastError: 'cut short' };
  const gateway = service({ 'bundle-status/B': read });
  assert.deepEqual((await explainItem({ upload, gateway }, 'I')).sentences, [
    'It waits.',
    'At the gateway bundle B is failed, 2 of 3 items indexed, last error "cut short".',
  ]);
  const untold = await explainItem({ upload, gateway: service({}) }, 'I');
  assert.deepEqual(untold.sentences, ['It waits.']);
});

test('an item that nobody has, and a gateway that is away, are said so', async () => {
  const nobody = await explainItem({ upload: service({}), gateway: service({}) }, 'I');
  assert.deepEqual(nobody.sentences, [
    'The upload service does not have it: it was not uploaded there, or not with success.',
    'The gateway knows no bundle of this id either.',
  ]);
  const upload = service({ 'items/I': { why: 'It waits.', inBundle: null } });
  assert.deepEqual((await explainItem({ upload, gateway: away }, 'I')).sentences, [
    'It waits.',
    'The gateway could not be asked: the gateway does not answer',
  ]);
  await assert.rejects(explainItem({ upload: away, gateway: away }, 'I'), /does not answer/);
});
