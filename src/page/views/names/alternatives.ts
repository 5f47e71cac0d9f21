/** Names close to one that is taken. */
import { isArnsName } from '../../../formats/solana/name-rules.ts';

const endings = ['app', 'site', 'web', 'hq', 'io'];
const beginnings = ['my', 'the', 'get'];

/** Different from it and from each other; most alike first. */
export function alternativesTo(name: string, count: number): string[] {
  const bare = name.replaceAll('-', '');
  const spelled = [
    ...endings.map((ending) => `${name}-${ending}`),
    ...beginnings.map((beginning) => `${beginning}-${name}`),
    ...(bare === name ? [] : [bare]),
    ...['1', '2', '3'].map((digit) => `${name}${digit}`),
  ];
  return [...new Set(spelled)].filter((other) => other !== name && isArnsName(other)).slice(0, count);
}
