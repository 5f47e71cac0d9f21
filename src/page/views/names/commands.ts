/** What the command palette can do with names. */
import { addCommands } from '../../app/palette.ts';
import { texts } from '../../texts.ts';

export function addNameCommands(): void {
  const { commands } = texts.names;
  addCommands(() => [
    { id: 'names-find', label: commands.find, href: '/names' },
    { id: 'names-mine', label: commands.mine, href: '/names/mine' },
    { id: 'names-actions', label: commands.actions, href: '/names/actions' },
  ]);
}
