/** What a text that somebody searches for may be, told by its shape alone. Several things share a shape: all are tried. */
import { tryDecodePercent } from '../../../formats/percent-encoding.ts';
import { idOfSandboxLabel } from './ids.ts';

export type TargetKind =
  | 'height'
  | 'block'
  | 'id'
  | 'arweave'
  | 'ethereum'
  | 'solana'
  | 'signature'
  | 'name'
  | 'tag';

export interface SearchTarget {
  readonly kind: TargetKind;
  readonly value: string;
  /** Where it is shown. */
  readonly href: string;
}

/** Of a text that is looked at. */
const maxSearchLength = 4_096;

const id = /^[A-Za-z0-9_-]{43}$/;
const base58 = /^[1-9A-HJ-NP-Za-km-z]+$/;
const name = /^[a-z0-9](?:[a-z0-9-]{0,49}[a-z0-9])?$/;
const undername = /^[a-z0-9][a-z0-9_-]{0,60}_[a-z0-9](?:[a-z0-9-]{0,49}[a-z0-9])?$/;

/** The likeliest first; none for a text that is nothing of ours. */
export function searchTargets(text: string): readonly SearchTarget[] {
  const trimmed = text.trim().slice(0, maxSearchLength);
  if (trimmed === '') return [];
  if (/^https?:\/\//i.test(trimmed)) return unique(targetsOfUrl(trimmed));
  const scheme = /^ar:(?:\/\/)?([^/?#]+)/i.exec(trimmed);
  if (scheme !== null) return unique(targetsOfWord(scheme[1] ?? ''));
  const tag = tagTarget(trimmed);
  if (tag !== undefined) return [tag];
  return unique(targetsOfWord(trimmed));
}

/** `Name:Value`; the value may have colons too. */
function tagTarget(text: string): SearchTarget | undefined {
  const at = text.indexOf(':');
  if (at < 1) return undefined;
  const [tagName, value] = [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  if (tagName === '' || value === '') return undefined;
  return {
    kind: 'tag',
    value: `${tagName}:${value}`,
    href: `/tag/${encodeURIComponent(tagName)}/${encodeURIComponent(value)}`,
  };
}

function targetsOfWord(word: string): SearchTarget[] {
  const found: SearchTarget[] = [];
  const add = (kind: TargetKind, value: string, href: string) => found.push({ kind, value, href });
  if (/^[0-9]{1,15}$/.test(word)) add('height', word, `/block/${Number(word)}`);
  if (id.test(word)) {
    add('id', word, `/tx/${word}`);
    add('arweave', word, `/address/${word}`);
  }
  if (/^[A-Za-z0-9_-]{64}$/.test(word)) add('block', word, `/block/${word}`);
  if (/^0x[0-9a-fA-F]{40}$/.test(word)) add('ethereum', word, `/address/${word}`);
  if (base58.test(word)) {
    if (word.length >= 32 && word.length <= 44) add('solana', word, `/address/${word}`);
    if (word.length >= 86 && word.length <= 88) add('signature', word, `/explorer/solana/${word}`);
  }
  const labelled = idOfSandboxLabel(word.toLowerCase());
  if (labelled !== undefined) add('id', labelled, `/tx/${labelled}`);
  const lower = word.toLowerCase();
  const isOther = found.some(({ kind }) => kind !== 'height');
  if (!isOther && (name.test(lower) || undername.test(lower)))
    add('name', lower, `/name/${lower.slice(lower.lastIndexOf('_') + 1)}`);
  return found;
}

/** Of gateways, explorers and this console. */
function targetsOfUrl(text: string): SearchTarget[] {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return [];
  }
  const path = url.hash.startsWith('#/') ? url.hash.slice(1) : url.pathname;
  const segments = path
    .split('/')
    .filter((segment) => segment !== '')
    .map(decode);
  const found = targetsOfPath(segments);
  if (found.length > 0) return found;
  const [label = '', ...rest] = url.hostname.toLowerCase().split('.');
  const isAddress = url.hostname.startsWith('[') || /^[0-9.]+$/.test(url.hostname);
  if (rest.length === 0 || isAddress) return [];
  const labelled = idOfSandboxLabel(label);
  return labelled === undefined
    ? targetsOfWord(label).filter(({ kind }) => kind === 'name')
    : targetsOfWord(labelled).slice(0, 1);
}

/** Words that stand before what they name, and what may follow them. */
const places: Readonly<Record<string, readonly TargetKind[]>> = {
  tx: ['id', 'signature'],
  raw: ['id'],
  entity: ['id'],
  message: ['id'],
  'data-item': ['id'],
  block: ['height', 'block'],
  height: ['height'],
  hash: ['block'],
  address: ['arweave', 'ethereum', 'solana'],
  account: ['arweave', 'ethereum', 'solana'],
  wallet: ['arweave', 'ethereum', 'solana'],
  name: ['name'],
  names: ['name'],
  resolver: ['name'],
  register: ['name'],
};

function targetsOfPath(segments: readonly string[]): SearchTarget[] {
  for (const [at, segment] of segments.entries()) {
    const kinds = Object.hasOwn(places, segment) ? places[segment] : undefined;
    const next = segments[at + 1];
    if (kinds === undefined || next === undefined) continue;
    const found = targetsOfWord(next).filter(({ kind }) => kinds.includes(kind));
    if (found.length > 0) return found;
  }
  const first = segments.find((segment) => id.test(segment));
  return first === undefined ? [] : targetsOfWord(first).filter(({ kind }) => kind === 'id');
}

function unique(targets: readonly SearchTarget[]): readonly SearchTarget[] {
  return targets.filter(
    ({ href }, at) =>
      targets.findIndex((other) => other.href === href && other.kind === targets[at]?.kind) === at,
  );
}

function decode(segment: string): string {
  return tryDecodePercent(segment) ?? segment;
}
