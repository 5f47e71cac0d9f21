/**
 * An uploader's page in a real browser tries to take what the operator's own page stored, and to stay: at every host
 * that is not its own, by every way there. At its own host it may do what any page may.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { isTxId } from '../../src/formats/base64url.ts';
import { manifestContentType } from '../../src/formats/manifest/manifest.ts';
import { sandboxLabel } from '../../src/formats/sandbox-label.ts';
import { startRouterBench } from '../../src/router/testing/router-bench.ts';
import { testItem } from '../../src/router/testing/stub-gateway.ts';
import { makeItem, postBundle, startAdminGateway } from '../support/admin-gateway.ts';
import { until } from '../support/local-gateway.ts';
import { launchChromium, noChromium } from './chromium.ts';

const secret = 'what the operator’s page keeps';
const apexPage = `<!doctype html><title>apex</title><script>
  localStorage.setItem('secret', ${JSON.stringify(secret)});
</script>`;
const foreignPage = '<!doctype html><title>foreign</title><script>document.title += " ran"</script>ünï ☃';
const drawing =
  '<svg xmlns="http://www.w3.org/2000/svg" width="7" height="5"><script>document.documentElement.id = "ran"</script></svg>';
const worker = 'self.addEventListener("fetch", () => {});';
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const manifestOf = (page: string, script: string): string =>
  JSON.stringify({
    manifest: 'arweave/paths',
    version: '0.2.0',
    index: { path: 'index.html' },
    paths: { 'index.html': { id: page }, 'worker.js': { id: script } },
  });

interface Ids {
  readonly apex: string;
  readonly page: string;
  readonly drawing: string;
  readonly worker: string;
  readonly pixel: string;
  readonly site: string;
}

/** A server with an apex and the uploads of a stranger. */
interface Place {
  readonly root: string;
  readonly ids: Ids;
  url(): string;
  restart(environment: Record<string, string>): Promise<void>;
  stop(): Promise<void>;
}

interface Made {
  readonly id: string;
}

async function uploads<T extends Made>(make: (data: string | Buffer, type: string) => Promise<T>) {
  const made = {
    apex: await make(apexPage, 'text/html'),
    page: await make(foreignPage, 'text/html'),
    drawing: await make(drawing, 'image/svg+xml'),
    worker: await make(worker, 'application/javascript'),
    pixel: await make(pixel, 'image/png'),
  };
  const site = await make(manifestOf(made.page.id, made.worker.id), manifestContentType);
  const ids: Ids = {
    apex: made.apex.id,
    page: made.page.id,
    drawing: made.drawing.id,
    worker: made.worker.id,
    pixel: made.pixel.id,
    site: site.id,
  };
  return { ids, items: [...Object.values(made), site] };
}

/** Browsers know every host below localhost, and let its pages have service workers. */
async function gatewayPlace(): Promise<Place> {
  const root = 'gateway.localhost';
  const gateway = await startAdminGateway({ overrides: { ARNS_ROOT_HOST: `${root},localhost` } });
  const { ids, items } = await uploads((data, type) =>
    makeItem({ data: Buffer.from(data), tags: [{ name: 'Content-Type', value: type }] }),
  );
  await postBundle(gateway.stack, items);
  await until('the items are read', async () => (await gateway.inside.index.locate(ids.site))?.placement);
  const restart = (environment: Record<string, string>) =>
    gateway.restart({ APEX_TX_ID: ids.apex, ...environment });
  return { root, ids, url: () => gateway.url, restart, stop: () => gateway.stop() };
}

async function routerPlace(): Promise<Place> {
  const root = 'router.localhost';
  const { ids, items } = await uploads((data, type) => testItem(data, type));
  const environment = { BASE_DOMAIN: root, ROOT_HOST_CONTENT: ids.apex };
  const bench = await startRouterBench({ items, environment });
  return {
    root,
    ids,
    url: () => bench.router.url,
    restart: (more) => bench.restart(more),
    stop: () => bench.stop(),
  };
}

/** What a script of the page gets at. */
async function plunder(page: Page, scripts: readonly string[]) {
  return await page.evaluate(async (urls) => {
    const attempt = async (work: () => unknown): Promise<unknown> => {
      try {
        return (await work()) ?? null;
      } catch {
        return 'refused';
      }
    };
    const workers: unknown[] = [];
    for (const url of urls) {
      workers.push(
        await attempt(async () => {
          const registration = await navigator.serviceWorker.register(url);
          await registration.unregister();
          return 'registered';
        }),
      );
    }
    return {
      secret: await attempt(() => localStorage.getItem('secret')),
      cookies: await attempt(() => document.cookie),
      databases: await attempt(async () => (await indexedDB.databases()).length),
      caches: await attempt(async () => (await caches.keys()).length),
      framed: await attempt(() => {
        // In a drawing too, whose own elements are no frames.
        const frame = document.createElementNS('http://www.w3.org/1999/xhtml', 'iframe');
        if (!(frame instanceof HTMLIFrameElement)) throw new Error('no frame');
        return new Promise((resolve, reject) => {
          frame.onload = () => resolve(frame.contentDocument?.title ?? 'closed');
          setTimeout(reject, 30_000, new Error('the frame shows nothing'));
          frame.src = '/';
          document.documentElement.append(frame);
        });
      }),
      workers,
    };
  }, scripts);
}

for (const [name, start] of [
  ['gateway', gatewayPlace],
  ['router', routerPlace],
] as const) {
  describe(`pages at the ${name}`, { skip: noChromium }, () => {
    let browser: Browser;
    let context: BrowserContext;
    let place: Place;

    before(async () => {
      place = await start();
      browser = await launchChromium();
    });
    after(async () => {
      await browser?.close();
      await place?.stop();
    });

    const at = (host: string, path: string): string => {
      const url = new URL(path, place.url());
      url.hostname = host;
      return url.href;
    };
    const sandboxOf = (id: string): string => {
      assert.ok(isTxId(id));
      return `${sandboxLabel(id)}.${place.root}`;
    };
    /** Pages of a stranger at hosts that are not theirs, and what they would keep running. */
    const intrusions = (): [string, string][] => {
      const { page, drawing: svg, site } = place.ids;
      const ways: [string, string][] = [
        [place.root, `/raw/${page}`],
        [place.root, `/raw/${svg}`],
        ['127.0.0.1', `/raw/${page}`],
        ['127.0.0.1', `/${page}`],
        ['127.0.0.1', `/${svg}`],
        ['127.0.0.1', `/${site}/`],
      ];
      return name === 'gateway' ? [...ways, [place.root, `/local/social/frame/${page}`]] : ways;
    };
    const scripts = (host: string): string[] => {
      const { worker: script, site } = place.ids;
      const inPlace = host === '127.0.0.1' ? [`/${script}`, `/${site}/worker.js`] : [];
      return [`/raw/${script}`, ...inPlace];
    };

    /** A browser that has been at the apex, as everybody who is robbed has. */
    const visit = async (environment: Record<string, string>): Promise<Page> => {
      await place.restart(environment);
      await context?.close();
      context = await browser.newContext();
      context.setDefaultTimeout(60_000);
      const page = await context.newPage();
      for (const host of [place.root, '127.0.0.1']) {
        await page.goto(at(host, '/'));
        assert.equal(await page.title(), 'apex');
        assert.equal(await page.evaluate(() => localStorage.getItem('secret')), secret);
      }
      return page;
    };

    test('a stranger’s page takes nothing and leaves nothing at a host that is not its own', async () => {
      const page = await visit({});
      for (const [host, path] of intrusions()) {
        await page.goto(at(host, path));
        const ran = path.includes(place.ids.drawing)
          ? await page.evaluate(() => document.documentElement.id)
          : await page.title();
        assert.match(ran, /ran$/, `${path}: its scripts run`);
        assert.deepEqual(
          await plunder(page, scripts(host)),
          {
            secret: 'refused',
            cookies: 'refused',
            databases: 'refused',
            caches: 'refused',
            framed: 'closed',
            workers: scripts(host).map(() => 'refused'),
          },
          `${host}${path}`,
        );
      }
      // Not even the operator's page can be talked into keeping a stranger's script.
      for (const host of [place.root, '127.0.0.1']) {
        await page.goto(at(host, '/'));
        const { workers, secret: own } = await plunder(page, scripts(host));
        assert.deepEqual([own, workers], [secret, scripts(host).map(() => 'refused')]);
      }
    });

    test('without isolation the same page takes and keeps all of it', async () => {
      const page = await visit({ ISOLATE_ACTIVE_CONTENT: 'false' });
      for (const [host, path] of intrusions()) {
        await page.goto(at(host, path));
        const { secret: taken, framed, workers } = await plunder(page, scripts(host));
        assert.deepEqual(
          [taken, framed, workers],
          [secret, 'apex', scripts(host).map(() => 'registered')],
          `${host}${path}`,
        );
      }
    });

    test('at its own host a page has storage, a service worker and everybody’s content', async () => {
      const page = await visit({});
      const { site, pixel: image, drawing: svg } = place.ids;
      await page.goto(at(place.root, `/${site}/`));
      assert.equal(new URL(page.url()).hostname, sandboxOf(site));
      assert.match(await page.evaluate(() => document.body.textContent ?? ''), /ünï ☃/, 'read as UTF-8');
      const sources = [image, svg].map((id) => at(place.root, `/raw/${id}`));
      const got = await page.evaluate(async (urls) => {
        localStorage.setItem('own', 'kept');
        const registration = await navigator.serviceWorker.register('worker.js');
        await registration.unregister();
        const load = (url: string) =>
          new Promise<string>((resolve) => {
            const image = new Image();
            image.onload = () => resolve(`${image.naturalWidth}x${image.naturalHeight}`);
            image.onerror = () => resolve('broken');
            image.src = url;
          });
        const sizes = await Promise.all(urls.map((url) => fetch(url).then((answer) => answer.arrayBuffer())));
        return {
          own: localStorage.getItem('own'),
          others: localStorage.getItem('secret'),
          shown: await Promise.all(urls.map(load)),
          fetched: sizes.map(({ byteLength }) => byteLength),
        };
      }, sources);
      assert.deepEqual(got, {
        own: 'kept',
        others: null,
        shown: ['1x1', '7x5'],
        fetched: [pixel.length, drawing.length],
      });
    });

    test('a page without an origin still reads content, and shows text as it was written', async () => {
      const page = await visit({});
      await page.goto(at('127.0.0.1', `/${place.ids.page}`));
      assert.match(await page.evaluate(() => document.body.textContent ?? ''), /ünï ☃/);
      const status = await page.evaluate(
        async (path) => (await fetch(path)).status,
        `/raw/${place.ids.pixel}`,
      );
      assert.equal(status, 200);
    });

    if (name === 'gateway') {
      test('on localhost an application opens at its own host below it, and has storage', async () => {
        const page = await visit({});
        const { site } = place.ids;
        await page.goto(at('localhost', `/${site}/?from=here`));
        assert.equal(page.url(), at(`${sandboxOf(site).split('.')[0]}.localhost`, `/${site}/?from=here`));
        await page.evaluate(() => localStorage.setItem('own', 'kept'));
        await page.goto(at('localhost', `/${site}/`));
        assert.equal(await page.evaluate(() => localStorage.getItem('own')), 'kept');
      });
    }
  });
}
