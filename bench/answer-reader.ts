/** Finds where HTTP/1.1 answers end, from chunks cut anywhere: by Content-Length or by chunked coding (RFC 9112 §6). */
export class AnswerReader {
  readonly #onAnswer: (status: number) => void;
  readonly #noBody: boolean;
  /** Bytes of an unfinished head or chunk-size line. */
  #line = '';
  #state: 'head' | 'body' | 'size' | 'chunk' | 'trailer' = 'head';
  #status = 0;
  #left = 0;

  constructor(onAnswer: (status: number) => void, noBody = false) {
    this.#onAnswer = onAnswer;
    this.#noBody = noBody;
  }

  read(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#state === 'body' || this.#state === 'chunk') {
        const taken = Math.min(this.#left, chunk.length - at);
        this.#left -= taken;
        at += taken;
        if (this.#left === 0) this.#passed();
        continue;
      }
      const mark = this.#state === 'head' ? '\r\n\r\n' : '\r\n';
      const known = this.#line.length;
      this.#line += chunk.toString('latin1', at, Math.min(chunk.length, at + 16_384));
      const end = this.#line.indexOf(mark, Math.max(0, known - mark.length));
      if (end === -1) {
        at += this.#line.length - known;
        continue;
      }
      const text = this.#line.slice(0, end);
      at += end + mark.length - known;
      this.#line = '';
      this.#lineRead(text);
    }
  }

  #lineRead(text: string): void {
    if (this.#state === 'head') {
      this.#status = Number(text.slice(9, 12));
      const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
      if (this.#noBody || this.#status === 204 || this.#status === 304) this.#whole();
      else if (length !== undefined) this.#expect('body', Number(length));
      else if (/\r\ntransfer-encoding: *chunked/i.test(text)) this.#state = 'size';
      else throw new Error('an answer without an end');
    } else if (this.#state === 'size') {
      const size = Number.parseInt(text, 16);
      if (size === 0) this.#state = 'trailer';
      else this.#expect('chunk', size + 2);
    } else if (text === '') {
      this.#whole();
    }
  }

  #expect(state: 'body' | 'chunk', bytes: number): void {
    this.#state = state;
    this.#left = bytes;
    if (bytes === 0) this.#whole();
  }

  #passed(): void {
    if (this.#state === 'chunk') this.#state = 'size';
    else this.#whole();
  }

  #whole(): void {
    this.#state = 'head';
    this.#onAnswer(this.#status);
  }
}
