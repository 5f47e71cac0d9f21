import { openConsole } from './console-page.ts';
import {
  bundleOf,
  bundleTags,
  ethereum,
  hostilePage,
  hostileSvg,
  hostileTags,
  makeItem,
  manifestOf,
  png,
  uploadSample,
  wav,
} from './explorer-samples.ts';

const out = '/tmp/explorer-shots';
const underTest = await openConsole({
  LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '400',
  FREE_UPLOAD_LIMIT: '10000000',
});
const { upload = '', arweave = '' } = underTest.stack.urls;
const image = await makeItem('image/png', png(), [
  { name: 'File-Name', value: 'sunset.png' },
  { name: 'App-Name', value: 'Turnpike' },
]);
const svg = await makeItem('image/svg+xml', hostileSvg, hostileTags);
const html = await makeItem('text/html', hostilePage);
const json = await makeItem(
  'application/json',
  JSON.stringify({ a: [1, 2, { b: 'c' }], name: 'x' }),
  [],
  ethereum,
);
const text = await makeItem('text/markdown', '# Title\n\nsome *markdown*\n');
const sound = await makeItem('audio/wav', wav());
const bytes = await makeItem('application/octet-stream', Buffer.alloc(3000, 7));
const pdf = await makeItem('application/pdf', '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj 3 0 obj<</Type/Page/MediaBox[0 0 200 200]/Parent 2 0 R>>endobj trailer<</Root 1 0 R>>');
const manifest = await makeItem(
  'application/x.arweave-manifest+json',
  manifestOf(
    { 'index.html': html.id, 'img/sunset.png': image.id, 'img/deep/a.svg': svg.id, 'data.json': json.id },
    'index.html',
  ),
);
const inner = await makeItem('text/plain', 'inside a bundle in a bundle');
const nested = await makeItem('application/octet-stream', bundleOf([inner]), bundleTags);
const all = { pdf, image, svg, html, json, text, sound, bytes, manifest, nested, inner };
for (const [name, one] of Object.entries(all)) if (name !== 'inner') await uploadSample(upload, one);
await new Promise((r) => setTimeout(r, 4000));
const late = await makeItem('text/plain', 'just now');
console.log(JSON.stringify(underTest.stack.urls));
console.log(Object.fromEntries(Object.entries(all).map(([n, { id }]) => [n, id])));
const only = process.argv[2]?.split(',');
const shots: [string, string, number, 'light' | 'dark'][] = [
  ['latest', '/explorer', 1440, 'light'],
  ['latest-phone', '/explorer', 390, 'dark'],
  ['filter', '/explorer?tag=App-Name:Turnpike', 1440, 'dark'],
  ['image', `/tx/${image.id}`, 1440, 'light'],
  ['image-phone', `/tx/${image.id}`, 390, 'light'],
  ['svg', `/tx/${svg.id}`, 1440, 'dark'],
  ['html', `/tx/${html.id}`, 1440, 'light'],
  ['json', `/tx/${json.id}`, 1440, 'light'],
  ['manifest', `/tx/${manifest.id}`, 1440, 'light'],
  ['nested', `/tx/${nested.id}`, 1440, 'light'],
  ['inner', `/tx/${inner.id}`, 1440, 'dark'],
  ['bytes', `/tx/${bytes.id}`, 1440, 'light'],
  ['sound', `/tx/${sound.id}`, 1440, 'light'],
  ['pdf', `/tx/${pdf.id}`, 1440, 'light'],['block', '/block/5', 1440, 'light'],
  [
    'graphql',
    '/explorer/graphql?query=%7B%20blocks(first%3A2)%20%7B%20edges%20%7B%20node%20%7B%20height%20%7D%20%7D%20%7D%20%7D',
    1440,
    'light',
  ],
  ['search-none', '/search?q=nobody-has-this', 1440, 'light'],
  ['search-many', '/search?q=5', 1440, 'light'],
  ['receipt', '/explorer/receipt', 1440, 'light'],
  ['notfound', `/tx/${'A'.repeat(43)}`, 390, 'light'],
];
const tab = await underTest.open('/explorer');
const owner = await (
  await fetch(`${underTest.stack.urls.gateway}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: `{transaction(id:"${json.id}"){owner{address}}}` }),
  })
).json();
shots.push(['address', `/address/${owner.data.transaction.owner.address}`, 1440, 'light']);
for (const [name, path, width, scheme] of shots) {
  if (only && !only.includes(name)) continue;
  await tab.page.setViewportSize({ width, height: 900 });
  await tab.page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
  await tab.go(path);
  await tab.page.waitForTimeout(1200);
  if (name === 'html') {
    await tab.page.getByRole('button', { name: 'Show the page' }).click();
    await tab.page.waitForTimeout(800);
  }
  if (name === 'image' || name === 'json' || name === 'inner') {
    await tab.page.getByRole('button', { name: 'Verify in this browser' }).click();
    await tab.page.waitForTimeout(800);
  }
  await tab.page.screenshot({ path: `${out}/${name}.png`, fullPage: true });
  console.log(name, tab.page.url(), tab.complaints.splice(0));
}
await underTest[Symbol.asyncDispose]();
