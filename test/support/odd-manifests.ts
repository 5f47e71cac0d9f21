/**
 * Manifests as they are found and no careful writer makes them, each with what its paths lead to: an id's letter, and by
 * what it was found. A path that leads nowhere says undefined; one that no reader can read at all leads nowhere.
 */

export interface OddManifest {
  readonly kind: string;
  readonly bytes: Buffer;
  /** By the path as a request has it, decoded and without the slash before it. */
  readonly leads: Readonly<Record<string, string | undefined>>;
}

/** An id of one letter, canonical. */
export const oddId = (letter: string): string => `${letter.repeat(42)}A`;

const [a, b, c, f, i] = [...'abcfi'].map(oddId);
const entry = (id: string | undefined) => `{"id":"${id}"}`;
const one = `"paths":{"a":${entry(a)}}`;
const head = '"manifest":"arweave/paths","version":"0.2.0"';
const fallback = `"fallback":${entry(f)}`;
const mark = Buffer.from([0xef, 0xbb, 0xbf]);

const texts: readonly (readonly [string, string | Buffer, OddManifest['leads']])[] = [
  // Versions and what depends on them.
  [
    '0.1.0 has no index by id and no fallback',
    `{"manifest":"arweave/paths","version":"0.1.0","index":{"id":"${i}"},${fallback},${one}}`,
    { '': undefined, a: 'a path', x: undefined },
  ],
  [
    '0.2.0 takes the index by id before the one by path',
    `{${head},"index":{"path":"a","id":"${i}"},${one}}`,
    { '': 'i index' },
  ],
  [
    'an index id that is none leaves the index path',
    `{${head},"index":{"id":"short","path":"a"},${one}}`,
    { '': 'a index' },
  ],
  [
    'an index path that is not there leaves the fallback',
    `{${head},"index":{"path":"gone"},${fallback},${one}}`,
    { '': 'f fallback', a: 'a path', x: 'f fallback' },
  ],
  ['no index leaves the fallback', `{${head},${fallback},${one}}`, { '': 'f fallback' }],
  [
    'no version',
    `{"manifest":"arweave/paths","index":{"path":"a","id":"${i}"},${fallback},${one}}`,
    { '': 'a index', x: undefined },
  ],
  [
    'unknown version',
    `{"version":"0.3.0","index":{"path":"a","id":"${i}"},${fallback},${one}}`,
    { '': 'a index', x: undefined },
  ],
  ['version is a number', `{"version":0.2,${fallback},${one}}`, { a: 'a path', x: undefined }],
  ['version with space', `{"version":"0.2.0 ",${fallback},${one}}`, { x: undefined }],
  [
    'version comes last',
    `{${one},${fallback},"index":{"id":"${i}"},"version":"0.2.0"}`,
    { '': 'i index', x: 'f fallback' },
  ],
  ['version twice', `{"version":"0.2.0",${fallback},${one},"version":"0.1.0"}`, { x: undefined }],
  // What says that it is a manifest.
  ['no kind', `{"version":"0.2.0",${one}}`, { a: 'a path' }],
  [
    'another kind',
    `{"manifest":"arweave/files","version":"0.2.0",${fallback},${one}}`,
    { a: 'a path', x: 'f fallback' },
  ],
  ['kind is no text', `{"manifest":null,"version":"0.2.0",${one}}`, { a: 'a path' }],
  ['nothing in it', '{}', { '': undefined, a: undefined }],
  // Ids.
  ['id too short', `{${head},${fallback},"paths":{"a":{"id":"${a?.slice(1)}"}}}`, { a: 'f fallback' }],
  ['id too long', `{${head},"paths":{"a":{"id":"${a}A"}}}`, { a: undefined }],
  ['id not canonical', `{${head},"paths":{"a":{"id":"${'a'.repeat(42)}B"}}}`, { a: undefined }],
  ['id in plain base64', `{${head},"paths":{"a":{"id":"${'a'.repeat(41)}+A"}}}`, { a: undefined }],
  ['id with space around', `{${head},"paths":{"a":{"id":" ${a}"}}}`, { a: undefined }],
  ['id in escapes', `{${head},"paths":{"a":{"id":"\\u0061${a?.slice(1)}"}}}`, { a: 'a path' }],
  ['id is the entry itself', `{${head},"paths":{"a":"${a}"}}`, { a: undefined }],
  ['fallback id is none', `{${head},"fallback":{"id":""},${one}}`, { x: undefined }],
  ['fallback by path', `{${head},"fallback":{"path":"a"},${one}}`, { x: undefined }],
  // Types.
  ['paths is a list', `{${head},${fallback},"paths":[${entry(a)}]}`, { '0': 'f fallback' }],
  ['paths is null', `{${head},"paths":null}`, { a: undefined }],
  ['no paths', `{${head},"index":{"id":"${i}"}}`, { '': 'i index', a: undefined }],
  ['entry is a list', `{${head},"paths":{"a":[${entry(a)}],"b":${entry(b)}}}`, { a: undefined, b: 'b path' }],
  ['entry is null', `{${head},"paths":{"a":null,"b":${entry(b)}}}`, { a: undefined, b: 'b path' }],
  ['id is an object', `{${head},"paths":{"a":{"id":${entry(a)}}}}`, { a: undefined, id: undefined }],
  ['index is text', `{${head},"index":"a",${one}}`, { '': undefined }],
  [
    'index path is a number',
    `{${head},"index":{"path":1},"paths":{"1":${entry(a)}}}`,
    { '': undefined, '1': 'a path' },
  ],
  [
    'index and fallback are lists',
    `{${head},"index":[{"path":"a"}],"fallback":[${entry(f)}],${one}}`,
    { '': undefined, x: undefined },
  ],
  ['the document is a list', `[{${head},${one}}]`, { a: undefined }],
  ['the document is text', '"arweave/paths"', { '': undefined }],
  // Members that are not known.
  [
    'unknown members everywhere',
    `{"x":{"paths":{"a":${entry(c)}},"id":"${c}"},${head},"index":{"x":{"id":"${c}"},"path":"a"},"paths":{"a":{"x":{"id":"${c}"},"id":"${a}","size":1}}}`,
    { '': 'a index', a: 'a path', x: undefined },
  ],
  [
    'members of another spelling',
    `{${head},"Paths":{"a":${entry(a)}},"paths":{"b":{"ID":"${b}"}}}`,
    { a: undefined, b: undefined },
  ],
  ['members in escapes', `{${head},"\\u0070aths":{"\\u0061":{"\\u0069d":"${a}"}}}`, { a: 'a path' }],
  // Equal keys: the last one, all of it.
  ['path twice', `{${head},"paths":{"a":${entry(a)},"a":${entry(b)}}}`, { a: 'b path' }],
  ['path twice, the last is none', `{${head},"paths":{"a":${entry(a)},"a":{"id":1}}}`, { a: undefined }],
  ['id twice', `{${head},"paths":{"a":{"id":"${a}","id":"${b}"}}}`, { a: 'b path' }],
  ['id twice, the last is none', `{${head},"paths":{"a":{"id":"${a}","id":null}}}`, { a: undefined }],
  ['paths twice', `{${head},${one},"paths":{"b":${entry(b)}}}`, { a: undefined, b: 'b path' }],
  ['paths twice, the last is null', `{${head},${one},"paths":null}`, { a: undefined }],
  ['index twice', `{${head},"index":{"id":"${i}"},"index":{"path":"a"},${one}}`, { '': 'a index' }],
  ['fallback twice, the last is empty', `{${head},${fallback},"fallback":{},${one}}`, { x: undefined }],
  // Slashes.
  [
    'slash before a path is a part of it',
    `{${head},${fallback},"paths":{"/a":${entry(a)},"b":${entry(b)}}}`,
    { a: 'f fallback', '/a': 'a path', '//a': 'f fallback', '/b': 'f fallback' },
  ],
  [
    'slash before the index path is a part of it',
    `{${head},"index":{"path":"/a"},${one}}`,
    { '': undefined },
  ],
  [
    'slashes after a path',
    `{${head},"paths":{"a//":${entry(a)}}}`,
    { a: 'a path', 'a/': 'a path', 'a///': 'a path' },
  ],
  ['slashes after a request', `{${head},${one}}`, { 'a/': 'a path', 'a//': 'a path', 'a/b': undefined }],
  ['slash after the index path', `{${head},"index":{"path":"a/"},${one}}`, { '': 'a index' }],
  [
    'with slash and without',
    `{${head},"paths":{"a/":${entry(b)},"a":${entry(a)}}}`,
    { a: 'a path', 'a/': 'a path' },
  ],
  [
    'without slash and with',
    `{${head},"paths":{"a":${entry(a)},"a/":${entry(b)}}}`,
    { a: 'a path', 'a/': 'a path' },
  ],
  ['with one slash and with two', `{${head},"paths":{"a//":${entry(b)},"a/":${entry(a)}}}`, { a: 'a path' }],
  ['without slash and none', `{${head},"paths":{"a":{},"a/":${entry(b)}}}`, { a: 'b path' }],
  ['slashes within', `{${head},"paths":{"a//b":${entry(a)}}}`, { 'a//b': 'a path', 'a/b': undefined }],
  [
    'dots are names',
    `{${head},"paths":{"a/../b":${entry(a)},".":${entry(b)}}}`,
    { 'a/../b': 'a path', b: undefined, '.': 'b path' },
  ],
  ['the empty path is for the index only', `{${head},"paths":{"":${entry(a)}}}`, { '': undefined }],
  [
    'the index is the empty path',
    `{${head},"index":{"path":""},"paths":{"":${entry(a)}}}`,
    { '': 'a index' },
  ],
  [
    'a directory has no index of its own',
    `{${head},"paths":{"d/index.html":${entry(a)}}}`,
    { d: undefined, 'd/': undefined },
  ],
  // Names.
  [
    'percent signs are letters',
    `{${head},"paths":{"a%20b":${entry(a)},"a b":${entry(b)}}}`,
    { 'a%20b': 'a path', 'a b': 'b path' },
  ],
  ['case counts', `{${head},"paths":{"A":${entry(b)}}}`, { a: undefined, A: 'b path' }],
  [
    'forms of one letter differ',
    `{${head},"paths":{"\u00e9":${entry(a)}}}`,
    { '\u00e9': 'a path', 'e\u0301': undefined },
  ],
  [
    'query and fragment are letters',
    `{${head},"paths":{"a?b#c":${entry(a)}}}`,
    { 'a?b#c': 'a path', a: undefined },
  ],
  [
    'names of the prototype',
    `{${head},"__proto__":{"paths":${entry(c)}},"paths":{"__proto__":${entry(a)}}}`,
    { ['__proto__']: 'a path', constructor: undefined, toString: undefined },
  ],
  [
    'names that are numbers',
    `{${head},"paths":{"2":${entry(b)},"1":${entry(a)},"2/":${entry(c)}}}`,
    { '1': 'a path', '2': 'b path' },
  ],
  ['half a letter', `{${head},"paths":{"\\ud83d":${entry(a)}}}`, { '\ud83d': 'a path', '\ufffd': undefined }],
  ['NUL in a name', `{${head},"paths":{"a\\u0000b":${entry(a)}}}`, { 'a\u0000b': 'a path', a: undefined }],
  [
    'a name too long to be read',
    `{${head},"paths":{"${'x'.repeat(70_000)}":${entry(b)},"a":${entry(a)}}}`,
    { a: 'a path' },
  ],
  [
    'a path named as a member',
    `{${head},"paths":{"index":${entry(a)},"id":${entry(b)},"paths":${entry(c)}}}`,
    { index: 'a path', id: 'b path', paths: 'c path', '': undefined },
  ],
  // A manifest in a manifest leads to the inner one's id and not into it.
  [
    'manifest within',
    `{${head},"paths":{"a":{"id":"${a}",${one},"index":{"path":"a"}}}}`,
    { a: 'a path', 'a/a': undefined, '': undefined },
  ],
  // The document.
  ['byte order mark', Buffer.concat([mark, Buffer.from(`{${head},${one}}`)]), { a: 'a path' }],
  ['two byte order marks', Buffer.concat([mark, mark, Buffer.from(`{${head},${one}}`)]), { a: undefined }],
  [
    'half a byte order mark',
    Buffer.concat([mark.subarray(0, 2), Buffer.from(`{${head},${one}}`)]),
    { a: undefined },
  ],
  ['UTF-16', Buffer.from(`\ufeff{${head},${one}}`, 'utf16le'), { a: undefined }],
  [
    'one name in Latin-1',
    Buffer.from(`{${head},"paths":{"caf\u00e9":${entry(b)},"a":${entry(a)}}}`, 'latin1'),
    { a: 'a path', 'caf\u00e9': undefined, 'caf\ufffd': undefined },
  ],
  [
    'another member in Latin-1',
    Buffer.from(`{"author":"Ren\u00e9","${'\u00e9'}":1,${head},${one}}`, 'latin1'),
    { a: 'a path' },
  ],
  ['space around', ` \r\n\t{${head},${one}}\n \n`, { a: 'a path' }],
  ['cut off', `{${head},${one}`, { a: undefined }],
  ['two documents', `{${head},${one}}{}`, { a: undefined }],
  ['a comma too many', `{${head},"paths":{"a":${entry(a)},}}`, { a: undefined }],
  ['a comment', `{${head},/* x */${one}}`, { a: undefined }],
  ['single quotes', `{${head},'paths':{"a":${entry(a)}}}`, { a: undefined }],
  ['a line break in a name', `{${head},"paths":{"a\nb":${entry(b)},"a":${entry(a)}}}`, { a: undefined }],
  ['deep but not too deep', `{"x":${'['.repeat(511)}${']'.repeat(511)},${head},${one}}`, { a: 'a path' }],
  ['too deep', `{"x":${'['.repeat(512)}${']'.repeat(512)},${head},${one}}`, { a: undefined }],
  ['no bytes', '', { '': undefined }],
];

export const oddManifests: readonly OddManifest[] = texts.map(([kind, text, leads]) => ({
  kind,
  bytes: Buffer.from(text),
  leads,
}));
