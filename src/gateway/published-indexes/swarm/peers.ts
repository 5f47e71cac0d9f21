/** The peers of one download: found, dialled a few at a time, tried again after a while, left for good when they lie. */
import type { PeerAddress } from '../../../formats/torrent/index.ts';
import { type AddressRules, allowedAddresses, showPeerAddress } from './addresses.ts';
import type { PieceBoard } from './board.ts';
import { Leecher } from './leecher.ts';

export interface PeersOptions {
  readonly board: PieceBoard;
  readonly peerId: Buffer;
  readonly rules: AddressRules;
  readonly maxPeers: number;
  readonly received: (bytes: number) => void;
  /** A piece came, or a peer went: time to look how things stand. */
  readonly changed: (progressed: boolean) => void;
  readonly failed: (error: unknown) => void;
}

interface Candidate {
  readonly peer: PeerAddress;
  failures: number;
  /** Not before this time. */
  dialAt: number;
}

const maxFailures = 3;
const retryMs = 5_000;
const maxCandidates = 500;

export class Peers {
  readonly #options: PeersOptions;
  readonly #candidates = new Map<string, Candidate>();
  readonly #left = new Set<string>();
  readonly #active = new Map<string, Leecher>();
  #closed = false;

  constructor(options: PeersOptions) {
    this.#options = options;
  }

  /** Whether there is a peer that may still bring something. */
  get hopeful(): boolean {
    return this.#active.size + this.#candidates.size > 0;
  }

  /** Names are looked up; addresses that may not be dialled are left out. */
  async add(found: readonly PeerAddress[]): Promise<void> {
    for (const { host, port } of found) {
      for (const address of await allowedAddresses(host, this.#options.rules)) {
        const peer = { host: address, port };
        const key = showPeerAddress(peer);
        if (this.#left.has(key) || this.#active.has(key) || this.#candidates.size >= maxCandidates) continue;
        if (!this.#candidates.has(key)) this.#candidates.set(key, { peer, failures: 0, dialAt: 0 });
      }
    }
    this.dial();
  }

  /** Fills free places, and lets those who wait ask for pieces that others gave back. */
  dial(): void {
    if (this.#closed) return;
    const now = performance.now();
    for (const [key, candidate] of this.#candidates) {
      if (this.#active.size >= this.#options.maxPeers) break;
      if (candidate.dialAt > now) continue;
      this.#candidates.delete(key);
      this.#active.set(key, this.#start(key, candidate));
    }
    for (const leecher of this.#active.values()) leecher.wake();
  }

  close(): void {
    this.#closed = true;
    for (const leecher of this.#active.values()) leecher.close();
  }

  #start(key: string, candidate: Candidate): Leecher {
    const { board, peerId, received, changed, failed } = this.#options;
    return new Leecher({
      peer: candidate.peer,
      board,
      peerId,
      received,
      failed,
      progressed: () => changed(true),
      ended: ({ lied, pieces }) => {
        this.#active.delete(key);
        candidate.failures = pieces > 0 ? 0 : candidate.failures + 1;
        candidate.dialAt = performance.now() + retryMs * candidate.failures;
        if (lied || candidate.failures >= maxFailures) this.#left.add(key);
        else if (!this.#closed) this.#candidates.set(key, candidate);
        changed(false);
      },
    });
  }
}
