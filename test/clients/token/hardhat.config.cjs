/**
 * A node that says it is Base Sepolia, so that published clients sign for it, unless CHAIN_ID says otherwise. Nothing is
 * compiled through it.
 */
module.exports = {
  solidity: '0.8.28',
  networks: { hardhat: { chainId: Number(process.env.CHAIN_ID ?? 84532), hardfork: 'cancun' } },
};
