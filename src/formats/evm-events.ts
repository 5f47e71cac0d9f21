/** Events that tokens log on EVM chains, by their first topic: the keccak-256 of the event's signature. */

/** ERC-20: `Transfer(address,address,uint256)`. */
export const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
/** EIP-3009: `AuthorizationUsed(address,bytes32)`. */
export const authorizationUsedTopic = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5';
