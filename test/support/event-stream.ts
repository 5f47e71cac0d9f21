/** Follows an event stream as an `EventSource` would, and keeps what it was told. */
import assert from 'node:assert/strict';
import { isRecord, tryParseJson } from '../../src/formats/json.ts';
import { eventually } from './eventually.ts';

export interface StreamedEvent {
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface EventStreamReader {
  readonly events: readonly StreamedEvent[];
  /** Waits until so many events of a type were told; answers them. */
  wait(type: string, count?: number): Promise<readonly StreamedEvent[]>;
  close(): void;
}

export async function followStream(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<EventStreamReader> {
  const ending = new AbortController();
  const answer = await fetch(url, { headers, signal: ending.signal });
  if (answer.status !== 200) assert.fail(`${answer.status}: ${await answer.text()}`);
  assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
  const events: StreamedEvent[] = [];
  read(answer, events).catch(() => {}); // closed, here or there
  const wait = async (type: string, count = 1) => {
    const found = () => events.filter((event) => event.type === type);
    await eventually(`${count} of ${type}, told ${events.map((event) => event.type)}`, async () => {
      return found().length >= count;
    });
    return found();
  };
  return { events, wait, close: () => ending.abort() };
}

async function read(answer: Response, events: StreamedEvent[]): Promise<void> {
  let rest = '';
  for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const blocks = `${rest}${piece}`.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = tryParseJson(/^data: (.*)$/m.exec(block)?.[1] ?? '');
      if (!isRecord(event) || !isRecord(event.data)) continue;
      const id = /^id: (.*)$/m.exec(block)?.[1] ?? '';
      assert.equal(event.id, id);
      events.push({ id, type: String(event.type), data: event.data });
    }
  }
}
