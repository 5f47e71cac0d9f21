/** The object store of the tests in a process of its own. */
import { startTestS3 } from '../src/storage/blobs/s3/testing.ts';
import { reportServer } from './report-server.ts';

reportServer((await startTestS3()).url);
process.on('disconnect', () => process.exit());
