import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { ConfigError, createRedactor, describeConfig, misspeltVariables, readConfig } from './config.ts';
import { variables } from './variables.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnpike-value-files-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function file(content: string | Buffer, mode = 0o600): string {
  const path = join(folder, `value-${count++}`);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}
let count = 0;

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
  return [];
}

const isAddress = (kind: string): boolean => /\burls?\b/.test(kind);
const schemeOf = (name: string): string =>
  name.startsWith('DATABASE') ? 'postgres' : /^(?:BLOB|BACKUP)/.test(name) ? 's3' : 'https';

describe('values that are given as files', () => {
  test('every secret, and every address that may have a key in it, can be one', () => {
    const secrets = Object.entries(variables).filter(([, { secret }]) => secret);
    assert.ok(secrets.length >= 16);
    const config: Readonly<Record<string, unknown>> = readConfig(
      Object.fromEntries(
        secrets.map(([name, { kind }]) => [
          `${name}_FILE`,
          file(isAddress(kind) ? `${schemeOf(name)}://of-a-file\n` : `of-${name}\n`),
        ]),
      ),
    );
    for (const [name, { kind }] of secrets) {
      const expected = isAddress(kind) ? /^(s3|postgres|https?):\/\/of-a-file$/ : new RegExp(`^of-${name}$`);
      assert.match(String(config[name]), expected);
    }
    const urls = file('https://one.example/key,\n https://two.example/v2/key\r\n\n');
    assert.deepEqual(readConfig({ SOLANA_RPC_URL_FILE: urls }).SOLANA_RPC_URL, [
      'https://one.example/key',
      'https://two.example/v2/key',
    ]);
  });

  test('only line breaks at the end do not count', () => {
    assert.equal(readConfig({ ADMIN_TOKEN_FILE: file(' a b \r\n\n') }).ADMIN_TOKEN, ' a b ');
    assert.equal(readConfig({ ADMIN_TOKEN_FILE: file('one\ntwo') }).ADMIN_TOKEN, 'one\ntwo');
  });

  test('whoever may read or write the file besides its owner makes it useless, but for a group that reads', () => {
    for (const mode of [0o604, 0o602, 0o620, 0o666, 0o644, 0o444]) {
      const path = file('a-secret-of-many', mode);
      const [problem = ''] = problemsOf({ JWT_SECRET_FILE: path });
      assert.equal(
        problem,
        `JWT_SECRET_FILE ${path} is open to other users (mode ${mode.toString(8).padStart(4, '0')}): run "chmod 600 ${path}"`,
      );
    }
    for (const mode of [0o400, 0o600, 0o440, 0o640]) {
      assert.equal(readConfig({ JWT_SECRET_FILE: file('mine', mode) }).JWT_SECRET, 'mine');
    }
  });

  test('what cannot be a value is one line that names the file and never its content', () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', ['-m', '600', pipe]);
    for (const [path, words] of [
      [join(folder, 'nowhere'), /is not there: make it, or do not name it$/],
      [folder, /is not a file$/],
      [pipe, /is not a file$/],
      [file(''), /is empty$/],
      [file('\n\n'), /is empty$/],
      [file(Buffer.from([0x66, 0, 0x66])), /is not text$/],
      [file(Buffer.from([0xff, 0xfe, 0x66])), /is not text$/],
      [file('x'.repeat(70_000)), /is too large for a value \(70000 bytes\)$/],
    ] as const) {
      const problems = problemsOf({ STRIPE_WEBHOOK_SECRET_FILE: path });
      assert.equal(problems.length, 1);
      assert.match(problems[0] ?? '', words);
      assert.ok(problems[0]?.startsWith(`STRIPE_WEBHOOK_SECRET_FILE ${path} `), problems[0]);
    }
    assert.deepEqual(problemsOf({ DATABASE_URL_FILE: file('mysql://user:word@host/base') }), [
      'DATABASE_URL must be a URL that begins with postgres:// or postgresql://, not a secret value',
    ]);
  });

  test('a value and a file of it are an error; an empty one of the two counts as absent', () => {
    const path = file('of-the-file');
    assert.deepEqual(problemsOf({ ADMIN_API_KEY: 'x', ADMIN_API_KEY_FILE: path }), [
      'ADMIN_API_KEY and ADMIN_API_KEY_FILE are both set: unset one of them',
    ]);
    assert.equal(readConfig({ ADMIN_API_KEY: '', ADMIN_API_KEY_FILE: path }).ADMIN_API_KEY, 'of-the-file');
    assert.equal(readConfig({ ADMIN_API_KEY: 'x', ADMIN_API_KEY_FILE: '' }).ADMIN_API_KEY, 'x');
  });

  test('they are shown nowhere, the file is, and a misspelt name of one is told', () => {
    const path = file('a-word-that-is-secret');
    const environment = { RETURN_EVM_KEY_FILE: path };
    const row = describeConfig(environment).find(({ name }) => name === 'RETURN_EVM_KEY');
    assert.equal(row?.current, `in ${path}`);
    assert.equal(createRedactor(environment)('x a-word-that-is-secret y'), 'x (hidden) y');
    assert.deepEqual(misspeltVariables({ RETURN_EVM_KEY_FILE: path, DATABASE_URL_FLE: path }), [
      'DATABASE_URL_FLE is set and means nothing here: is DATABASE_URL_FILE meant?',
    ]);
  });
});
