/** The upload surface in a process of its own, to be killed: `node upload-process.ts <folder> <node> <gateways> [<blob store>]`. */
import { startTestUpload } from '../../src/upload/testing.ts';
import { told } from './told-gateways.ts';

const [folder = '', nodeUrl = '', gateways = '', blobStoreUrl] = process.argv.slice(2);
const running = await startTestUpload(
  {
    BUNDLE_MAX_WAIT_MS: '0',
    BUNDLE_POLL_MS: '15',
    BUNDLE_CONFIRMATIONS: '2',
    BUNDLE_MAX_ITEMS: '20',
    ...(blobStoreUrl !== undefined && { BLOB_STORE_URL: blobStoreUrl }),
  },
  { arweaveNodeUrls: [nodeUrl], now: Date.now, ...told(gateways.split(',')) },
  { folder },
);
console.log(running.url);
