/** What the command palette offers of uploads. */
import { addCommands } from '../../app/palette.ts';
import { texts } from '../../texts.ts';

export function addUploadCommands(): void {
  const { upload, history } = texts.upload.commands;
  addCommands(() => [
    { id: 'upload files', label: upload, href: '/upload' },
    { id: 'upload history', label: history, href: '/upload/history' },
  ]);
}
