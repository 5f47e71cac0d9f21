module.exports = () => globalThis.turnpike.stop();
