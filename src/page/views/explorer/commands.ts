/** What the command palette can do of the explorer. */
import { addCommands } from '../../app/palette.ts';
import { texts } from '../../texts.ts';

export function addExplorerCommands(): void {
  const { checkReceipt, playground, events, commandHint } = texts.explorer;
  addCommands(() => [
    { id: 'explorer-events', label: events.command, hint: commandHint, href: '/explorer/events' },
    { id: 'explorer-receipt', label: checkReceipt, hint: commandHint, href: '/explorer/receipt' },
    { id: 'explorer-graphql', label: playground.command, hint: commandHint, href: '/explorer/graphql' },
  ]);
}
