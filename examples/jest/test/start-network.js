const { startTurnpike } = require('@turnpike-network/turnpike/testing');

/** One network for all test files, which find it by the environment. */
module.exports = async () => {
  const turnpike = await startTurnpike();
  globalThis.turnpike = turnpike;
  process.env.TURNPIKE = JSON.stringify(turnpike);
};
