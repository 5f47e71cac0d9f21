/** The files of deploy/ name variables, ports, routes and metrics that exist, and settings that a start takes. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { checkSettings } from '../src/cli/stack/settings.ts';
import { contradictions } from '../src/cli/stack/world.ts';
import { describeConfig, readConfig } from '../src/config/config.ts';

const root = resolve(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, 'deploy', path), 'utf8');
const known = new Set(
  describeConfig().flatMap(({ name, file }) => (file === undefined ? [name] : [name, file])),
);
const surfaces = ['payment', 'upload', 'gateway', 'router'];

/** `NAME=value` of each line, quotes taken off. */
const environmentOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/^([A-Z][A-Z0-9_]*)=(.*)$/gm)].map(([, name = '', value = '']) => [
      name,
      value.replace(/^(['"])(.*)\1$/, '$2'),
    ]),
  );

/** `NAME: value` of a YAML map, and `{ name: NAME, value: "…" }` of a list. */
const variablesIn = (text: string): string[] => [
  ...[...text.matchAll(/^ +([A-Z][A-Z0-9_]+): /gm)].map(([, name = '']) => name),
  ...[...text.matchAll(/\{ name: ([A-Z][A-Z0-9_]+), value:/g)].map(([, name = '']) => name),
  ...[...text.matchAll(/^Environment=([A-Z].*)$/gm)].flatMap(([, list = '']) =>
    list.split(' ').map((one) => one.split('=', 1)[0] ?? ''),
  ),
];

/** What a start says to settings with a domain of one's own in them. */
function refusedBy(environment: Readonly<Record<string, string>>): string[] {
  const filled = Object.entries(environment).map(([name, value]) => [
    name,
    value.replaceAll('example.org', 'toll.dev'),
  ]);
  const config = readConfig(Object.fromEntries(filled));
  checkSettings(config, surfaces);
  return contradictions({ config, surfaces, heard: [], folder: undefined });
}

describe('the settings in deploy/', () => {
  const settings = environmentOf(read('turnpike.env'));

  it('are such that a start of everything takes them', () => {
    assert.ok(Object.keys(settings).length > 15);
    assert.deepEqual(
      Object.keys(settings).filter((name) => !known.has(name)),
      [],
    );
    assert.deepEqual(refusedBy(settings), []);
  });

  it('are such in Kubernetes, too', () => {
    const text = read('kubernetes/settings.yaml');
    const plain = Object.fromEntries(
      [...text.matchAll(/^ {2}([A-Z][A-Z0-9_]*): (.*)$/gm)].map(([, name = '', value = '']) => [
        name,
        value.replace(/^(['"])(.*)\1$/, '$2'),
      ]),
    );
    const given = Object.fromEntries(Object.entries(plain).filter(([name]) => !name.endsWith('_FILE')));
    assert.deepEqual(refusedBy(given), []);
  });

  it('name nobody who stands for others: what is not filled in is off', () => {
    const files = globSync('**/*.{env,conf,yaml}', { cwd: join(root, 'deploy') }).filter(
      (file) => !file.endsWith('.test.yaml'),
    );
    assert.ok(files.length > 15);
    for (const file of files) assert.doesNotMatch(read(file), /\.example(?!\\?[.\w])|0x(\w)\1{39}/, file);
    const hidden = [...read('turnpike.env').matchAll(/^#([A-Z][A-Z0-9_]*)=/gm)].map(([, name = '']) => name);
    assert.ok(hidden.length >= 4);
    assert.deepEqual(
      hidden.filter((name) => !known.has(name)),
      [],
    );
  });

  it('give processes with folders of their own every key that they share', () => {
    const page = readFileSync(join(root, 'docs/scaling.md'), 'utf8');
    const table = /^### Keys that all of them share$.*?(?=^Also equal)/ms.exec(page)?.[0] ?? '';
    const rows = [
      ...table.matchAll(
        /^\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) \| ((?:gateway|payment|upload|router)[a-z, ]*) \|/gm,
      ),
    ];
    const shared = rows.flatMap(([, names = '', list = '']) =>
      [...names.matchAll(/`([A-Z_]+)`/g)].map(([, name = '']) => ({ name, surfaces: list.split(', ') })),
    );
    assert.ok(shared.length >= 7, `${shared.length} keys`);
    const compose = read('container/compose.yaml');
    const pods = read('kubernetes/settings.yaml');
    const common = /^x-environment:.*?(?=^\S*services:)/ms.exec(compose)?.[0] ?? '';
    for (const { name, surfaces: whose } of shared) {
      const given = new RegExp(`^ +${name}(?:_FILE)?: `, 'm');
      assert.match(pods, given);
      for (const surface of whose) {
        // Of the router there is one container.
        if (surface === 'router') continue;
        const own = new RegExp(`^  ${surface}:.*?(?=^  \\w+:$)`, 'ms').exec(compose)?.[0] ?? '';
        assert.match(common + own, given, surface);
      }
    }
  });

  it('and the variables of units, containers and pods exist', () => {
    const own = new Set([
      'POSTGRES_USER',
      'POSTGRES_DB',
      'POSTGRES_PASSWORD_FILE',
      'XDG_CACHE_HOME',
      'NODE_OPTIONS',
      'MALLOC_ARENA_MAX',
    ]);
    const files = globSync('{systemd,container,kubernetes}/*.{service,conf,yaml}', {
      cwd: join(root, 'deploy'),
    });
    assert.ok(files.length > 10);
    const found = files.flatMap((file) => variablesIn(read(file)).map((name) => `${file} ${name}`));
    assert.ok(found.length > 40, `${found.length} variables`);
    assert.deepEqual(
      found.filter((one) => {
        const name = one.split(' ')[1] ?? '';
        return !known.has(name) && !own.has(name);
      }),
      [],
    );
  });
});

describe('the metrics in deploy/', () => {
  const source = globSync('src/**/*.ts', { cwd: root })
    .filter((file) => !file.endsWith('.test.ts'))
    .map((file) => readFileSync(join(root, file), 'utf8'))
    .join('\n');
  /** Made with the name of something before them. */
  const composed = [/^(?:router_|upload_)?scrub_(.+)$/, /^(?:rates|network)_(oracle_age_seconds)$/];
  const exists = (metric: string): boolean => {
    if (/^(?:up$|process_|nodejs_)/.test(metric)) return true;
    const name = metric.replace(/_(?:bucket|count|sum)$/, '');
    if (source.includes(`'${metric}'`) || source.includes(`'${name}'`)) return true;
    const tail = composed.flatMap((form) => form.exec(metric)?.[1] ?? []).at(0);
    return tail !== undefined && (source.includes(`'${tail}'`) || source.includes(`_${tail}\``));
  };
  /** Names that stand where only a metric can. */
  const metricsIn = (expression: string): string[] =>
    [...expression.matchAll(/\b([a-z][a-z0-9_]*_[a-z0-9_]+|up|webhooks)\b(?=\{|\[|\s|\)|$)/g)]
      .map(([, name = '']) => name)
      .filter(
        (name) => !/^(?:histogram_quantile|label_values|predict_linear|limit_type|queue_name)$/.test(name),
      );

  it('of the dashboards exist', () => {
    for (const file of globSync('grafana/*.json', { cwd: join(root, 'deploy') })) {
      const expressions = [...read(file).matchAll(/"expr": "(.*)",$/gm)].map(([, text = '']) =>
        text.replaceAll('\\"', '"'),
      );
      assert.ok(expressions.length > 12, file);
      for (const expression of expressions) {
        const found = metricsIn(expression.replace(/\bby \([^)]*\)/g, '').replace(/\{[^}]*\}/g, '{}'));
        assert.ok(found.length > 0, expression);
        assert.deepEqual(
          found.filter((name) => !exists(name)),
          [],
          `${file}: ${expression}`,
        );
      }
    }
  });

  it('of the alerts exist, and each alert says what it means and what to do', () => {
    const rules = read('prometheus/alerts.yaml')
      .split(/^ {6}- alert: /m)
      .slice(1);
    assert.ok(rules.length > 30);
    for (const rule of rules) {
      const [name = ''] = rule.split('\n', 1);
      const expression = /expr: (?:>-\n)?(.*?)\n {8}(?:for|labels):/s.exec(rule)?.[1] ?? '';
      const found = metricsIn(expression.replace(/\bby \([^)]*\)/g, '').replace(/\{[^}]*\}/g, '{}'));
      assert.ok(found.length > 0, `${name}: ${expression}`);
      assert.deepEqual(
        found.filter((metric) => !exists(metric)),
        [],
        name,
      );
      assert.match(rule, /severity: (?:page|ticket) /, name);
      assert.match(rule, /summary: ".+"/, name);
      assert.match(rule, /action: ".+"/, name);
    }
  });
});
