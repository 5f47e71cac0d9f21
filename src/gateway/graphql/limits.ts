/** What a query text may be before anything expensive is done with it. */
import { type DocumentNode, Kind, type SelectionSetNode, visit } from 'graphql';
import { badInput } from './errors.ts';

export const maxQueryLength = 256 * 1024;
/** Inlined lists of ids are long, but they are values; fields are what validation and execution pay for. */
export const maxTokens = 20_000;
const maxFields = 500;
const maxDepth = 12;
/** The standard introspection query nests a type in a type nine times. */
const maxIntrospectionDepth = 20;

/** Throws for a document with too many fields or nested too deeply; fragments count where they are spread. */
export function checkLimits(document: DocumentNode): void {
  const fragments = new Map<string, SelectionSetNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) {
      fragments.set(definition.name.value, definition.selectionSet);
    }
  }
  let fields = 0;
  const walk = (set: SelectionSetNode, depth: number, limit: number, spread: readonly string[]): void => {
    if (depth > limit) throw badInput(`query is nested deeper than ${limit}`);
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) {
        fields += 1;
        if (fields > maxFields) throw badInput(`query has more than ${maxFields} fields`);
        const inside = selection.name.value.startsWith('__') ? maxIntrospectionDepth : limit;
        if (selection.selectionSet !== undefined) walk(selection.selectionSet, depth + 1, inside, spread);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        fields += 1;
        walk(selection.selectionSet, depth, limit, spread);
      } else {
        const name = selection.name.value;
        const fragment = fragments.get(name);
        // A cycle is validation's to refuse.
        if (fragment !== undefined && !spread.includes(name)) walk(fragment, depth, limit, [...spread, name]);
        fields += 1;
      }
      if (fields > maxFields) throw badInput(`query has more than ${maxFields} fields`);
    }
  };
  for (const definition of document.definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) walk(definition.selectionSet, 1, maxDepth, []);
    else if (definition.kind === Kind.FRAGMENT_DEFINITION)
      walk(definition.selectionSet, 1, maxIntrospectionDepth, []);
  }
}

/** Each value that does not fit is an error of its own: more than these are refused before they are looked at. */
export const maxVariableValues = 10_000;

/** Whether variables hold more values than that, at whatever depth. */
export function hasTooManyValues(variables: unknown): boolean {
  const left: unknown[] = [variables];
  for (let counted = 0; left.length > 0; counted += 1) {
    if (counted + left.length > maxVariableValues) return true;
    const value = left.pop();
    if (typeof value !== 'object' || value === null) continue;
    const inside: unknown[] = Array.isArray(value) ? value : Object.values(value);
    if (inside.length > maxVariableValues) return true;
    left.push(...inside);
  }
  return false;
}

/** Names of all fields that a document selects. */
export function selectedFields(document: DocumentNode): ReadonlySet<string> {
  const names = new Set<string>();
  visit(document, {
    Field(node) {
      names.add(node.name.value);
    },
  });
  return names;
}
