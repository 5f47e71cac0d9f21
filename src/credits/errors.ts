/** Why the ledger refuses. Nothing has changed when one of these is thrown; surfaces choose the answer. */

export class CreditsError extends Error {
  override readonly name: string = 'CreditsError';
}

/** Those asked to pay cannot cover the amount. */
export class InsufficientCredits extends CreditsError {
  override readonly name = 'InsufficientCredits';
  readonly address: string;

  constructor(address: string) {
    super(`Insufficient balance for '${address}'`);
    this.address = address;
  }
}

/** The wallet has never held winc. */
export class UnknownWallet extends CreditsError {
  override readonly name = 'UnknownWallet';

  constructor(address: string) {
    super(`No user found in database with address '${address}'`);
  }
}

/** An id is asked for again with other contents, or a step is asked for that its state does not allow. */
export class ChangeConflict extends CreditsError {
  override readonly name = 'ChangeConflict';
}

export class SpendingNotFound extends CreditsError {
  override readonly name = 'SpendingNotFound';
}

/** The approval's id was used before. */
export class ApprovalConflict extends CreditsError {
  override readonly name = 'ApprovalConflict';

  constructor(id: string) {
    super(`Conflicting approval found for approval ID '${id}'`);
  }
}

/** An amount below 1, a lifetime below 1 second, or a wallet that approves itself. */
export class InvalidApproval extends CreditsError {
  override readonly name = 'InvalidApproval';
}

export class NothingToRevoke extends CreditsError {
  override readonly name = 'NothingToRevoke';

  constructor(payer: string, approved: string) {
    super(`No valid approvals found for approved address '${approved}' and paying address '${payer}'`);
  }
}
