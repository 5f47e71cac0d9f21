/** `/local`: what the network is, and changes of its whole state. */
import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Type } from 'typebox';
import type { Config } from '../../../config/config.ts';
import type { App } from '../../../kernel/http/server.ts';
import type { LocalControl } from '../control.ts';
import { stateTooLarge } from '../errors.ts';
import { StateFolder } from '../state-folder.ts';

/** Of a file to load. */
const maxStateBytes = 16 * 1024 ** 3;

const Name = Type.String({ minLength: 1, maxLength: 64 });
const NewSnapshot = Type.Object({ name: Type.Optional(Name) }, { additionalProperties: false });
const Named = Type.Object({ name: Name });

export function stateRoutes(app: App, control: LocalControl, config: Pick<Config, 'DATA_DIR'>): void {
  const folder = new StateFolder(config.DATA_DIR);
  app.get('/local', { schema: { summary: 'The local network: its state, clock and addresses' } }, () =>
    control.info(),
  );
  app.post('/local/reset', { schema: { summary: 'Begin anew, with the same keys' } }, () => control.reset());

  app.get('/local/snapshots', { schema: { summary: 'Snapshots in the order they were made' } }, () =>
    control.snapshots(),
  );
  app.post(
    '/local/snapshots',
    { schema: { summary: 'Keep the state by a name', body: Type.Union([NewSnapshot, Type.Null()]) } },
    (request) => control.snapshot(request.body?.name),
  );
  app.post('/local/revert', { schema: { summary: 'Go back to the newest snapshot' } }, () =>
    control.revert(),
  );
  app.post(
    '/local/snapshots/:name/revert',
    { schema: { summary: 'Go back to a snapshot; those made after it are dropped', params: Named } },
    (request) => control.revert(request.params.name),
  );
  app.delete(
    '/local/snapshots/:name',
    { schema: { summary: 'Forget a snapshot', params: Named } },
    async (request, reply) => {
      await control.forget(request.params.name);
      return reply.code(204).send();
    },
  );

  app.get('/local/state', { schema: { summary: 'The whole state as one file' } }, async (_request, reply) => {
    const path = await control.save();
    const file = createReadStream(path).once('close', () => void rm(path, { force: true }));
    return reply
      .header('content-type', 'application/vnd.sqlite3')
      .header('content-disposition', 'attachment; filename="state.turnpike"')
      .send(file);
  });
  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    scope.put('/local/state', { schema: { summary: 'Load a saved state' } }, async (request) => {
      const path = join(folder.scratch(), `${randomUUID()}.turnpike`);
      try {
        const body = request.body instanceof Readable ? request.body : request.raw;
        await pipeline(body, atMost(maxStateBytes), createWriteStream(path, { mode: 0o600 }));
        return await control.load(path);
      } finally {
        await rm(path, { force: true });
      }
    });
  });
}

function atMost(bytes: number): Transform {
  let left = bytes;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      left -= chunk.length;
      if (left < 0) done(stateTooLarge());
      else done(null, chunk);
    },
  });
}
