/** What a server script under test says to the bench: where it listens, and how much CPU it has used. */
export type ServerReport =
  | { readonly kind: 'listening'; readonly url: string }
  | { readonly kind: 'cpu'; readonly seconds: number };

export function reportServer(url: string): void {
  process.on('message', (message) => {
    if (message !== 'cpu') return;
    const { user, system } = process.cpuUsage();
    say({ kind: 'cpu', seconds: (user + system) / 1e6 });
  });
  say({ kind: 'listening', url });
}

function say(report: ServerReport): void {
  if (process.send === undefined) console.log(JSON.stringify(report));
  else process.send(report);
}
