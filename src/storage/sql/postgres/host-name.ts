/** Name and port of the one host in an address, for messages: they may be shown, the address holds a password. */
export function hostName(url: string): string {
  const { hostname, port, searchParams } = new URL(url);
  return `${hostname || searchParams.get('host') || 'localhost'}:${port || searchParams.get('port') || '5432'}`;
}
