/** Interface §2 "Approval", as it is sent. */
export interface Approval {
  readonly approvalDataItemId: string;
  readonly approvedAddress: string;
  readonly payingAddress: string;
  readonly approvedWincAmount: string;
  readonly usedWincAmount: string;
  /** ISO 8601. */
  readonly creationDate: string;
  /** Absent when it never expires. */
  readonly expirationDate?: string;
}
