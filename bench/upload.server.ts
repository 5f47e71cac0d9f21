/** The upload surface in a process of its own: `node upload.server.ts <folder> <two-prime|four-prime> [node url]`. */
import { createPrivateKey } from 'node:crypto';
import { makeFastRsaKey } from '../src/kernel/fast-rsa-key.ts';
import { startTestUpload } from '../src/upload/testing.ts';
import { arweaveKey } from '../src/wallets/arweave/rsa.ts';
import { testArweaveKey } from '../src/wallets/testing/keys.ts';

const [folder = '', kind = 'two-prime', nodeUrl] = process.argv.slice(2);
const receiptKey =
  kind === 'four-prime' ? arweaveKey(createPrivateKey(await makeFastRsaKey())) : testArweaveKey;
const upload = await startTestUpload(
  { FREE_UPLOAD_LIMIT: '0', BUNDLE_MAX_WAIT_MS: '3600000' },
  { receiptKey, now: Date.now, ...(nodeUrl === undefined ? {} : { arweaveNodeUrls: [nodeUrl] }) },
  { folder },
);
console.log(upload.url);
process.on('message', () => process.send?.({ rss: process.memoryUsage.rss(), cpu: process.cpuUsage() }));
process.on('disconnect', () => process.exit());
