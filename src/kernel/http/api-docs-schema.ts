/** A JSON Schema as one reads a type: `{ winc: string, adjustments?: { name: string }[] }`. */

const depthLimit = 12;

export type Json = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The type, over several lines where it has members. References are looked up in the document once. */
export function schemaText(schema: unknown, document: Json, indent = '', depth = 0): string {
  if (!isRecord(schema)) return 'any';
  if (depth > depthLimit) return '…';
  const inner = (part: unknown) => schemaText(part, document, indent, depth + 1);
  if (typeof schema.$ref === 'string') return inner(lookUp(schema.$ref, document));
  if ('const' in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  for (const word of ['anyOf', 'oneOf'] as const) {
    const parts = schema[word];
    if (Array.isArray(parts)) return [...new Set(parts.map(inner))].join(' | ');
  }
  if (Array.isArray(schema.allOf)) return schema.allOf.map(inner).join(' & ');
  if (schema.type === 'array') return arrayText(inner(schema.items));
  if (schema.type === 'object' || isRecord(schema.properties)) {
    return objectText(schema, document, indent, depth);
  }
  const type = Array.isArray(schema.type) ? schema.type.join(' | ') : schema.type;
  return typeof type === 'string' ? type : 'any';
}

/** What narrows a value beyond its type: `1 to 5`, `at most 61 characters`, `matches ^[0-9]+$`. */
export function constraintText(schema: unknown): string {
  if (!isRecord(schema)) return '';
  const found: string[] = [];
  const { minimum, maximum, minLength, maxLength, pattern, format } = schema;
  if (minimum !== undefined && maximum !== undefined) found.push(`${minimum} to ${maximum}`);
  else if (minimum !== undefined) found.push(`at least ${minimum}`);
  else if (maximum !== undefined) found.push(`at most ${maximum}`);
  if (minLength !== undefined && minLength === maxLength) found.push(`${minLength} characters`);
  else {
    if (minLength !== undefined) found.push(`at least ${minLength} characters`);
    if (maxLength !== undefined) found.push(`at most ${maxLength} characters`);
  }
  if (pattern !== undefined) found.push(`matches ${pattern}`);
  if (format !== undefined) found.push(String(format));
  if ('default' in schema) found.push(`default ${JSON.stringify(schema.default)}`);
  return found.join(', ');
}

function arrayText(item: string): string {
  return item.includes(' | ') || item.includes(' & ') ? `(${item})[]` : `${item}[]`;
}

function objectText(schema: Json, document: Json, indent: string, depth: number): string {
  const properties = isRecord(schema.properties) ? Object.entries(schema.properties) : [];
  const required: unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const inside = `${indent}  `;
  const lines = properties.map(([name, member]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    const note =
      isRecord(member) && typeof member.description === 'string' ? `  // ${member.description}` : '';
    const type = schemaText(member, document, inside, depth + 1);
    return `${inside}${key}${required.includes(name) ? '' : '?'}: ${type},${note}`;
  });
  const additional = schema.additionalProperties ?? firstValue(schema.patternProperties);
  if (isRecord(additional))
    lines.push(`${inside}[name]: ${schemaText(additional, document, inside, depth + 1)},`);
  return lines.length === 0 ? 'object' : `{\n${lines.join('\n')}\n${indent}}`;
}

function firstValue(value: unknown): unknown {
  return isRecord(value) ? Object.values(value)[0] : undefined;
}

/** `#/components/schemas/x` in the document. */
function lookUp(reference: string, document: Json): unknown {
  return reference
    .slice(2)
    .split('/')
    .reduce<unknown>((place, name) => (isRecord(place) ? place[name] : undefined), document);
}
