/** Whether a host, as a URL or a setting names it, is this machine to itself alone. Names below localhost are (RFC 6761). */
export function isLoopbackHost(host: string): boolean {
  return /^(?:127(?:\.[0-9]{1,3}){3}|::1|\[::1\]|localhost|.+\.localhost)$/.test(host);
}
