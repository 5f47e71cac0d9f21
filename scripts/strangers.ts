/**
 * A stranger tries everything, for as long as is said: `npm run strangers -- --seed 7 --requests 100000`.
 *
 *   --seed S        which run; told again when something is found
 *   --requests N    how many requests the stranger sends (20000)
 *   --keep-going    goes on after something was found, and tells each kind once
 *   --bound         the services demand signatures that are bound to them
 *   --cross-service what was made for one service must not hold at the other (with --bound always)
 *
 * Ends with 3 when a bystander lost something or something private was shown, with 1 when it could not be tried.
 */
import { parseArgs } from 'node:util';
import { run } from '../test/strangers/run.ts';
import { foundCode } from './mends/found-code.ts';

if (process.argv[1] === import.meta.filename) await main();

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      requests: { type: 'string', default: '20000' },
      'keep-going': { type: 'boolean', default: false },
      bound: { type: 'boolean', default: false },
      'cross-service': { type: 'boolean', default: false },
      routes: { type: 'boolean', default: false },
    },
  });
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
  const requests = Number(values.requests);
  if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(requests) || requests < 1) {
    console.error('--seed and --requests are whole numbers');
    process.exit(2);
  }
  console.log(`seed ${seed}, ${requests} requests`);
  const report = await run({
    seed,
    requests,
    bound: values.bound,
    ...(values['cross-service'] && { crossService: true }),
    keepGoing: values['keep-going'],
  });
  console.log(
    `${report.requests} requests in ${report.seconds.toFixed(1)} s, ${Math.round(report.requests / report.seconds)} a second; ` +
      `${report.asked} of ${report.routes} routes asked, ${report.succeeded} answered with success; ` +
      `answers ${JSON.stringify(report.statuses)}`,
  );
  if (values.routes) for (const route of report.notAsked) console.log(`  not asked: ${route}`);
  for (const hit of report.hits) {
    console.log(`\nFOUND after ${hit.request} requests, by ${hit.scenario} (seed ${hit.seed}):`);
    for (const what of hit.what.slice(0, 6)) console.log(`  ${what}`);
    for (const request of hit.requests) console.log(`    ${request}`);
  }
  console.log(
    report.hits.length === 0 ? 'nothing was lost, nothing was shown' : `\n${report.hits.length} found`,
  );
  process.exit(report.hits.length === 0 ? 0 : foundCode);
}
