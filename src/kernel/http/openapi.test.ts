import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, describe, test } from 'node:test';
import Type from 'typebox';
import { testServer } from '../testing.ts';
import { constraintText, schemaText } from './openapi.ts';

describe('the documents of a surface', () => {
  const server = testServer({
    title: 'Payment <script>',
    description: 'Credits & prices.',
    version: '1.2.3',
  });
  server.mount(
    (app) => {
      app.get(
        '/price/:bytes',
        {
          schema: {
            summary: 'Price of bytes',
            tags: ['Prices'],
            params: Type.Object({
              bytes: Type.String({ pattern: '^[0-9]+$', description: 'How many <bytes>' }),
            }),
            querystring: Type.Object({ currency: Type.Optional(Type.String({ maxLength: 3 })) }),
            response: { 200: Type.Object({ winc: Type.String(), fees: Type.Array(Type.Number()) }) },
          },
        },
        async () => ({ winc: '1', fees: [] }),
      );
      app.post('/buy', { schema: { body: Type.Object({ years: Type.Integer() }) } }, async () => ({}));
    },
    ['/v1', ''],
  );
  server.app.get('/added-at-once', async () => ({}));
  after(() => server.close());

  test('HEAD of a document says what GET would', async () => {
    for (const url of ['/openapi.json', '/api-docs']) {
      const got = await server.app.inject({ method: 'GET', url });
      const asked = await server.app.inject({ method: 'HEAD', url });
      assert.equal(asked.statusCode, 200);
      for (const name of ['content-type', 'content-length'])
        assert.equal(asked.headers[name], got.headers[name]);
    }
  });

  test('the OpenAPI document has every route once, under its first prefix', async () => {
    const answer = await server.app.inject('/openapi.json');
    const document = answer.json();
    assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
    assert.match(document.openapi, /^3\./);
    assert.deepEqual(Object.keys(document.paths).sort(), ['/added-at-once', '/v1/buy', '/v1/price/{bytes}']);
    assert.deepEqual(document.info, {
      title: 'Payment <script>',
      description: 'Credits & prices.',
      version: '1.2.3',
    });
    const { parameters } = document.paths['/v1/price/{bytes}'].get;
    assert.deepEqual(
      parameters.map((parameter: { name: string; required: boolean }) => [
        parameter.name,
        parameter.required,
      ]),
      [
        ['currency', false],
        ['bytes', true],
      ],
    );
  });

  test('the page shows routes, parameters and answers, with everything escaped', async () => {
    const { body, headers } = await server.app.inject('/api-docs');
    assert.equal(headers['content-type'], 'text/html; charset=utf-8');
    for (const part of [
      '/v1/price/{bytes}',
      'Price of bytes',
      'How many &lt;bytes&gt;',
      'at most 3 characters',
      'fees: number[]',
    ]) {
      assert.ok(body.includes(part), part);
    }
    assert.ok(body.includes('<title>Payment &lt;script&gt;</title>'));
    assert.ok(!body.includes('<script'));
  });

  test('the page loads nothing and its policy allows only its own style', async () => {
    const { body, headers } = await server.app.inject('/api-docs');
    const policy = String(headers['content-security-policy']);
    const style = /<style>([\s\S]*?)<\/style>/.exec(body)?.[1] ?? '';
    assert.ok(style.length > 500);
    assert.ok(policy.includes(`style-src 'sha256-${hash('sha256', style, 'base64')}'`));
    assert.ok(policy.startsWith("default-src 'none';") && !policy.includes('unsafe'));
    assert.doesNotMatch(body, /(?:src|href)="(?:https?:)?\/\/| style=/);
  });

  test('every link of the page leads to something on it', async () => {
    const { body } = await server.app.inject('/api-docs');
    const targets = [...body.matchAll(/href="#([^"]+)"/g)].map((match) => match[1]);
    assert.equal(targets.length, 3);
    for (const target of targets) assert.ok(body.includes(`id="${target}"`), target);
  });

  test('a surface can do without', async () => {
    const quiet = testServer({ docs: false });
    assert.equal((await quiet.app.inject('/openapi.json')).statusCode, 404);
    assert.equal((await quiet.app.inject('/api-docs')).statusCode, 404);
    await quiet.close();
  });
});

describe('schemas as one reads them', () => {
  const document = { components: { schemas: { Name: { type: 'string' } } } };
  const cases: [unknown, string][] = [
    [{ type: 'string' }, 'string'],
    [{ const: 'a' }, '"a"'],
    [{ enum: ['a', 1] }, '"a" | 1'],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'string | null'],
    [{ type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }] } }, '(string | number)[]'],
    [{ type: 'object' }, 'object'],
    [
      {
        type: 'object',
        properties: { a: { type: 'array', items: { type: 'object', properties: { b: {} } } } },
      },
      '{\n  a?: {\n    b?: any,\n  }[],\n}',
    ],
    [{ type: 'object', additionalProperties: { type: 'number' } }, '{\n  [name]: number,\n}'],
    [{ $ref: '#/components/schemas/Name' }, 'string'],
    [{ $ref: '#/components/schemas/Missing' }, 'any'],
    [true, 'any'],
    [
      { type: 'object', required: ['a'], properties: { a: { type: 'string' }, 'b-c': { type: 'integer' } } },
      '{\n  a: string,\n  "b-c"?: integer,\n}',
    ],
  ];
  for (const [schema, text] of cases) {
    test(`${JSON.stringify(schema)} reads as ${JSON.stringify(text)}`, () => {
      assert.equal(schemaText(schema, document), text);
    });
  }

  test('a schema that contains itself ends', () => {
    const endless = {
      components: { schemas: { A: { type: 'array', items: { $ref: '#/components/schemas/A' } } } },
    };
    assert.match(schemaText({ $ref: '#/components/schemas/A' }, endless), /…/);
  });

  test('limits are told in words', () => {
    assert.equal(constraintText({ minimum: 1, maximum: 5 }), '1 to 5');
    assert.equal(
      constraintText({ minLength: 43, maxLength: 43, pattern: '^x$' }),
      '43 characters, matches ^x$',
    );
    assert.equal(constraintText({ minimum: 1, default: 2, format: 'int32' }), 'at least 1, int32, default 2');
  });
});
