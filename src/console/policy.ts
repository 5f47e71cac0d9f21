/** What the page may load, run and ask (CSP Level 3, Trusted Types): its own files, and the services it is for. */
import type { ConsoleSettings } from './api.ts';

export function contentSecurityPolicy({ services, sandbox, routerHosts }: ConsoleSettings): string {
  const origins = Object.values(services).map((url) => new URL(url).origin);
  const readers = [services.gateway, services.router].flatMap((url) => url ?? []);
  const sandboxes = sandbox === undefined ? [] : [sandbox.replace('{label}', '*')];
  const names = routerHosts === undefined ? [] : [routerHosts.replace('{label}', '*')];
  const content = [...readers.map((url) => new URL(url).origin), ...sandboxes];
  const sources: Record<string, readonly string[]> = {
    'default-src': ["'none'"],
    'script-src': ["'self'"],
    'style-src': ["'self'"],
    'font-src': ["'self'"],
    'worker-src': ["'self'"],
    // Icons of wallets are data: addresses.
    'img-src': ["'self'", 'data:', ...content],
    'media-src': ["'self'", ...content],
    'frame-src': content.length === 0 ? ["'none'"] : content,
    'connect-src': ["'self'", ...origins, ...sandboxes, ...names],
    'base-uri': ["'none'"],
    'form-action': ["'none'"],
    'frame-ancestors': ["'none'"],
    'require-trusted-types-for': ["'script'"],
    'trusted-types': ['turnpike'],
  };
  return Object.entries(sources)
    .map(([name, values]) => `${name} ${[...new Set(values)].join(' ')}`)
    .join('; ');
}

export const pageHeaders = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin-allow-popups',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
} as const;
