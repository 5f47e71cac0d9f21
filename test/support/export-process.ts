/** Runs one export in a process of its own and prints its last status: limits of the process are the export's. */
import { Exporter } from '../../src/gateway/export/exporter.ts';
import { silentLog } from '../../src/kernel/testing.ts';

const { databaseUrl, dataDir, request } = JSON.parse(process.argv[2] ?? '');
const exporter = new Exporter({ databaseUrl, dataDir, log: silentLog });
exporter.start(request);
while (exporter.isRunning) await new Promise((done) => setTimeout(done, 20));
console.log(JSON.stringify(exporter.status));
