/** A node that says it is Base Sepolia, so that published clients sign for it. Nothing is compiled through it. */
module.exports = {
  solidity: '0.8.28',
  networks: { hardhat: { chainId: 84532, hardfork: 'cancun' } },
};
