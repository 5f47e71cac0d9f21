import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { answererOf, answerInPlace } from './one-address.ts';

const id = `${'a'.repeat(42)}A`;

function requestOf(line: string, host = 'localhost:1984'): IncomingMessage {
  const [method = '', url = ''] = line.split(' ');
  return Object.assign(new IncomingMessage(new Socket()), { method, url, headers: { host } });
}

test('the node, the gateway and the control each answer their own', () => {
  for (const [answerer, ...lines] of [
    [
      'control',
      'GET /local',
      'POST /local/reset',
      'GET /reset',
      'GET /reset?now',
      'DELETE /local/snapshots/a',
    ],
    [
      'gateway',
      'POST /graphql',
      'GET /graphql?query=x',
      'OPTIONS /graphql',
      `GET /${id}`,
      `HEAD /${id}`,
      `GET /${id}/index.html`,
      `GET /${id}?a=b`,
      `GET /raw/${id}`,
      'GET /ar-io/info',
      'GET /ar-io/resolver/name',
      `GET http://localhost:1984/${id}`,
    ],
    [
      'node',
      'GET /',
      'GET /info',
      'GET /locals',
      'GET /resets',
      'POST /tx',
      `GET /tx/${id}`,
      `GET /tx/${id}/data`,
      `POST /${id}`,
      `GET /${id}x`,
      'GET /graphqlx',
      'GET /raw',
      'GET /mine',
      'GET /ar-io/admin/debug',
      'GET /gw/admin/debug',
    ],
  ] as const) {
    for (const line of lines) assert.equal(answererOf(requestOf(line)), answerer, line);
  }
});

test('hosts below localhost are the gateway’s, whatever the path', () => {
  assert.equal(answererOf(requestOf('GET /mine', 'name.localhost:1984')), 'gateway');
  const request = requestOf(`GET /${id}`, 'name.localhost:1984');
  answerInPlace(request);
  assert.equal(request.headers.host, 'name.localhost:1984');
  const plain = requestOf(`GET /${id}`);
  answerInPlace(plain);
  assert.match(plain.headers.host ?? '', /^127\.0\.0\.1:/);
});
