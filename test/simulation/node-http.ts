/**
 * Requests that a library makes with `node:http` by itself, such as those of the card provider's package: in a simulated
 * process they go over the simulated network too. What is here is what such libraries use of a request and its answer.
 */
import { EventEmitter } from 'node:events';
import http, { type RequestOptions } from 'node:http';
import { machines } from './machine.ts';
import { type Answered, networkOf } from './network.ts';
import { Life } from './process.ts';

class SimulatedResponse extends EventEmitter {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  complete = false;
  readonly #body: string;

  constructor({ status, headers = {}, body = '' }: Answered) {
    super();
    this.statusCode = status;
    this.headers = headers;
    this.#body = body.toString();
  }

  setEncoding(): this {
    return this;
  }

  /** All of it at once, when whoever asked has had time to listen. */
  arrive(): void {
    this.emit('data', this.#body);
    this.complete = true;
    this.emit('end');
    this.emit('close');
  }
}

class SimulatedRequest extends EventEmitter {
  readonly #life: Life;
  readonly #options: RequestOptions;
  readonly #body: string[] = [];
  #inTime: (() => void) | undefined;
  #isOver = false;

  constructor(life: Life, options: RequestOptions) {
    super();
    this.#life = life;
    this.#options = options;
  }

  setTimeout(milliseconds: number, run: () => void): this {
    this.#inTime = this.#life.after(milliseconds, run);
    return this;
  }

  write(text: string): boolean {
    this.#body.push(text);
    return true;
  }

  end(): this {
    const { host, port, path, method, headers = {} } = this.#options;
    const asked = {
      method: method ?? 'GET',
      path: path ?? '/',
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]),
      ),
      body: Buffer.from(this.#body.join('')),
      from: this.#life.process.name,
    };
    networkOf(this.#life)
      .ask(this.#life, `http://${host}:${port}`, asked)
      .then(
        (answered) => {
          if (!this.#finish()) return;
          const response = new SimulatedResponse(answered);
          this.emit('response', response);
          queueMicrotask(() => queueMicrotask(() => response.arrive()));
        },
        (error: unknown) => this.#fail(error),
      );
    return this;
  }

  destroy(error?: Error): this {
    this.#fail(error);
    return this;
  }

  #fail(error: unknown): void {
    if (this.#finish()) this.emit('error', error);
  }

  #finish(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#inTime?.();
    return true;
  }
}

const realRequest: unknown = http.request;
Object.assign(http, {
  request(...given: unknown[]): unknown {
    const life = machines.getStore();
    const [options] = given;
    if (life instanceof Life && typeof options === 'object' && options !== null)
      return new SimulatedRequest(life, options);
    return typeof realRequest === 'function' && Reflect.apply(realRequest, http, given);
  },
});
