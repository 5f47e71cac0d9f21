/** The page's one policy of Trusted Types: it lets the page start the workers that its document names, and nothing else. */

interface ScriptUrlPolicy {
  createScriptURL(url: string): string;
}

interface TrustedTypesFactory {
  createPolicy(name: string, rules: ScriptUrlPolicy): ScriptUrlPolicy;
}

/** What is asked of the document. */
interface PageDocument {
  querySelector(selector: string): { readonly content?: string } | null;
  readonly baseURI: string;
}

const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypesFactory };
const policy = trustedTypes?.createPolicy('turnpike', {
  createScriptURL: (url) => programUrl(url, document.baseURI),
});

/** The address of the worker of this name (`entries` of `kernel/http/page/page-build.ts`), as `new Worker` takes it. */
export function workerUrl(name: string, page: PageDocument = document): string {
  const url = page.querySelector(`meta[name="worker-${name}"]`)?.content;
  if (url === undefined) throw new Error(`the page has no worker ${name}`);
  return policy === undefined ? programUrl(url, page.baseURI) : policy.createScriptURL(url);
}

/** Refuses what is no file of the page itself. */
export function programUrl(url: string, page: string): string {
  const { origin, pathname } = new URL(url, page);
  if (origin !== new URL(page).origin || !pathname.startsWith('/assets/')) {
    throw new TypeError('not a program of this page');
  }
  return url;
}
