/** `fetch` as a page of another origin has it: asks first, and reads only what it may (Fetch standard, §4.9). */

const origin = 'https://shop.example';
/** Headers that need no asking; a content type only when a form could send it. */
const safeHeaders = new Set(['accept', 'accept-language', 'content-language']);
const safeTypes = /^(application\/x-www-form-urlencoded|multipart\/form-data|text\/plain)(;|$)/;
/** What a browser sets itself, whatever a page says. */
const browserHeaders = new Set(['content-length', 'host', 'connection', 'origin']);
const readableHeaders = ['cache-control', 'content-language', 'content-length', 'content-type', 'expires'];

const listed = (headers: Headers, name: string): string[] =>
  (headers.get(name) ?? '').split(',').map((text) => text.trim().toLowerCase());

export function fetchAsPage(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const asked = [...request.headers]
      .filter(
        ([name, value]) => !safeHeaders.has(name) && !(name === 'content-type' && safeTypes.test(value)),
      )
      .map(([name]) => name)
      .filter((name) => !browserHeaders.has(name));
    if (asked.length > 0) await askFirst(fetch, request, asked.sort());
    const answer = await fetch(request, { headers: [...request.headers, ['origin', origin]] });
    const allowed = listed(answer.headers, 'access-control-allow-origin');
    if (!allowed.includes('*')) throw new TypeError(`${request.url} may not be read`);
    const exposed = [...readableHeaders, ...listed(answer.headers, 'access-control-expose-headers')];
    const headers = [...answer.headers].filter(([name]) => exposed.includes('*') || exposed.includes(name));
    return new Response(answer.body, { status: answer.status, statusText: answer.statusText, headers });
  };
}

async function askFirst(fetch: typeof globalThis.fetch, { url, method }: Request, asked: string[]) {
  const answer = await fetch(url, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': asked.join(','),
    },
  });
  const allowed = listed(answer.headers, 'access-control-allow-headers');
  const refused = asked.filter((name) => !allowed.includes(name) && !allowed.includes('*'));
  if (!answer.ok || refused.length > 0) throw new TypeError(`a page may not send ${refused} to ${url}`);
}
