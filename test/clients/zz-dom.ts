import { openConsole } from './console-page.ts';
import { makeItem, uploadSample } from './explorer-samples.ts';

const underTest = await openConsole({
  LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '400',
  FREE_UPLOAD_LIMIT: '10000000',
});
const { upload = '', router, gateway } = underTest.stack.urls;
const text = await makeItem('text/markdown', '# Title\n\nsome *markdown*\n');
await uploadSample(upload, text);
await new Promise((r) => setTimeout(r, 2500));
const tab = await underTest.open('/explorer');
await tab.page.waitForTimeout(1500);
console.log(await tab.page.evaluate(`document.querySelector('.virtual tbody')?.outerHTML.slice(0, 3000)`));
console.log(
  await tab.page.evaluate(
    `JSON.stringify([...document.querySelectorAll('.virtual tbody tr:first-child td')].map(td => ({r: td.getBoundingClientRect(), c: getComputedStyle(td).color, v: getComputedStyle(td).visibility})))`,
  ),
);
for (const method of ['HEAD', 'HEAD', 'GET', 'HEAD']) {
  const a = await fetch(`${router}/raw/${text.id}`, { method });
  console.log(
    method,
    a.status,
    [...a.headers].filter(([n]) => n.startsWith('x-router')),
  );
  await a.text();
}
await tab.page.screenshot({ path: '/tmp/explorer-shots/dom.png', fullPage: true });
await underTest[Symbol.asyncDispose]();
