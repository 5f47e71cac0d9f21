/** Filters compiled to predicates: conditions are prepared once, a record is judged without allocation. */
import { hash } from 'node:crypto';
import type { RawTag } from '../chain-index/tags.ts';
import type { Filter, HashPartition, TagCondition } from './filter.ts';

export interface Subject {
  readonly tags: readonly RawTag[];
  /** An attribute by name; undefined where the subject has none. Asked only when a filter names it. */
  attribute(name: string): string | number | undefined;
}

export type Predicate = (subject: Subject) => boolean;

export function compileFilter(filter: Filter): Predicate {
  if ('always' in filter) return () => true;
  if ('never' in filter) return () => false;
  if ('tags' in filter) return tagsPredicate(filter.tags);
  if ('attributes' in filter) return attributesPredicate(filter.attributes);
  if ('isNestedBundle' in filter) return isNested;
  if ('hashPartition' in filter) return partitionPredicate(filter.hashPartition);
  if ('not' in filter) {
    const inner = compileFilter(filter.not);
    return (subject) => !inner(subject);
  }
  if ('and' in filter) {
    const all = filter.and.map(compileFilter);
    return (subject) => all.every((one) => one(subject));
  }
  const any = filter.or.map(compileFilter);
  return (subject) => any.some((one) => one(subject));
}

/** True when no record can ever pass: work that only feeds the filter need not be done. */
export function neverMatches(filter: Filter): boolean {
  if ('never' in filter) return true;
  if ('not' in filter) return 'always' in filter.not;
  if ('and' in filter) return filter.and.some(neverMatches);
  return 'or' in filter && filter.or.every(neverMatches);
}

const isNested: Predicate = (subject) => (subject.attribute('parent_id') ?? '') !== '';

function tagsPredicate(conditions: readonly TagCondition[]): Predicate {
  const prepared = conditions.map(({ name, value, valueStartsWith }) => ({
    name: Buffer.from(name),
    value: value === undefined ? undefined : Buffer.from(value),
    start: valueStartsWith === undefined ? undefined : Buffer.from(valueStartsWith),
  }));
  return ({ tags }) => {
    if (tags.length === 0) return false;
    return prepared.every(({ name, value, start }) =>
      tags.some((tag) => {
        if (!name.equals(tag.name)) return false;
        if (value === undefined && start === undefined) return true;
        return value?.equals(tag.value) === true || (start !== undefined && startsWith(tag.value, start));
      }),
    );
  };
}

function startsWith(bytes: Uint8Array, start: Buffer): boolean {
  return bytes.length >= start.length && start.equals(bytes.subarray(0, start.length));
}

/** Sizes are text on the chain and numbers in items: both are compared by their decimal text. */
function attributesPredicate(wanted: Readonly<Record<string, string | number>>): Predicate {
  const entries = Object.entries(wanted).map(([name, value]) => [name, String(value)] as const);
  return (subject) =>
    entries.every(([name, value]) => {
      const actual = subject.attribute(name);
      return actual !== undefined && String(actual) === value;
    });
}

function partitionPredicate({ partitionCount, partitionKey, targetPartitions }: HashPartition): Predicate {
  const targets = new Set(targetPartitions);
  return (subject) => {
    const value = String(subject.attribute(partitionKey) ?? '');
    return value !== '' && targets.has(partitionOf(value, partitionCount));
  };
}

/** First six bytes of the SHA-256 of the text, as a big-endian number, modulo the count. */
export function partitionOf(value: string, partitionCount: number): number {
  return hash('sha256', value, 'buffer').readUIntBE(0, 6) % partitionCount;
}
