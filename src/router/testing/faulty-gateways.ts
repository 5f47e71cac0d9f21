/** A router whose gateways misbehave as a test says, and a reader that believes complete bodies only. */
import { get as httpGet } from 'node:http';
import type { TestContext } from 'node:test';
import { type BenchOptions, type RouterBench, startRouterBench } from './router-bench.ts';
import { type Behaviour, type TestItem, testItem } from './stub-gateway.ts';

export const small = await testItem('small and right');
export const large = await testItem(Buffer.alloc(2_500_000, 'right '), 'application/octet-stream');
export const wrongBytes: Behaviour = {
  bytes: ({ data }) => Buffer.from(data).fill('wrong '),
};
export const lying: Behaviour = {
  ...wrongBytes,
  digest: () => `${'f'.repeat(42)}A`,
  contentType: 'text/html',
};

export async function benchOf(t: TestContext, options: BenchOptions = {}): Promise<RouterBench> {
  const bench = await startRouterBench({ items: [small, large], ...options });
  t.after(() => bench.stop());
  return bench;
}

export function behave(bench: RouterBench, ...behaviours: Behaviour[]): void {
  behaviours.forEach((behaviour, index) => {
    const gateway = bench.gateways[index];
    if (gateway !== undefined) gateway.behaviour = behaviour;
  });
}

/** The router tries the first gateway first. */
export const inTurn = { ROUTING_STRATEGY: 'round-robin' };

export async function readiness(bench: RouterBench): Promise<number> {
  return (await bench.get('/router/ready')).status;
}

/** What a client that only trusts complete bodies gets: bytes, or undefined when the connection was cut. */
export function download(
  bench: RouterBench,
  item: TestItem,
): Promise<{ status: number; type: string | undefined; body: Buffer } | undefined> {
  return new Promise((resolve) => {
    const asked = httpGet(`${bench.router.url}/${item.id}`, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          type: response.headers['content-type'],
          body: Buffer.concat(pieces),
        }),
      );
      response.on('error', () => resolve(undefined));
    });
    asked.on('error', () => resolve(undefined));
  });
}
