/** What every surface and every part of the local network is to the program: something with a life. */
export interface Surface {
  /** For people and logs, for example `payment`. */
  readonly name: string;
  /** The base address, known once started (a port of 0 is resolved by then). */
  readonly url: string;
  /** Resolves when the surface really answers. Fails with one clear line (a taken port names its variable). */
  start(): Promise<void>;
  /** No new connections; true when all in-flight requests are done, false when the time was over and they were cut. */
  drain(timeoutMs: number): Promise<boolean>;
  /** Frees everything. Called after `drain`, also when `start` failed half-way. */
  stop(): Promise<void>;
}
