/** Which part of a filter kept a record out, and what the record has there instead. */
import type { Filter, TagCondition } from './filter.ts';
import { compileFilter, partitionOf, type Subject } from './match.ts';

const shownLength = 60;
const shownTags = 5;
/** Of the alternatives of an `or`. */
const shownAlternatives = 3;

/** A clause such as `$.and[1].tags[0] wants the tag App-Name = "x", and it has none`; undefined where the filter matches. */
export function explainMismatch(filter: Filter, subject: Subject, path = '$'): string | undefined {
  if (compileFilter(filter)(subject)) return undefined;
  if ('never' in filter) return `${path}.never lets nothing through`;
  if ('tags' in filter) return explainTags(filter.tags, subject, `${path}.tags`);
  if ('attributes' in filter) return explainAttributes(filter.attributes, subject, `${path}.attributes`);
  if ('isNestedBundle' in filter)
    return `${path}.isNestedBundle wants what lies in another bundle, and it does not`;
  if ('hashPartition' in filter) {
    const { partitionKey, partitionCount, targetPartitions } = filter.hashPartition;
    const value = String(subject.attribute(partitionKey) ?? '');
    const partition =
      value === '' ? 'it has no such attribute' : `it falls into ${partitionOf(value, partitionCount)}`;
    return `${path}.hashPartition wants ${partitionKey} in the partitions ${targetPartitions.join(', ')}, and ${partition}`;
  }
  if ('not' in filter)
    return `${path}.not excludes it, since ${JSON.stringify(filter.not).slice(0, 200)} matches`;
  if ('and' in filter) {
    for (const [at, part] of filter.and.entries()) {
      const found = explainMismatch(part, subject, `${path}.and[${at}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if ('or' in filter) {
    const all = filter.or.map((part, at) => explainMismatch(part, subject, `${path}.or[${at}]`));
    const shown = all.slice(0, shownAlternatives).join('; ');
    const rest = all.length - shownAlternatives;
    return all.length === 0
      ? `${path}.or has no alternative`
      : `${shown}${rest > 0 ? `; and ${rest} more like these` : ''}`;
  }
  return undefined;
}

function explainTags(conditions: readonly TagCondition[], subject: Subject, path: string): string {
  const at = conditions.findIndex((condition) => !compileFilter({ tags: [condition] })(subject));
  const { name, value, valueStartsWith } = conditions[at] ?? { name: '' };
  const wanted =
    value !== undefined
      ? `the tag ${shown(name)} = ${shown(value)}`
      : valueStartsWith !== undefined
        ? `a tag ${shown(name)} that begins with ${shown(valueStartsWith)}`
        : `a tag ${shown(name)}`;
  const same = subject.tags.filter((tag) => Buffer.from(tag.name).equals(Buffer.from(name)));
  const has = same.slice(0, shownTags).map((tag) => shown(Buffer.from(tag.value).toString('utf8')));
  return `${path}[${Math.max(0, at)}] wants ${wanted}, and it has ${has.length === 0 ? 'no tag of that name' : has.join(', ')}`;
}

function explainAttributes(
  wanted: Readonly<Record<string, string | number>>,
  subject: Subject,
  path: string,
): string {
  const [name = '', value = ''] =
    Object.entries(wanted).find(([key, one]) => String(subject.attribute(key)) !== String(one)) ?? [];
  const actual = subject.attribute(name);
  const has = actual === undefined || actual === '' ? 'it has none' : `it is ${shown(String(actual))}`;
  return `${path} wants ${name} = ${shown(String(value))}, and ${has}`;
}

const shown = (text: string): string =>
  JSON.stringify(text.length > shownLength ? `${text.slice(0, shownLength)}…` : text);
