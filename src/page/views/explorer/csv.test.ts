import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeCsv } from './csv.ts';

test('rows become lines; quotes, line ends and formulas stay text', () => {
  const id = '-q7-MbGRpv1yE5XbC2FhWRk5cSWUmdGy_NJ0kx5cAbQ';
  const row = (type: string) => ({
    id,
    recipient: '',
    owner: { address: 'owner' },
    data: { size: '12', type },
    block: { height: 5, timestamp: 1_700_000_000 },
    bundledIn: null,
  });
  const text = writeCsv([row('text/plain'), row('=HYPERLINK("http://x","a")'), row('a\r\nb')]);
  assert.deepEqual(text.split('\r\n').slice(0, 3), [
    'id,block,time,content_type,bytes,owner,recipient,bundle',
    `${id},5,2023-11-14T22:13:20.000Z,text/plain,12,owner,,`,
    `${id},5,2023-11-14T22:13:20.000Z,"'=HYPERLINK(""http://x"",""a"")",12,owner,,`,
  ]);
  assert.match(text, /,"a\r\nb",/);
  assert.match(writeCsv([{ ...row('x'), block: null }]), new RegExp(`${id},,,x,12`));
});
