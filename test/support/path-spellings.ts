/**
 * Ways to write one path that some server, proxy or framework takes for the same: what looks at the text of a path
 * knows one of them, what is asked knows all.
 */

export interface Spelling {
  readonly name: string;
  /** The request target as it stands on the wire. */
  readonly target: string;
  /** In place of the route's own. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The target is `/`, and is to be answered as that. */
  readonly isRoot?: boolean;
}

const hex = (letter: string, digits: 'upper' | 'lower' = 'upper'): string => {
  const code = letter.charCodeAt(0).toString(16).padStart(2, '0');
  return `%${digits === 'upper' ? code.toUpperCase() : code}`;
};
const isLetter = (letter: string): boolean => /[a-z]/i.test(letter);
const mapLetters = (text: string, change: (letter: string, at: number) => string): string =>
  [...text].map((letter, at) => (isLetter(letter) ? change(letter, at) : letter)).join('');
const first = (text: string, change: (letter: string) => string): string =>
  text.replace(/[a-z]/i, (letter) => change(letter));
const last = (text: string, change: (letter: string) => string): string =>
  text.replace(/[a-z](?=[^a-z]*$)/i, (letter) => change(letter));

/** `host` is what the `Host` header says. */
export function spellingsOf(path: string, host: string): Spelling[] {
  const segments = path.split('/').slice(1);
  const [head = '', ...tail] = segments;
  const rest = tail.map((segment) => `/${segment}`).join('');
  const before = segments
    .slice(0, -1)
    .map((segment) => `/${segment}`)
    .join('');
  const end = segments.at(-1) ?? '';
  const targets: Record<string, string> = {
    'as it is': path,
    'trailing slash': `${path}/`,
    'two trailing slashes': `${path}//`,
    'two leading slashes': `/${path}`,
    'three leading slashes': `//${path}`,
    'double slashes': path.replaceAll('/', '//'),
    'a dot segment first': `/.${path}`,
    'a dot segment inside': `/${head}/.${rest}`,
    'a dot segment last': `${path}/.`,
    'up and down again': `/nowhere/..${path}`,
    'down and up again': `${path}/nowhere/..`,
    'out and in again': `${path}/../${end}`,
    'encoded dot segment': `/%2e${path}`,
    'encoded way up': `/nowhere/%2e%2e${path}`,
    'encoded way up in capitals': `/nowhere/%2E%2E${path}`,
    'half encoded way up': `/nowhere/.%2e${path}`,
    'first letter encoded': first(path, (letter) => hex(letter)),
    'first letter encoded, small digits': first(path, (letter) => hex(letter, 'lower')),
    'last letter encoded': last(path, (letter) => hex(letter)),
    'all letters encoded': mapLetters(path, (letter) => hex(letter)),
    'all letters encoded, small digits': mapLetters(path, (letter) => hex(letter, 'lower')),
    'every second letter encoded': mapLetters(path, (letter, at) => (at % 2 === 0 ? hex(letter) : letter)),
    'first segment encoded': `/${mapLetters(head, (letter) => hex(letter))}${rest}`,
    'last segment encoded': `${before}/${mapLetters(end, (letter) => hex(letter))}`,
    'encoded twice': first(path, (letter) => hex(letter).replace('%', '%25')),
    capitals: path.toUpperCase(),
    'first letter capital': first(path, (letter) => letter.toUpperCase()),
    'mixed case': mapLetters(path, (letter, at) => (at % 2 === 0 ? letter.toUpperCase() : letter)),
    'encoded capital': first(path, (letter) => hex(letter.toUpperCase())),
    'parameter at the end': `${path};x=y`,
    'parameter in the first segment': `/${head};x=y${rest}`,
    'parameter before': `/;x=y${path}`,
    'bare semicolon': `${path};`,
    'encoded slashes': `/${path.slice(1).replaceAll('/', '%2F')}`,
    'encoded slashes, small digits': `/${path.slice(1).replaceAll('/', '%2f')}`,
    'encoded leading slash': `/%2F${path.slice(1)}`,
    backslashes: `/${path.slice(1).replaceAll('/', '\\')}`,
    'encoded backslashes': `/${path.slice(1).replaceAll('/', '%5C')}`,
    'overlong slash': `/${path.slice(1).replaceAll('/', '%c0%af')}`,
    'empty query': `${path}?`,
    'keys in the query': `${path}?token=x&key=x&authorization=Bearer%20x&access_token=x`,
    'another path in the query': `${path}?/../../..`,
    'a fragment': `${path}#/`,
    'an encoded query mark': `${path}%3F`,
    'an encoded fragment mark': `${path}%23`,
    'a null byte': `${path}%00`,
    'an encoded space': `${path}%20`,
    'an encoded line end': `${path}%0d%0a`,
    'a suffix': `${path}.json`,
    'a broken escape': `${path}%`,
    'a broken escape before': `/%zz${path}`,
    'absolute form': `http://${host}${path}`,
    'absolute form in capitals': `HTTP://${host}${path}`,
    'absolute form, encoded': `http://${host}${first(path, (letter) => hex(letter))}`,
    'absolute form with a name': `http://me:you@${host}${path}`,
    'absolute form of another host': `http://elsewhere.example${path}`,
    'host in the path': `//${host}${path}`,
    'no leading slash': path.slice(1),
  };
  const methods = ['HEAD', 'OPTIONS', 'TRACE', 'PATCH', 'DELETE', 'PROPFIND', 'QUERY'];
  return [
    ...Object.entries(targets).map(([name, target]) => ({ name, target })),
    ...methods.map((method) => ({ name: method, target: path, method })),
    {
      name: 'a preflight',
      target: path,
      method: 'OPTIONS',
      headers: { origin: 'http://elsewhere.example', 'access-control-request-method': 'GET' },
    },
    { name: 'HEAD with a letter encoded', target: first(path, (letter) => hex(letter)), method: 'HEAD' },
    {
      name: 'another path in headers',
      target: '/',
      headers: { 'x-original-url': path, 'x-rewrite-url': path, 'x-forwarded-path': path },
      isRoot: true,
    },
    { name: 'a path in the query of another', target: `/?${path}`, isRoot: true },
    { name: 'another method in headers', target: path, headers: { 'x-http-method-override': 'GET' } },
    { name: 'a sender that is trusted', target: path, headers: { 'x-forwarded-for': '127.0.0.1' } },
  ];
}
