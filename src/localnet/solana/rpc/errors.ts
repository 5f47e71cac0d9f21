/** JSON-RPC errors with the codes Solana's nodes use. */

export const rpcCode = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  simulationFailed: -32002,
  signatureFailed: -32003,
  busy: -32005,
  unsupportedVersion: -32015,
  minContextSlot: -32016,
} as const;

export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export function invalidParams(message: string): RpcError {
  return new RpcError(rpcCode.invalidParams, message);
}
