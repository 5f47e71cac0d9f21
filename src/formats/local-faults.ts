/** What goes wrong on purpose on a local network, as docs/local-network.md tells for each part. */
export interface ArweaveFaults {
  readonly latencyMs?: number;
  readonly status?: number;
  readonly hang?: boolean;
  readonly truncateChunks?: boolean;
  readonly wrongChunks?: boolean;
  readonly wrongHeight?: number;
  readonly path?: string;
  readonly from?: 'clients' | 'services';
  readonly count?: number;
}

export interface WebhookFaults {
  readonly drop: number;
  readonly duplicate: number;
  readonly delayMs: number;
  readonly reverse: boolean;
  readonly hold: boolean;
}

/** Of settlements: how many of the next ones. */
export interface FacilitatorFaults {
  readonly loseAnswers: number;
  readonly refuse: number;
  readonly fail: number;
}
