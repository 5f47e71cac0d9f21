/**
 * The search language of the API: `status:"succeeded" AND metadata["order"]:"6735"`. Conditions joined by AND or by OR, not
 * both; `:` is equal, `~` contains, `>` `<` `>=` `<=` compare numbers, a leading `-` turns a condition round, and `null` is
 * what is absent. https://docs.stripe.com/search#search-query-language
 */
import {
  all,
  any,
  type Comparison,
  type Condition,
  compare,
  contains,
  isAbsent,
  memberPath,
  metadataPath,
  not,
} from './conditions.ts';
import { invalidRequest } from './errors.ts';

export type FieldType = 'flag' | 'number' | 'text';
/** What may be asked about a kind of object; `metadata` always. */
export type SearchFields = Readonly<Record<string, FieldType>>;

const limits = { length: 2_000, conditions: 10 };

const clause =
  /^\s*(?<minus>-?)(?:metadata\[(?<quote>["'])(?<key>.*?)\k<quote>\]|(?<field>[a-z_][a-z0-9_.]*))\s*(?<sign>:|~|>=|<=|>|<)\s*(?:"(?<double>(?:[^"\\]|\\.)*)"|'(?<single>(?:[^'\\]|\\.)*)'|(?<bare>[^\s"']+))/i;
const joint = /^\s+(?<word>AND|OR)\s+/i;

export function parseSearch(query: string, fields: SearchFields): Condition {
  if (query.length > limits.length) throw wrong('it is too long');
  const conditions: Condition[] = [];
  let rest = query;
  let joinedBy: string | undefined;
  for (;;) {
    const found = clause.exec(rest);
    if (found?.groups === undefined) throw wrong(`it cannot be read from here: ${rest.trim().slice(0, 100)}`);
    conditions.push(conditionOf(found.groups, fields));
    if (conditions.length > limits.conditions)
      throw wrong(`it has more than ${limits.conditions} conditions`);
    rest = rest.slice(found[0].length);
    if (rest.trim() === '') break;
    const next = joint.exec(rest);
    const word = next?.groups?.word?.toUpperCase();
    if (next === null || word === undefined)
      throw wrong(`AND or OR is missing before: ${rest.trim().slice(0, 100)}`);
    if (joinedBy !== undefined && joinedBy !== word) throw wrong('AND and OR cannot be mixed');
    joinedBy = word;
    rest = rest.slice(next[0].length);
  }
  return joinedBy === 'OR' ? any(conditions) : all(conditions);
}

type Groups = Readonly<Record<string, string | undefined>>;

function conditionOf(groups: Groups, fields: SearchFields): Condition {
  const { minus, key, field = '', sign = ':', bare } = groups;
  const path = key === undefined ? memberPath(field) : metadataPath(key);
  const type = key === undefined ? (Object.hasOwn(fields, field) ? fields[field] : undefined) : 'text';
  if (path === undefined || type === undefined) throw wrong(`field ${key ?? field} cannot be searched`);
  const text = bare ?? unescaped(groups.double ?? groups.single ?? '');
  const condition = bare === 'null' ? isAbsent(path) : clauseOf(path, type, sign, text, field);
  return minus === '-' ? not(condition) : condition;
}

const unescaped = (text: string): string => text.replace(/\\(.)/g, '$1');

function clauseOf(path: string, type: FieldType, sign: string, text: string, field: string): Condition {
  if (sign === '~') {
    if (type !== 'text' || text.length < 3)
      throw wrong(`~ needs a text of three characters or more: ${field}`);
    return contains(path, text);
  }
  const comparison = sign === ':' ? '=' : (sign as Comparison);
  if (type === 'number') {
    if (!/^[0-9]{1,15}$/.test(text))
      throw wrong(`${field} is compared with a number, not ${text.slice(0, 50)}`);
    return compare(path, comparison, Number(text));
  }
  if (comparison !== '=') throw wrong(`${sign} is for numbers: ${field}`);
  if (type === 'flag') {
    if (text !== 'true' && text !== 'false') throw wrong(`${field} is true or false`);
    return compare(path, '=', text === 'true');
  }
  return compare(path, '=', text);
}

const wrong = (why: string) =>
  invalidRequest(`We were unable to parse your search query: ${why}`, { param: 'query' });
