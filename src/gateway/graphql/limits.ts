/** What a query text may be before anything expensive is done with it. */
import { type DocumentNode, Kind, type SelectionSetNode, visit } from 'graphql';
import { badInput } from './errors.ts';

export const maxQueryLength = 256 * 1024;
/** Inlined lists of ids are long, but they are values; fields are what validation and execution pay for. */
export const maxTokens = 10_000;
const maxFields = 500;
const maxAliases = 250;
const maxVariableDefinitions = 250;
const maxDepth = 12;
/** The standard introspection query nests a type in a type nine times. */
const maxIntrospectionDepth = 20;

/**
 * Throws for a document with too many fields, aliases or variables, or nested too deeply; fragments count where they are
 * spread, and a directive counts as a field.
 */
export function checkLimits(document: DocumentNode): void {
  const fragments = new Map<string, SelectionSetNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) {
      fragments.set(definition.name.value, definition.selectionSet);
    }
  }
  let fields = 0;
  let aliases = 0;
  const addFields = (more: number): void => {
    fields += more;
    if (fields > maxFields) throw badInput(`query has more than ${maxFields} fields`);
  };
  const walk = (set: SelectionSetNode, depth: number, limit: number, spread: readonly string[]): void => {
    if (depth > limit) throw badInput(`query is nested deeper than ${limit}`);
    for (const selection of set.selections) {
      addFields(1 + (selection.directives?.length ?? 0));
      if (selection.kind === Kind.FIELD) {
        if (selection.alias !== undefined) aliases += 1;
        if (aliases > maxAliases) throw badInput(`query has more than ${maxAliases} aliases`);
        const inside = selection.name.value.startsWith('__') ? maxIntrospectionDepth : limit;
        if (selection.selectionSet !== undefined) walk(selection.selectionSet, depth + 1, inside, spread);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        walk(selection.selectionSet, depth, limit, spread);
      } else {
        const name = selection.name.value;
        const fragment = fragments.get(name);
        // A cycle is validation's to refuse.
        if (fragment !== undefined && !spread.includes(name)) walk(fragment, depth, limit, [...spread, name]);
      }
    }
  };
  for (const definition of document.definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) {
      if ((definition.variableDefinitions?.length ?? 0) > maxVariableDefinitions) {
        throw badInput(`query has more than ${maxVariableDefinitions} variables`);
      }
      walk(definition.selectionSet, 1, maxDepth, []);
    } else if (definition.kind === Kind.FRAGMENT_DEFINITION)
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
