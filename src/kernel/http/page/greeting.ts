/** The root of a server, for people: what it is, what can be opened there, and what to do next. Programs get their data. */
import { prefersType } from '../accept.ts';
import type { App, Reply, Request } from '../app.ts';
import { html } from './html.ts';
import { sendPage, writePage } from './page.ts';

export interface Greeting {
  readonly title: string;
  /** What this is, in a sentence or two. */
  readonly about: string;
  /** Said beside the title where the money is no money. */
  readonly badge?: string;
  /** What can be opened, as it stands. */
  readonly links: readonly { readonly path: string; readonly what: string }[];
  /** What to do next: a sentence, and a command to copy. */
  readonly next: { readonly text: string; readonly command?: string };
}

/** Sends the page to whoever would rather have one than data (RFC 9110 §12.5.1), and says so. */
export function greet(request: Request, reply: Reply, greeting: (request: Request) => Greeting): boolean {
  reply.header('vary', 'Accept');
  if (!prefersType(request.headers.accept, 'text/html', 'application/json')) return false;
  sendPage(reply, 200, greetingPage(greeting(request)));
  return true;
}

/** For a server that has nothing at its root for programs: they are refused as ever. */
export function greetPeople(app: App, greeting: (request: Request) => Greeting): void {
  app.get('/', { schema: { hide: true } }, (request, reply) => {
    if (greet(request, reply, greeting)) return;
    const others = app.methods.allowed(request).filter((method) => method !== 'GET' && method !== 'HEAD');
    if (others.length > 0) throw app.methods.refusal(request, others);
    reply.callNotFound();
  });
}

function greetingPage({ title, about, badge, links, next }: Greeting): string {
  return writePage(
    `${title} · Turnpike`,
    html`<h1>${title}</h1>
${badge === undefined ? undefined : html`<p><span class="badge">${badge}</span></p>`}
<p>${about}</p>
<h2>Open</h2>
<table><tbody>${links.map(
      ({
        path,
        what,
      }) => html`<tr><th scope="row"><a href="${path}"><code>${path}</code></a></th><td>${what}</td></tr>
`,
    )}</tbody></table>
<h2>Next</h2>
<p>${next.text}</p>
${next.command === undefined ? undefined : html`<pre>${next.command}</pre>`}`,
    'Turnpike',
  );
}
