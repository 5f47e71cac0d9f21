/** The fork in the wiring: started before those that read from it, and told in the table of addresses. */
import type { Fork } from '../../fork/fork.ts';
import type { Surface } from '../../kernel/part.ts';

export function forkSurfaces(fork: Fork | undefined): Surface[] {
  if (fork === undefined) return [];
  const { start, stop } = fork;
  return [{ name: 'fork', url: '', start, drain: async () => true, stop }];
}

/** Lines of the table: whose the networks are, and that nothing is written there. */
export function forkLines(fork: Fork | undefined): { name: string; url: string; what: string }[] {
  if (fork === undefined) return [];
  const { gateway, solana, height } = fork.info;
  const upTo = height === null ? '' : ` up to height ${height}`;
  const lines = [
    { name: 'fork', url: gateway, what: `read-only: what is not here is read from there${upTo}` },
    { name: 'fork-solana', url: solana, what: 'read-only: accounts that are not here are taken from there' },
  ];
  return lines.flatMap(({ url, ...line }) => (url === null ? [] : [{ ...line, url }]));
}
