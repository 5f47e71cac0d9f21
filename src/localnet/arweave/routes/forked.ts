/** What the node says of ids that it does not have: the fork's answer, marked as such. */
import type { ForkedAnswer } from '../../../fork/answers.ts';
import type { ForkedChain } from '../../../fork/chain.ts';
import { ForkUnavailable } from '../../../fork/upstream.ts';
import type { Reply, Request } from '../../../kernel/http/server.ts';
import { forkHeader, wantsOwnOnly } from '../../../outside/fork-header.ts';
import { NodeError } from '../errors.ts';
import { sendNodeError } from './answers.ts';

const idPattern = '([A-Za-z0-9_-]{43})';
const fieldPath = new RegExp(
  `^/(?:tx|unconfirmed_tx)/${idPattern}(?:/([a-z_]{1,20}(?:\\.[A-Za-z0-9]{1,16})?))?$`,
);
const dataPath = new RegExp(`^/${idPattern}(?:\\.[A-Za-z0-9]{1,16})?$`);

/** For a request that the node answers with 404; undefined where that stands. */
export async function sendForked(
  fork: ForkedChain,
  request: Request,
  reply: Reply,
): Promise<Reply | undefined> {
  if (wantsOwnOnly(request.headers) || !['GET', 'HEAD'].includes(request.method)) return undefined;
  try {
    const answer = await ask(fork, request.url.split('?')[0] ?? '');
    if (answer === undefined) return undefined;
    const { status, contentType, body } = answer;
    return reply
      .code(status)
      .headers({ 'content-type': contentType, [forkHeader]: fork.shown })
      .send(body);
  } catch (error) {
    if (!(error instanceof ForkUnavailable)) throw error;
    return sendNodeError(reply, new NodeError(504, error.message));
  }
}

async function ask({ answers }: ForkedChain, path: string): Promise<ForkedAnswer | undefined> {
  const [, id, field = ''] = fieldPath.exec(path) ?? [];
  if (id !== undefined) return await answers.answer(id, field);
  const [, dataId] = dataPath.exec(path) ?? [];
  return dataId === undefined ? undefined : await answers.data(dataId);
}
